"""Cells of tables: ids whole, on one line, and harmless to a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

UNKNOWN = "unknown"
_TEXT_WIDTH = 60


def show_id(name: str) -> str:
    """Return an id in full; what a terminal could take as a command is written as an escape."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in name)


def show_text(text: str, width: int = _TEXT_WIDTH) -> str:
    """Return the start of a text on one line."""
    line = show_id(" ".join(text.split()))
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"


def show_ids(names: Sequence[str]) -> str:
    """Return a list of ids."""
    return ", ".join(show_id(name) for name in names)


def show_usd(value: float | None) -> str:
    """Return an amount in US dollars; what is not known is not 0."""
    return UNKNOWN if value is None else f"${value:.4g}"


def show_count(value: float) -> str:
    """Return a fractional count without needless digits."""
    return f"{value:.1f}".removesuffix(".0")


def show_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, markdown: bool) -> str:
    """Return a table for a terminal or for Markdown; nothing is ever cut or wrapped."""
    from tabulate import tabulate

    if markdown:
        rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    # Ids such as 1e3 are no numbers.
    table = tabulate(rows, headers, tablefmt="github" if markdown else "simple", disable_numparse=True)
    return "\n".join(line.rstrip() for line in table.splitlines())


def show_heading(title: str, *, markdown: bool) -> str:
    """Return the heading of a section."""
    return f"## {title}\n" if markdown else title


def show_list(title: str, items: Sequence[str], *, markdown: bool) -> str:
    """Return a titled list of texts in full, or nothing for an empty one."""
    if not items:
        return ""
    lines = "\n".join(f"- {show_id(item)}" for item in items)
    return f"**{title}**\n\n{lines}" if markdown else f"{title}\n{lines}"
