"""Indicators of skills: phrases as whole words, and regular expressions that cannot run away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillctl.core.orchestrate.features import cut_text, split_words
from skillctl.core.orchestrate.pattern_guard import find_pattern_fault

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from skillctl.model.handbook import Skill

MAX_PHRASE_WORDS = 8
# Regular expressions see this much of a text: the worst case of what `find_pattern_fault` lets pass stays short.
REGEX_CHARS = 4_000
REGEX_HEAD = 3_000


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
            if indicator.is_regex and find_pattern_fault(indicator.text) is None
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
