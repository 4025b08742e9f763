"""Skill weights in replies of every kind."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.replies.json_reply import ReplyFaultError
from skillctl.core.replies.skill_reply import parse_skill_weights

ROWS = {"answer": 0, "answer.math": 1, "answer.code": 2}


@pytest.mark.parametrize(
    "reply",
    [
        '{"skills": {"answer.math": 0.75, "answer.code": 0.25}}',
        '```json\n{"skills": {"answer.math": 0.75, "answer.code": 0.25}}\n```',
        'Of course:\n{"answer.math": 0.75, "answer.code": 0.25} is what it takes.',
        '<think>{"skills": {"answer": 1}}</think>{"skills": {"answer.math": "0.75", " Answer.Code ": 0.25}}',
        '{"skills": [{"id": "answer.math", "weight": 0.75}, {"skill": "answer.code", "weight": 0.25}]}',
        '{"skills": {"answer.math": 0.75, "answer.code": 0.25, "answer.ma',
        '{"skills": {}} no: {"skills": {"answer.math": 0.75, "answer.code": 0.25}}',
    ],
    ids=["bare", "fenced", "prose", "thinking", "list of objects", "cut", "changed its mind"],
)
def test_weights_are_found(reply: str) -> None:
    assert parse_skill_weights(reply, ROWS).weights == {1: 0.75, 2: 0.25}


@pytest.mark.parametrize(
    "reply", ['["answer.math"]', '{"skills": ["answer.math"]}', '{"skills": {"answer.math": true}}']
)
def test_ids_without_weights_count_one(reply: str) -> None:
    assert parse_skill_weights(reply, ROWS).weights == {1: 1.0}


def test_unknown_ids_are_dropped_and_named() -> None:
    named = parse_skill_weights('{"skills": {"answer.math": 1, "../../x": 2, "gone": 0}}', ROWS)
    assert named.weights == {1: 1.0}
    assert named.unknown == ("../../x", "gone")


def test_a_reply_that_no_skill_fits_has_no_weights() -> None:
    assert parse_skill_weights('{"skills": {}}', ROWS).weights == {}


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "```json\n```",
        "The answer is 42.",
        '{"skills": {"nothing": 1}}',
        '{"type": "object", "properties": {"skills": {"type": "object"}}}',
        '{"skills": "answer.math"}',
        "<think>hm",
    ],
    ids=["empty", "empty fence", "an answer", "unknown only", "a schema", "text", "thinking alone"],
)
def test_what_names_nothing_is_refused(reply: str) -> None:
    with pytest.raises(ReplyFaultError):
        parse_skill_weights(reply, ROWS)


@pytest.mark.parametrize("weight", ["-1", "1e999", '"much"', "null", "[1]"])
def test_a_weight_that_is_no_finite_number_from_0_up_is_none(weight: str) -> None:
    named = parse_skill_weights(f'{{"skills": {{"answer.math": {weight}, "answer.code": 1}}}}', ROWS)
    assert named.weights == {2: 1.0}


@given(st.text(max_size=200) | st.recursive(st.text(max_size=9) | st.floats(), st.lists).map(json.dumps))
def test_any_reply_is_parsed_or_refused(reply: str) -> None:
    try:
        named = parse_skill_weights(reply, ROWS)
    except ReplyFaultError:
        return
    assert all(weight > 0 for weight in named.weights.values())
