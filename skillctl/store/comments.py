"""Carry the comments and blank lines of a person's file over to its next version, attached by path.

A path names list items by what they are (their id, name or text), not by number, so that a comment stays with its
skill when skills before it come and go.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from skillctl.store.yaml_nodes import MappingNode, Node, SequenceNode, line_of, mark_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class ItemStep(NamedTuple):
    """A list item: its identity, and how many items before it have the same."""

    identity: str
    occurrence: int


Step = str | ItemStep
EntryPath = tuple[Step, ...]


class Line(NamedTuple):
    """One line of output and the entries that begin on it, outermost first."""

    paths: tuple[EntryPath, ...]
    text: str
    is_inline: bool


_IDENTIFYING_KEYS = ("id", "name", "text", "regex")
_EDITOR_LINE = re.compile(r"\s*#\s*yaml-language-server:\s*\$schema=")


@dataclass(slots=True)
class Trivia:
    """What stands around an entry: whole lines before it, and a comment behind it with the space in between."""

    before: list[str] = field(default_factory=list)
    behind: str = ""


def item_steps(items: Iterable[Any]) -> list[ItemStep]:
    """Return a step for each item of a list of values."""
    return _numbered(_identity_of_value(item) for item in items)


def _identity_of_value(item: object) -> str:
    if isinstance(item, dict):
        return next((str(item[key]) for key in _IDENTIFYING_KEYS if key in item), "")
    return item if isinstance(item, str) else ""


def _identity_of_node(item: Node) -> str:
    if isinstance(item, MappingNode):
        values = (item.get(key) for key in _IDENTIFYING_KEYS)
        return next((value.value for value in values if isinstance(value, yaml.ScalarEvent)), "")
    return str(getattr(item, "value", ""))


def _numbered(identities: Iterable[str]) -> list[ItemStep]:
    seen: defaultdict[str, int] = defaultdict(int)
    steps = []
    for identity in identities:
        steps.append(ItemStep(identity, seen[identity]))
        seen[identity] += 1
    return steps


# --- reading -------------------------------------------------------------------------------------------------------


def read_trivia(text: str, root: Node) -> dict[EntryPath, Trivia]:
    """Return the comments and blank lines of a text by the entry that they belong to; ``()`` is the end of the file."""
    lines = text.split("\n")
    if not any("#" in line or not line.strip() for line in lines[1:-1]) and _EDITOR_LINE.match(lines[0]):
        return {}
    starts = list(_entry_starts(root, ()))
    numbers = [number for number, _ in starts]
    inside = _scalar_places(root, lines)
    found: defaultdict[EntryPath, Trivia] = defaultdict(Trivia)
    for number, line in enumerate(lines[:-1] if lines[-1] == "" else lines, start=1):
        place = _comment_start(line.rstrip("\r"), inside.get(number, ()))
        if place is None or _EDITOR_LINE.match(line):
            continue
        content = line[:place].rstrip()
        index = bisect_right(numbers, number)
        if not content:
            path = starts[index][1] if index < len(starts) else ()
            found[path].before.append(line.rstrip())
            continue
        first = bisect_left(numbers, number)
        trivia = found[starts[first if first < index else max(index - 1, 0)][1]]
        if trivia.behind:
            trivia.before.append(line[place:].rstrip())
        else:
            trivia.behind = line[len(content) :].rstrip()
    return dict(found)


def _entry_starts(node: Node, path: EntryPath) -> Iterator[tuple[int, EntryPath]]:
    if isinstance(node, MappingNode):
        for key, child in node.entries:
            child_path = (*path, str(getattr(key, "value", "")))
            yield line_of(key), child_path
            yield from _entry_starts(child, child_path)
    elif isinstance(node, SequenceNode):
        steps = _numbered(_identity_of_node(item) for item in node.items)
        for step, item in zip(steps, node.items, strict=True):
            yield line_of(item), (*path, step)
            yield from _entry_starts(item, (*path, step))


Span = tuple[int, int]  # columns, end excluded
_ENDLESS = 1 << 30


def _scalar_places(root: Node, lines: list[str]) -> dict[int, list[Span]]:
    """Return the columns that scalars cover, by line, for the lines where that can matter."""
    places: defaultdict[int, list[Span]] = defaultdict(list)
    for scalar in _scalars(root):
        start, end = mark_of(scalar), mark_of(scalar, end=True)
        first, last = start.line + 1, end.line + 1
        if scalar.style in {"|", ">"}:
            last = _end_of_block(lines, first, last)
            for number in range(first + 1, last + 1):
                places[number].append((0, _ENDLESS))
        elif first == last:
            if "#" in lines[first - 1]:
                places[first].append((start.column, end.column))
        else:
            places[first].append((start.column, _ENDLESS))
            for number in range(first + 1, last):
                places[number].append((0, _ENDLESS))
            places[last].append((0, end.column))
    return places


def _scalars(node: Node) -> Iterator[yaml.ScalarEvent]:
    if isinstance(node, MappingNode):
        for key, child in node.entries:
            yield from _scalars(key)
            yield from _scalars(child)
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from _scalars(item)
    elif isinstance(node, yaml.ScalarEvent):
        yield node


def _end_of_block(lines: list[str], first: int, last: int) -> int:
    """Return the last line of a block scalar: the parser counts less indented comments behind it as its own."""
    body = lines[first:last]
    indent = next((len(line) - len(line.lstrip()) for line in body if line.strip()), 0)
    while body and (not body[-1].strip() or len(body[-1]) - len(body[-1].lstrip()) < indent):
        body.pop()
    return first + len(body)


def _comment_start(line: str, covered: Iterable[Span]) -> int | None:
    """Return where the comment of a line starts: 0 for a blank line, ``None`` for a line without."""
    spans = list(covered)
    if not line.strip():
        return None if spans else 0
    for found in re.finditer(r"(?:^|(?<=\s))#", line):
        if not any(start <= found.start() < end for start, end in spans):
            return found.start()
    return None


# --- writing -------------------------------------------------------------------------------------------------------


def weave(lines: Iterable[Line], trivia: Mapping[EntryPath, Trivia]) -> str:
    """Return the text of lines with comments and blank lines in their places."""
    laid_out = list(lines)
    if trivia:
        trivia = _hoist(laid_out, trivia)
    out: list[str] = []
    for line in laid_out:
        around = [trivia[path] for path in line.paths if path in trivia]
        behind = [one.behind for one in around if one.behind]
        margin = line.text[: len(line.text) - len(line.text.lstrip(" "))]
        for one in around:
            out += one.before
        out += [margin + extra.lstrip() for extra in behind[1:]]
        out.append(line.text + (behind[0] if behind else ""))
    out += trivia[()].before if () in trivia else []
    while out and not out[-1]:
        out.pop()
    return "\n".join(out) + "\n"


def _hoist(lines: list[Line], trivia: Mapping[EntryPath, Trivia]) -> dict[EntryPath, Trivia]:
    """Move comments from within what is now one line to before it; those of entries that are gone go with them."""
    inline = {path: line for line in lines for path in line.paths if line.is_inline}
    written = {path for line in lines for path in line.paths} | {()}
    kept = {path: Trivia(list(one.before), one.behind) for path, one in trivia.items() if path in written}
    for path, one in trivia.items():
        if path in written:
            continue
        above = next((path[:size] for size in range(len(path) - 1, 0, -1) if path[:size] in inline), None)
        if above is None:
            continue
        text = inline[above].text
        margin = text[: len(text) - len(text.lstrip(" "))]
        inner = [line.strip() for line in (*one.before, one.behind) if line.strip()]
        kept.setdefault(above, Trivia()).before += [margin + line for line in inner]
    return kept
