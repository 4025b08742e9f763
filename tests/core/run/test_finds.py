from __future__ import annotations

from skillctl.core.run.conversation import write_state
from skillctl.core.run.finds import MOST_FINDS, list_finds
from skillctl.model.handbook import Handbook, Mode, ModeId, Skill, SkillId

ANSWER, SEARCH, CODE = ModeId("answer"), ModeId("search"), ModeId("code")


def _book(*examples: str) -> Handbook:
    return Handbook(
        "h",
        modes={mode: Mode(mode) for mode in (ANSWER, CODE, SEARCH)},
        skills={ANSWER: (Skill(SkillId("answer.a"), "A", examples=examples),)},
    )


def test_a_mode_finds_what_the_examples_say_each_thing_once() -> None:
    book = _book(
        "How high?",
        write_state("How high?", [("search", "30 m\nor [so] it says"), ("code", "31")]),
        write_state("How old?", [("code", "7"), ("search", "Old. [search] is no line.")]),
        write_state("How low?", [("search", "Old. [search] is no line.")]),
    )
    assert list_finds(book, "search") == ["30 m\nor [so] it says", "Old. [search] is no line."]
    assert list_finds(book, "code") == ["31", "7"]
    assert list_finds(book, "answer") == []


def test_many_finds_are_spread_over_all_examples() -> None:
    book = _book(*(write_state("How high?", [("search", str(number))]) for number in range(3 * MOST_FINDS)))
    assert list_finds(book, "search") == [str(number) for number in range(0, 3 * MOST_FINDS, 3)]
