"""What models do to JSON, and what is still found in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.replies.json_reply import find_json_values, strip_thinking

VALUE = {"skills": [{"id": "a", "text": "```json\n{}\n```"}]}
TEXT = json.dumps(VALUE)


@pytest.mark.parametrize(
    "reply",
    [
        TEXT,
        f"```json\n{TEXT}\n```",
        f"Sure! Here it is:\n```\n{TEXT}\n```\nAnything else?",
        f"<think>maybe {{'x': 1}} or [1, 2]</think>{TEXT}",
        f"{TEXT}<think>and [3] for ever",
        f"\ufeff  {TEXT}",
    ],
    ids=["bare", "fenced", "prose", "thinking", "unclosed thinking", "byte-order mark"],
)
def test_the_value_is_found_whatever_stands_around_it(reply: str) -> None:
    assert find_json_values(reply) == [VALUE]


@pytest.mark.parametrize(
    "reply", ["", "```json\n```", "no JSON here", "{'single': 'quotes'", '{"a": NaN}', '{"a": "cut o']
)
def test_what_is_no_json_is_not_found(reply: str) -> None:
    assert find_json_values(reply) == []


def test_whole_values_within_a_truncated_one_are_found() -> None:
    assert find_json_values('{"skills": [{"id": "a"}, {"id": "b"}, {"id": "c') == [{"id": "a"}, {"id": "b"}]


def test_hostile_replies_cost_bounded_work() -> None:
    assert find_json_values("[" * 150_000) == []
    assert find_json_values("{" * 150_000) == []


def test_only_thinking_is_stripped() -> None:
    assert strip_thinking("a<THINK>b</THINK>c") == "ac"
    assert strip_thinking("a < b > c") == "a < b > c"


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.booleans())), st.text(alphabet="abc \n`"))
def test_any_object_is_found_behind_prose(value: dict[str, object], prose: str) -> None:
    assert find_json_values(prose + json.dumps(value) + prose) == [value]
