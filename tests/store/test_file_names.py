from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import NASTY_TEXTS, ids

from skillctl.store.file_names import file_name_of, id_of


@pytest.mark.parametrize(
    ("name", "file_name"),
    [
        ("gpt-4", "gpt-4"),
        ("GPT-4", "gpt-4~7"),
        ("openrouter/meta-llama/llama-3.1-70b:free", "openrouter%2fmeta-llama%2fllama-3.1-70b%3afree"),
        ("../../x", "%2e.%2f..%2fx"),
        ("Claude 3.5 [beta]", "claude%203.5%20%5bbeta%5d~1"),
        ("con", "%63on"),
        ("COM1.txt", "%63om1.txt~7"),
        ("console", "console"),
        (".", "%2e"),
        ("..", "%2e%2e"),
        ("a.", "a%2e"),
        ("a~b", "a%7eb"),
        ("100%", "100%25"),
        ("é", "%c3%a9"),
    ],
)
def test_names_are_readable_and_safe(name: str, file_name: str) -> None:
    assert file_name_of(name) == file_name
    assert id_of(file_name) == name


@given(ids | st.text(min_size=1))
def test_names_are_reversible_unless_they_are_cut(name: str) -> None:
    file_name = file_name_of(name)
    assert id_of(file_name) == (None if "~~" in file_name else name)


@given(st.lists(ids, unique=True, max_size=10))
def test_names_never_collide_on_a_disk_that_ignores_case(names: list[str]) -> None:
    assert len({file_name_of(name).casefold() for name in names}) == len(names)


@pytest.mark.parametrize("name", NASTY_TEXTS)
def test_a_name_is_one_short_ascii_file_name_without_surprises(name: str) -> None:
    file_name = file_name_of(name)
    assert re.fullmatch(r"[a-z0-9_.+,=@#%~-]+", file_name)
    assert not file_name.startswith((".", "~"))
    assert len(file_name) <= 200
    assert len(f"{file_name}.yaml") <= 255


def test_long_names_that_differ_at_the_end_differ() -> None:
    assert file_name_of("a" * 300) != file_name_of("a" * 301)


@pytest.mark.parametrize("file_name", ["a~~0123", "GPT", "a~0", "a~!", "%ff", "a b", "con"])
def test_a_name_of_another_making_stands_for_no_id(file_name: str) -> None:
    assert id_of(file_name) is None
