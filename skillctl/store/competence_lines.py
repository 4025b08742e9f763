"""Competences by the fast lane: lines that stand as skillctl writes them are read without a YAML parser.

A hundred agents with a thousand skills each have 100,000 such lines, most of the time of reading a handbook. They are
taken out of a file before it is parsed, one marked entry standing in for each block, and put back into its data.
Where anything is not exactly of that form, the strict reader has the word.
"""

from __future__ import annotations

import re
from typing import Any

_NUMBER = rb"[0-9]{1,18}\.[0-9]{1,20}(?:e[+-]?[0-9]{1,2})?"  # always finite
_KEY = rb"[A-Za-z_][A-Za-z0-9_./-]*"
_LINE = (
    rb"      " + _KEY + rb": \{alpha: " + _NUMBER + rb", beta: " + _NUMBER + rb", successes: " + _NUMBER
    + rb", failures: " + _NUMBER + rb"\}\n"
)  # fmt: skip
_BLOCK = re.compile(rb"^    competence:\n((?:" + _LINE + rb")+)(?!      )", re.MULTILINE)
_ENTRY = re.compile(
    rb"^ +([^:]+): \{alpha: ([^,]+), beta: ([^,]+), successes: ([^,]+), failures: ([^}]+)\}$", re.MULTILINE
)
_MARK = "block-of-competences-"
_FIELDS = ("alpha", "beta", "successes", "failures")

Block = dict[str, dict[str, float]]


def take_out_competences(data: bytes) -> tuple[bytes, list[Block]]:
    """Return a file with its blocks of competences marked and taken out, and the blocks."""
    blocks: list[Block] = []
    if _MARK.encode() in data:
        return data, blocks

    def mark(match: re.Match[bytes]) -> bytes:
        block = {key.decode(): _read(numbers) for key, *numbers in _ENTRY.findall(match[1])}
        if len(block) != match[1].count(b"\n"):
            return match[0]  # the same skill twice: the strict reader says where
        blocks.append(block)
        stand_in = "{alpha: 1.0, beta: 1.0, successes: 0.0, failures: 0.0}"
        return f"    competence:\n      {_MARK}{len(blocks) - 1}: {stand_in}\n".encode()

    return _BLOCK.sub(mark, data), blocks


def put_back_competences(data: Any, blocks: list[Block]) -> bool:  # noqa: ANN401 - data of an agent file
    """Put blocks back in their places, and tell whether each of them had one."""
    left = {f"{_MARK}{number}": block for number, block in enumerate(blocks)}
    profiles = data.get("profiles") if isinstance(data, dict) else None
    for profile in (profiles or {}).values():
        competence = profile.get("competence") if isinstance(profile, dict) else None
        if isinstance(competence, dict) and len(competence) == 1 and (mark := next(iter(competence))) in left:
            profile["competence"] = left.pop(mark)
    return not left


def _read(numbers: list[bytes]) -> dict[str, float]:
    return dict(zip(_FIELDS, map(float, numbers), strict=True))
