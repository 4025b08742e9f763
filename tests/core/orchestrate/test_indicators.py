from __future__ import annotations

import re
import time

from skillctl.core.orchestrate.indicators import find_patterns, find_phrases, match_patterns
from skillctl.model.handbook import Indicator, Skill, SkillId


def skill(*indicators: Indicator) -> Skill:
    return Skill(SkillId("s"), "A skill.", indicators=indicators)


def test_phrases_are_lower_case_words_with_their_skill() -> None:
    skills = [skill(Indicator("Solve for X"), Indicator("  ")), skill(Indicator("a.b"), Indicator("A.B"))]
    assert find_phrases(skills) == [(("a", ".", "b"), 1), (("solve", "for", "x"), 0)]


def test_only_sound_patterns_are_used() -> None:
    texts = [r"\bGDP\b", "(unclosed", "(a+)+$", "x" * 501]
    assert find_patterns([skill(*(Indicator(text, is_regex=True) for text in texts))]) == [(r"\bGDP\b", 0)]


def test_patterns_are_matched_in_every_text() -> None:
    patterns = [re.compile(r"\d{3}"), re.compile("b")]
    assert match_patterns(patterns, ["123", "abc", "", "1b234"]) == [(0, 0), (1, 1), (3, 0), (3, 1)]


def test_a_slow_pattern_sees_only_the_ends_of_a_long_text() -> None:
    started = time.process_time()
    assert match_patterns([re.compile("a.*b.*c$")], ["a" * 1_000_000]) == []
    assert time.process_time() - started < 10
    assert match_patterns([re.compile("needle")], ["x" * 9000 + "needle"]) == [(0, 0)]
