"""Indicators of skills: phrases as whole words, and regular expressions that cannot run away."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillctl.core.features import cut_text, split_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillctl.model.handbook import Skill

MAX_PATTERN_CHARS = 500
MAX_UNBOUNDED = 4  # a search's worst case grows with the text's length to this power
MAX_PHRASE_WORDS = 8
# Regular expressions see this much of a text: the worst case of what `find_regex_fault` lets pass stays short.
REGEX_CHARS = 4_000
REGEX_HEAD = 3_000

_UNBOUNDED = re.compile(r"[*+]|\{\d*,\}")
_QUANTIFIER = re.compile(r"[*+]|\{\d*,\d*\}|\{\d+\}")
_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[:=!<>P#a-zA-Z-]*|[()|]|[*+?]|\{\d*,?\d*\}|.", re.DOTALL)


def find_regex_fault(pattern: str) -> str | None:
    """Return why a regular expression is refused as an indicator, or ``None`` when it is sound.

    Refused are patterns that do not compile, are long, repeat a group that itself repeats or branches (their
    worst case is exponential in the text), refer back to a group, or have more than four unbounded repeats.
    """
    if len(pattern) > MAX_PATTERN_CHARS:
        return f"the pattern has {len(pattern)} characters, at most {MAX_PATTERN_CHARS} are allowed"
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"the pattern does not compile: {error}"
    return _find_costly_part(_PART.findall(pattern))


def _find_costly_part(parts: list[str]) -> str | None:
    open_groups: list[bool] = []  # whether each open group repeats or branches within
    closed = False  # whether the part before this one closed such a group
    unbounded = 0
    for part in parts:
        if re.fullmatch(r"\\[1-9]|\(\?P=?", part) and part != "(?P":
            return "the pattern refers back to a group"
        if part.startswith("("):
            open_groups.append(False)
        repeats = _QUANTIFIER.fullmatch(part) is not None
        if repeats and closed:
            return "the pattern repeats a group that itself repeats or branches"
        unbounded += _UNBOUNDED.fullmatch(part) is not None
        closed = part == ")" and bool(open_groups) and open_groups.pop()
        if open_groups and (closed or repeats or part == "|"):
            open_groups[-1] = True
    if unbounded > MAX_UNBOUNDED:
        return f"the pattern has {unbounded} unbounded repeats, at most {MAX_UNBOUNDED} are allowed"
    return None


def find_phrases(skills: Sequence[Skill]) -> list[tuple[tuple[str, ...], int]]:
    """Return the indicator phrases of skills as lower-case words, each with its skill's place in the sequence."""
    phrases = (
        (tuple(split_words(indicator.text.lower()))[:MAX_PHRASE_WORDS], place)
        for place, skill in enumerate(skills)
        for indicator in skill.indicators
        if not indicator.is_regex
    )
    return sorted({(words, place) for words, place in phrases if words})


def find_patterns(skills: Sequence[Skill]) -> list[tuple[str, int]]:
    """Return the sound regular expressions of skills, each with its skill's place in the sequence."""
    return sorted(
        {
            (indicator.text, place)
            for place, skill in enumerate(skills)
            for indicator in skill.indicators
            if indicator.is_regex and find_regex_fault(indicator.text) is None
        }
    )


def match_patterns(patterns: Sequence[re.Pattern[str]], texts: Sequence[str]) -> list[tuple[int, int]]:
    """Return (text, pattern) for every pattern that occurs in a text."""
    if not patterns:
        return []
    hits: list[tuple[int, int]] = []
    for row, text in enumerate(texts):
        part = cut_text(text, REGEX_CHARS, REGEX_HEAD)
        hits.extend((row, number) for number, pattern in enumerate(patterns) if pattern.search(part))
    return hits
