"""Scalars as a YAML 1.1 and a YAML 1.2 reader both understand them."""

from __future__ import annotations

import re
from functools import lru_cache

# What some reader takes for a boolean, a null, a merge key or a default value.
_SPECIAL = frozenset(
    ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "=", "<<", ".inf", "-.inf", "+.inf", ".nan"],
)
# Numbers in every base and notation, sexagesimals, times and dates, and more: quotes do no harm.
_NUMBER_LIKE = re.compile(r"[-+.]?[0-9][-+.0-9_:eETtZz \t]*|[-+]?0[box][0-9a-f_]*", re.IGNORECASE)
_RISKY_START = "-?:,[]{}#&*!|>'\"%@`"
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
# Control characters, line separators, byte-order marks and non-characters; lone surrogates never come this far.
_UNPRINTABLE = re.compile('[\\\\"\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]')
_NOT_PLAIN = re.compile("[\x00-\x1f\x7f-\xa0\u2000-\u200f\u2028-\u202f\u3000\ufeff\ufffe\uffff]|: |:$| #|^ | $")
_NO_BLOCK = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_FLOW_INDICATOR = re.compile(r"[,\[\]{}?]")


def render_scalar(value: object, *, in_flow: bool = False) -> str:
    """Return a scalar on one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return render_float(value)
    return render_text(str(value), in_flow=in_flow)


def render_float(value: float) -> str:
    """Return the shortest form that reads back as the same number, with the point that YAML 1.1 asks for."""
    text = repr(float(value))
    mantissa, mark, exponent = text.partition("e")
    return f"{mantissa}.0e{exponent}" if mark and "." not in mantissa else text


@lru_cache(maxsize=4096)
def render_text(text: str, *, in_flow: bool = False) -> str:
    """Return a text plain where every reader takes it for the same text, else in quotes."""
    if _is_plain(text) and not (in_flow and _FLOW_INDICATOR.search(text)):
        return text
    if _NOT_PLAIN.search(text) is None or not _UNPRINTABLE.search(text.replace("\\", "").replace('"', "")):
        if "'" not in text:
            return f"'{text}'"
        if "\\" not in text and '"' not in text:
            return f'"{text}"'
    return '"' + _UNPRINTABLE.sub(_escape, text) + '"'


def is_block_text(text: object) -> bool:
    """Tell whether a text of several lines can stand as it is: nothing at its edges that readers or editors trim."""
    if not isinstance(text, str) or "\n" not in text or _NO_BLOCK.search(text):
        return False
    lines = text.removesuffix("\n").split("\n")
    return lines[0][:1] not in {"", " "} and lines[-1] != "" and all(line == line.rstrip() for line in lines)


def _is_plain(text: str) -> bool:
    return (
        text != ""
        and text[0] not in _RISKY_START
        and not _NOT_PLAIN.search(text)
        and text.lower() not in _SPECIAL
        and not _NUMBER_LIKE.fullmatch(text)
        and not text.startswith(("---", "..."))
    )


def _escape(found: re.Match[str]) -> str:
    letter = found[0]
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    code = ord(letter)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"  # noqa: PLR2004 - two digits
