"""What is said of agents follows from their numbers, and nothing is said without evidence."""

from __future__ import annotations

import numpy as np

from skillctl.core.profile.wording import Wording, replace_made, word_profiles

SKILLS = ["m.code", "m.logic", "m.talk"]


def _word(successes: list[list[float]], failures: list[list[float]]) -> dict[str, Wording]:
    s, f = np.array(successes), np.array(failures)
    agents = ["ada", "bob", "cy"][: len(s)]
    return word_profiles(agents, SKILLS, s + 1, f + 1, s + f)


def test_a_clear_strength_a_weakness_and_signals_are_said() -> None:
    words = _word([[90, 40, 50], [40, 40, 50], [40, 90, 50]], [[10, 60, 50], [60, 60, 50], [60, 10, 50]])
    assert words["ada"].strengths == ("m.code: about 90 % success, 50 points above the other agents.",)
    assert words["ada"].weaknesses == ("m.logic: about 40 % success, 25 points below the other agents.",)
    assert words["ada"].signals == (
        "Prefer for m.code: most likely the best agent there.",
        "Avoid for m.logic: others succeed more often.",
    )
    assert words["bob"].strengths == ()


def test_little_evidence_no_evidence_and_a_lone_agent_say_nothing() -> None:
    nothing = Wording((), (), ())
    assert set(_word([[1, 0, 0], [0, 0, 0]], [[0, 0, 0], [1, 0, 0]]).values()) <= {
        nothing,
        Wording(("Prefer for m.code: most likely the best agent there.",), (), ()),
    }
    assert _word([[0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]]) == {"ada": nothing, "bob": nothing}
    assert _word([[90, 1, 1]], [[1, 1, 1]]) == {"ada": nothing}


def test_a_single_new_trace_does_not_change_the_words() -> None:
    before = _word([[90, 40, 50], [40, 40, 50]], [[10, 60, 50], [60, 60, 50]])
    assert _word([[91, 40, 50], [40, 40, 50]], [[10, 60, 50], [60, 60, 50]]) == before


def test_made_sentences_are_replaced_and_hand_written_ones_stay() -> None:
    words = _word([[90, 40, 50], [40, 40, 50]], [[10, 60, 50], [60, 60, 50]])["ada"]
    old = ("Ask Jo before using it.", *words.strengths, *words.signals)
    assert replace_made(old, words.strengths) == ("Ask Jo before using it.", *words.strengths)
