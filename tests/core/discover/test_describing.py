"""A group of texts is described by what it looks like and what it speaks of."""

from __future__ import annotations

import numpy as np

from skillctl.core.discover.describing import describe_group, join_words, name_kind
from skillctl.core.discover.naming import TellingTerm
from skillctl.core.orchestrate.surface import SURFACE_NAMES


def _surface(**columns: list[float]) -> np.ndarray:
    rows = len(next(iter(columns.values())))
    surface = np.zeros((rows, len(SURFACE_NAMES)), np.float32)
    for name, values in columns.items():
        surface[:, SURFACE_NAMES.index(name)] = values
    return surface


MEMBERS = np.array([0, 1])


def test_the_description_names_what_differs_and_the_telling_terms() -> None:
    surface = _surface(options=[2, 2, 0, 0, 0, 0], code=[3, 3, 0, 0, 0, 0], question_mark=[1, 1, 1, 1, 1, 1])
    terms = [TellingTerm("what", 5, 1), TellingTerm("loop", 4, 1), TellingTerm("list", 3, 1)]
    assert describe_group(surface, MEMBERS, terms) == "Multiple-choice questions with code about loop and list."


def test_a_label_comes_first_and_a_group_like_the_rest_is_just_tasks() -> None:
    surface = _surface(options=[1, 0, 1, 0])
    assert describe_group(surface, MEMBERS, []) == "Tasks."
    assert describe_group(surface, MEMBERS, [], subject="gsm8k") == "gsm8k: tasks."


def test_where_the_terms_say_little_the_most_central_text_is_quoted() -> None:
    surface = _surface(options=[1, 0, 1, 0])
    long = "How many books\n are there, " + "and there, " * 20
    said = describe_group(surface, MEMBERS, [], example=long)
    assert said == "Tasks such as “How many books are there, and there, and there, and there, and …”."
    loop, others = TellingTerm("loop", 4, 1), TellingTerm("list", 3, 1)
    said = describe_group(surface, MEMBERS, [loop], example="How do I end a loop?")
    assert said == "Tasks about loop such as “How do I end a loop?”."
    assert describe_group(surface, MEMBERS, [loop, others], example=long) == "Tasks about loop and list."


def test_a_few_single_letters_are_no_options() -> None:
    surface = _surface(options=[0.25, 0.25, 0, 0, 0, 0])
    assert describe_group(surface, MEMBERS, []) == "Tasks."


def test_the_kind_of_a_group_is_what_it_looks_like() -> None:
    surface = _surface(characters=[0, 0, 3, 3, 3, 3], question_mark=[1, 1, 0, 0, 0, 0])
    assert name_kind(surface, MEMBERS) == "short questions"
    assert name_kind(surface, np.arange(6)) == "tasks"


def test_words_are_joined_as_in_a_sentence() -> None:
    assert [join_words(list(letters)) for letters in ("", "a", "ab", "abc")] == ["", "a", "a and b", "a, b and c"]
