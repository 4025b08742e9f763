from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.model.query import Needs
from skillctl.store.messages import MAX_TEXT, MIN_CONTEXT
from skillctl.store.queries import QueryError, parse_queries, parse_query


def test_a_plain_query_asks_for_nothing_else() -> None:
    query = parse_query({"id": 7, "query": "2+2?"}, 3)
    assert (query.id, query.line, query.text, query.needs, query.failed) == (7, 3, "2+2?", Needs(), ())
    assert (query.mode, query.skills, query.allow, query.deny, query.cost_weight) == (None, None, None, (), None)


def test_every_option_is_read() -> None:
    query = parse_query(
        {
            "id": ["any", {"json": None}],
            "query": "",
            "mode": "code",
            "skills": {"s": 2},
            "allow": [],
            "deny": ["b"],
            "needs": {"modalities": ["image"], "context_tokens": None},
            "lambda": 3,
        },
        1,
    )
    assert (query.id, query.text, query.mode) == (["any", {"json": None}], "", "code")
    assert (query.skills, query.allow, query.deny) == ({"s": 2.0}, (), ("b",))
    assert (query.needs, query.cost_weight) == (Needs(modalities=("image",)), 3.0)


def test_a_trace_is_a_query_by_its_text() -> None:
    line = {"query_id": "1", "query": "2+2?", "agent": "a", "success": True, "steps": [], "answer": "4"}
    query = parse_query(line, 1)
    assert (query.id, query.text, query.mode) == ("1", "2+2?", None)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, "no_query"),
        ({"query": None}, "no_query"),
        ({"query": 7}, "bad_query"),
        ({"query": "q", "id": 1.2e19}, "bad_id"),
        ({"query": "q", "mode": 1}, "bad_mode"),
        ({"query": "q", "mode": ""}, "bad_mode"),
        ({"query": "q", "skills": ["s"]}, "bad_skills"),
        ({"query": "q", "skills": {"s": -1}}, "bad_skills"),
        ({"query": "q", "skills": {"s": "1"}}, "bad_skills"),
        ({"query": "q", "skills": {"s": True}}, "bad_skills"),
        ({"query": "q", "skills": {"s": 0}}, "bad_skills"),
        ({"query": "q", "allow": "a"}, "bad_allow"),
        ({"query": "q", "deny": [1]}, "bad_deny"),
        ({"query": "q", "needs": []}, "bad_needs"),
        ({"query": "q", "needs": {"modality": ["image"]}}, "bad_needs"),
        ({"query": "q", "needs": {"tools": "python"}}, "bad_needs"),
        ({"query": "q", "needs": {"context_tokens": True}}, "bad_needs"),
        ({"query": "q", "lambda": -1}, "bad_lambda"),
        ({"query": "q", "lambda": "1"}, "bad_lambda"),
        ({"messages": []}, "bad_messages"),
        ({"messages": "hi"}, "bad_messages"),
        ({"messages": [{"content": "hi"}]}, "bad_messages"),
        ({"messages": [{"role": "user", "content": 7}]}, "bad_messages"),
    ],
)
def test_a_fault_has_a_code_and_a_message(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(QueryError, match=r"\w") as caught:
        parse_query(fields, 1)
    assert caught.value.code == code


_ids = st.none() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3) | st.lists(st.booleans())
_weights = st.integers(-1, 3) | st.floats(0, 1) | st.booleans() | st.text(max_size=1)
_fields = st.fixed_dictionaries(
    {"query": st.text(max_size=3)},
    optional={
        "id": _ids,
        "query_id": _ids,
        "skills": st.none() | st.dictionaries(st.sampled_from("abc"), _weights) | st.lists(_weights, max_size=1),
        "extra": st.none(),
        "mode": st.just("code"),
    },
)
_plain_fields = st.fixed_dictionaries(
    {"query": st.text(max_size=3)},
    optional={
        "id": st.none() | st.integers() | st.text(max_size=3),
        "skills": st.none() | st.dictionaries(st.sampled_from("abc"), st.integers(1, 3) | st.just(0.5), min_size=1),
    },
)


@given(st.lists(_fields | _plain_fields, max_size=4))
def test_many_lines_at_once_are_read_like_one_by_one(objects: list[dict[str, Any]]) -> None:
    together = parse_queries(objects, range(7, 7 + len(objects)))
    if together is not None:
        assert together == [parse_query(fields, line) for line, fields in enumerate(objects, 7)]


@given(st.lists(_plain_fields, max_size=4))
def test_plain_lines_are_read_at_once(objects: list[dict[str, Any]]) -> None:
    assert parse_queries(objects, range(len(objects))) is not None


def test_empty_weights_are_no_weights() -> None:
    assert parse_query({"query": "q", "skills": {}}, 1).skills is None


def _text(*messages: dict[str, Any]) -> str:
    return parse_query({"messages": list(messages)}, 1).text


def _say(role: str, content: object, **more: object) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def test_the_last_user_message_comes_first_then_what_followed_then_what_came_before() -> None:
    call = {"type": "function", "function": {"name": "search", "arguments": '{"q": 1}'}}
    text = _text(
        _say("system", "be kind"),
        _say("user", "first"),
        _say("assistant", "answer"),
        _say("user", "second"),
        _say("assistant", None, tool_calls=[call]),
        _say("tool", "result"),
    )
    assert text.split("\n") == ["second", "result", 'search {"q": 1}', "answer", "first"]


def test_context_never_outweighs_the_user_message() -> None:
    assert len(_text(_say("user", "hi"), _say("tool", "x" * 5000))) == 2 + MIN_CONTEXT
    assert len(_text(_say("user", "u" * 1000), _say("tool", "x" * 5000))) == 2000


def test_content_may_be_parts_and_parts_without_text_are_left_out() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:..."}}
    result = {"type": "tool_result", "content": [{"type": "text", "text": "found"}]}
    use = {"type": "tool_use", "name": "f", "input": {"a": 1}}
    assert (
        _text(_say("user", [{"type": "text", "text": "look"}, image, "here", result, use]))
        == 'look\nhere\nfound\nf {"a":1}'
    )


def test_a_system_message_counts_only_alone() -> None:
    assert _text(_say("system", "you are a poet")) == "you are a poet"


def test_a_conversation_without_a_user_starts_at_its_end() -> None:
    assert _text(_say("assistant", "a"), _say("tool", "b")) == "b\na"


_roles = st.sampled_from(["user", "assistant", "tool", "system"])


@given(
    st.lists(
        st.builds(
            _say,
            st.sampled_from(["user", "assistant", "tool", "system"]),
            st.none() | st.text() | st.just("x" * 15_000),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_the_text_is_bounded(messages: list[dict[str, Any]]) -> None:
    assert len(_text(*messages)) <= MAX_TEXT


def test_agents_that_failed_are_named_once_per_failure() -> None:
    messages = [
        _say("user", "q"),
        _say("assistant", "x", agent="a", success=False),
        _say("assistant", "x", name="b"),
        _say("tool", "boom", is_error=True),
        _say("assistant", "x", agent="a"),
        _say("user", "wrong", success=False),
        _say("assistant", "x", agent="c"),
        _say("user", "thanks"),
        _say("assistant", "x"),
        _say("tool", "boom", is_error=True),
    ]
    assert parse_query({"messages": messages}, 1).failed == ("a", "b", "a")
