from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.store.traces import TraceError, parse_trace, read_trace_batches, read_traces

if TYPE_CHECKING:
    from pathlib import Path

    from skillctl.model.problem import Problem
    from skillctl.model.trace import Trace

_PLAIN: dict[str, Any] = {"query_id": "q1", "query": "2+2?", "agent": "a", "success": True}


def _read(path: Path, **options: float) -> tuple[list[Trace], list[Problem]]:
    problems: list[Problem] = []
    return list(read_traces(str(path), on_problem=problems.append, **options)), problems


def _write(tmp_path: Path, *lines: dict[str, Any] | bytes) -> Path:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines))
    return path


def test_every_field_of_the_contract_is_read() -> None:
    line = {
        "trace_id": "t1",
        "query_id": "q17",
        "query": "…",
        "task": "gsm8k",
        "agent": "gpt-4o",
        "mode": "answer",
        "success": True,
        "score": 1,
        "cost_usd": 0.0021,
        "prompt_tokens": 410,
        "completion_tokens": 180,
        "latency_s": 1.9,
        "answer": "…",
        "reference": [1],
        "skills": {"answer.math": 1},
        "time": "2026-01-01T00:00Z",
        "steps": [
            {"mode": "search", "agent": "s1", "action": {"q": 1}, "observation": "…", "cost_usd": 0, "success": None}
        ],
        "unknown": {"kept": "out of the way"},
    }
    trace = parse_trace(line)
    assert (trace.trace_id, trace.query_id, trace.task, trace.mode, trace.score) == (
        "t1",
        "q17",
        "gsm8k",
        "answer",
        1.0,
    )
    assert (trace.cost_usd, trace.prompt_tokens, trace.completion_tokens, trace.latency_s) == (0.0021, 410, 180, 1.9)
    assert (trace.answer, trace.reference, trace.skills, trace.time_s) == ("…", [1], {"answer.math": 1.0}, 1767225600.0)
    (step,) = trace.steps
    assert (step.mode, step.agent, step.action, step.cost_usd, step.success) == ("search", "s1", '{"q":1}', 0.0, None)


@pytest.mark.parametrize(
    ("fields", "success_at", "verdict"),
    [
        ({"success": True}, 0.5, True),
        ({"success": 0}, 0.5, False),
        ({"success": 1.0}, 0.5, True),
        ({"success": None}, 0.5, None),
        ({"success": None, "score": 0.9}, 0.5, None),
        ({"success": False, "score": 0.9}, 0.5, False),
        ({"score": 0.5}, 0.5, True),
        ({"score": 0.5}, 0.6, False),
        ({"score": None}, 0.5, None),
        ({"score": True}, 0.5, True),
        ({"error": "timeout"}, 0.5, None),
        ({"error": {"code": "rate_limit"}, "success": False}, 0.5, None),
        ({"error": "", "success": False}, 0.5, False),
        ({"error": None, "success": True}, 0.5, True),
    ],
)
def test_a_trace_is_a_success_a_failure_or_has_no_verdict(
    fields: dict[str, Any], *, success_at: float, verdict: bool | None
) -> None:
    assert parse_trace({"query": "q", "agent": "a", **fields}, success_at).success is verdict


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"query": 7}, "$.query"),
        ({"query": None}, "$.query"),
        ({"agent": ""}, "$.agent"),
        ({"agent": ["a"]}, "$.agent"),
        ({"mode": 1}, "$.mode"),
        ({"success": "yes"}, "$.success"),
        ({"success": 2}, "$.success"),
        ({"score": "1.0"}, "$.score"),
        ({"query_id": 1.5}, "$.query_id"),
        ({"query_id": True}, "$.query_id"),
        ({"trace_id": []}, "$.trace_id"),
        ({"cost_usd": -0.1}, "$.cost_usd"),
        ({"cost_usd": "0.1"}, "$.cost_usd"),
        ({"prompt_tokens": True}, "$.prompt_tokens"),
        ({"latency_s": float("nan")}, "$.latency_s"),
        ({"skills": ["s"]}, "$.skills"),
        ({"skills": {"s": -1}}, "$.skills.s"),
        ({"skills": {"s": True}}, "$.skills.s"),
        ({"skills": {"s": "1"}}, "$.skills.s"),
        ({"steps": {}}, "$.steps"),
        ({"steps": ["x"]}, "$.steps[0]"),
        ({"steps": [{}, {"cost_usd": -1}]}, "$.steps[1].cost_usd"),
        ({"steps": [{"success": "no"}]}, "$.steps[0].success"),
        ({"time": "yesterday"}, "$.time"),
        ({"time": [1]}, "$.time"),
    ],
)
def test_a_field_of_the_wrong_kind_is_refused_at_its_path(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(TraceError, match=r"must be") as caught:
        parse_trace({**_PLAIN, **fields})
    assert caught.value.path == path


def test_a_trace_without_success_and_score_is_refused() -> None:
    with pytest.raises(TraceError, match="no success and no score"):
        parse_trace({"query": "q", "agent": "a"})


def test_id_1_and_the_text_1_are_different() -> None:
    number, text = parse_trace({**_PLAIN, "query_id": 1}), parse_trace({**_PLAIN, "query_id": "1"})
    assert (number.query_id, text.query_id) == (1, "1")
    assert number.trace_id != text.trace_id


def test_an_id_of_zero_is_an_id() -> None:
    assert parse_trace({**_PLAIN, "query_id": 0, "trace_id": 0}).query_id == 0


def test_rows_that_differ_in_the_metric_alone_are_one_trace() -> None:
    row = {**_PLAIN, "answer": "4", "cost_usd": 0.1}
    same = [
        parse_trace({**row, **metric}).trace_id for metric in ({"success": False}, {"score": 0.3}, {"metric": "f1"})
    ]
    assert set(same) == {parse_trace(row).trace_id}


@pytest.mark.parametrize(
    "change", [{"query": "2+3?"}, {"agent": "b"}, {"mode": "m"}, {"answer": "5"}, {"latency_s": 1}]
)
def test_rows_that_differ_in_what_was_run_are_different_traces(change: dict[str, Any]) -> None:
    assert parse_trace({**_PLAIN, **change}).trace_id != parse_trace(_PLAIN).trace_id


def test_the_query_id_defaults_to_a_digest_of_the_query() -> None:
    line = {"query": "2+2?", "agent": "a", "success": True}
    assert parse_trace(line).query_id == parse_trace({**line, "agent": "b"}).query_id


def test_bad_lines_are_reported_with_file_and_line_and_the_rest_is_used(tmp_path: Path) -> None:
    path = _write(
        tmp_path, b"\xef\xbb\xbf", _PLAIN, b"{nonsense}\n", b"\r\n", {**_PLAIN, "cost_usd": -1}, b"[1]\n", _PLAIN
    )
    traces, problems = _read(path)
    assert len(traces) == 2
    assert [(problem.file, problem.line, problem.path) for problem in problems] == [
        (str(path), 2, "$"),
        (str(path), 4, "$.cost_usd"),
        (str(path), 5, "$"),
    ]


@pytest.mark.parametrize("cut", [1, 5, 12])
def test_a_torn_last_line_is_reported_and_not_part_of_what_was_read(tmp_path: Path, cut: int) -> None:
    whole = json.dumps({**_PLAIN, "query": "2+2 é"}, ensure_ascii=False).encode()
    torn = whole[: whole.index(b"\xc3") + 1] if cut == 1 else whole[:-cut]
    path = _write(tmp_path, _PLAIN, torn)
    problems: list[Problem] = []
    batches = list(read_trace_batches(str(path), on_problem=problems.append))
    assert b"".join(batch.data for batch in batches) == path.read_bytes().removesuffix(torn)
    assert "torn" in problems[0].message


def test_a_whole_last_line_without_a_line_feed_is_used(tmp_path: Path) -> None:
    traces, problems = _read(_write(tmp_path, _PLAIN, json.dumps(_PLAIN).encode()))
    assert (len(traces), problems) == (2, [])


def test_gzip_and_plain_files_read_alike(tmp_path: Path) -> None:
    path = _write(tmp_path, *({**_PLAIN, "query_id": number} for number in range(300)))
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert _read(packed) == _read(path)


@given(
    line=st.dictionaries(
        st.sampled_from([*_PLAIN, "steps", "time", "skills", "cost_usd", "error"]),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
            max_leaves=4,
        ),
    )
)
def test_no_object_does_more_than_raise_a_trace_error(line: dict[str, Any]) -> None:
    try:
        trace = parse_trace(json.loads(json.dumps(line), parse_constant=lambda _: None, parse_int=lambda _: 0))
    except TraceError:
        return
    assert trace.success in (True, False, None)
