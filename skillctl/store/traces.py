"""Traces from JSON lines: each line checked, each fault reported, the rest used."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import orjson

from skillctl.model.problem import Problem
from skillctl.model.trace import Step, Trace
from skillctl.store.jsonl import parse_object, read_batches, strip_mark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillctl.store.jsonl import LineBatch

OnProblem = Callable[[Problem], None]
_DIGEST_SIZE = 16  # bytes
_QUANTITIES = ("cost_usd", "prompt_tokens", "completion_tokens", "latency_s")  # in the order of Trace
_NUMBERS = frozenset({int, float})  # and no booleans
_SHOWN = 40  # characters of a wrong value
_NO_SKILLS: dict[str, float] = {}


class TraceError(ValueError):
    """A field of a trace that is not what it must be.

    Args:
        path: JSON path of the field.
        message: What is wrong and what to do.
    """

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


class TraceBatch(NamedTuple):
    """The traces of some complete lines.

    Attributes:
        offset: Decompressed bytes before the batch.
        data: The bytes of the batch, without a torn last line: that was not read yet.
        traces: The traces of the lines that are good.
    """

    offset: int
    data: bytes
    traces: list[Trace]


def read_traces(path: str, *, success_at: float = 0.5, on_problem: OnProblem) -> Iterator[Trace]:
    """Yield the traces of a JSONL file one by one.

    Args:
        path: A ``.jsonl`` or gzip'd file, or ``-`` for standard input.
        success_at: The score from which a trace without ``success`` counts as one.
        on_problem: Told of every line that is not used.
    """
    for batch in read_trace_batches(path, success_at=success_at, on_problem=on_problem):
        yield from batch.traces


def read_trace_batches(
    path: str,
    *,
    success_at: float = 0.5,
    on_problem: OnProblem,
    boundary: int = 0,
    on_read: Callable[[int], object] | None = None,
) -> Iterator[TraceBatch]:
    """Yield a file's traces in batches that know where in the file they stand.

    Args:
        path: A ``.jsonl`` or gzip'd file, or ``-`` for standard input.
        success_at: The score from which a trace without ``success`` counts as one.
        on_problem: Told of every line that is not used.
        boundary: A position in decompressed bytes where one batch ends and another starts.
        on_read: Told of the bytes read from the file, for a progress bar.
    """
    for batch in read_batches(path, on_problem, boundary=boundary, on_read=on_read):
        traces, is_complete = _parse_lines(path, batch, success_at, on_problem)
        yield TraceBatch(batch.offset, batch.data if is_complete else b"", traces)


def _parse_lines(path: str, batch: LineBatch, success_at: float, on_problem: OnProblem) -> tuple[list[Trace], bool]:
    traces: list[Trace] = []
    is_complete = True
    for number, raw in enumerate(batch.lines, batch.first_line):
        line = strip_mark(raw, number) if number == 1 else raw
        try:
            traces.append(parse_trace(parse_object(line), success_at))
        except TraceError as error:
            on_problem(Problem(path, number, error.path, str(error)))
        except ValueError as error:
            if not line.strip():
                continue
            is_complete = not batch.is_torn
            note = "; the line is torn: no line feed ends it" if batch.is_torn else ""
            on_problem(Problem(path, number, "$", f"{error}{note}"))
    return traces, is_complete


def parse_trace(fields: dict[str, Any], success_at: float = 0.5) -> Trace:
    """Return the trace that a JSON object holds; unknown keys are ignored.

    Args:
        fields: The object of one line.
        success_at: The score from which a trace without ``success`` counts as one.

    Raises:
        TraceError: If a field is missing or of the wrong kind.
    """
    # The hot path of a million lines: absent fields cost one look-up each and no call.
    get = fields.get
    query, agent, mode = get("query"), get("agent"), get("mode")
    if type(query) is not str:
        _refuse("query", query, "must be text")
    if type(agent) is not str or not agent:
        _refuse("agent", agent, "must be text that is not empty")
    if mode is not None and (type(mode) is not str or not mode):
        _refuse("mode", mode, "must be text that is not empty")
    query_id = _read_id("query_id", get("query_id"))
    if query_id is None:
        query_id = _digest(query.encode())
    error, score, skills, steps, time = get("error"), get("score"), get("skills"), get("steps"), get("time")
    if error is not None:
        error = _read_error(error)
    if score is not None and type(score) is not float:
        score = _read_score(score)
    answer, task = get("answer"), get("task")
    cost, prompt, completion, latency = [
        value if (value := get(key)) is None or (type(value) in _NUMBERS and value >= 0) else _refuse_amount(key, value)
        for key in _QUANTITIES
    ]
    trace_id = _read_id("trace_id", get("trace_id"))
    if trace_id is None:
        trace_id = _digest(
            orjson.dumps((query_id, query, agent, mode, answer, cost, prompt, completion, latency, steps))
        )
    return Trace(
        trace_id,
        query_id,
        query,
        agent,
        mode,
        _read_verdict(fields, score, error, success_at),
        error,
        _read_text(task) if task is not None else None,
        score,
        cost,
        prompt,
        completion,
        latency,
        _read_text(answer) if answer is not None else None,
        get("reference"),
        _read_skills(skills) if skills is not None else _NO_SKILLS,
        _read_steps(steps) if steps is not None else (),
        _read_time(time) if time is not None else None,
    )


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=_DIGEST_SIZE).hexdigest()


def _refuse(key: str, value: object, demand: str) -> NoReturn:
    shown = "it is missing" if value is None else f"found {_shorten(value)}"
    path, message = f"$.{key}", f"{key} {demand}; {shown}"
    raise TraceError(path, message)


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _read_verdict(fields: dict[str, Any], score: float | None, error: str | None, success_at: float) -> bool | None:
    """Return what ``success`` says, else what the score says; an outside error leaves no verdict."""
    success = fields.get("success", fields)
    if success is True or success is False:
        verdict: bool | None = success
    elif success is None:
        verdict = None
    elif success is fields:
        if score is None and error is None and "score" not in fields:
            path, message = "$", "the trace has no success and no score; give one, or null for no verdict"
            raise TraceError(path, message)
        verdict = None if score is None else score >= success_at
    elif type(success) in (int, float) and success in (0, 1):
        verdict = bool(success)
    else:
        _refuse("success", success, "must be true, false or null")
    return None if error is not None else verdict


def _read_error(value: object) -> str | None:
    """Return the error in one word or sentence; empty values mean that there was none."""
    if value is None or value is False or value == "":
        return None
    if isinstance(value, dict):
        value = value.get("code") or value.get("message") or "error"
    return value if isinstance(value, str) else "error"


def _read_score(value: object) -> float | None:
    if value is None or type(value) is float:
        return value
    if type(value) is int or type(value) is bool:
        return float(value)
    _refuse("score", value, "must be a number or null")


def _refuse_amount(key: str, value: object) -> NoReturn:
    _refuse(key, value, "must be a number of at least 0, or null for unknown")


def _read_id(key: str, value: object) -> str | int | None:
    if value is None or type(value) is str or type(value) is int:
        return value
    _refuse(key, value, "must be text or a 64-bit integer")


def _read_text(value: object) -> str | None:
    """Return a text; another JSON value is given as its JSON."""
    return value if value is None or isinstance(value, str) else orjson.dumps(value).decode()


def _read_skills(value: object, where: str = "skills") -> dict[str, float]:
    if not isinstance(value, dict):
        _refuse(where, value, "must be an object of weights by skill id")
    for skill, weight in value.items():
        if type(weight) not in (int, float) or weight < 0:
            _refuse(f"{where}.{skill}", weight, "must be a weight of at least 0")
    return {skill: float(weight) for skill, weight in value.items()}


def _read_steps(value: object) -> tuple[Step, ...]:
    if not isinstance(value, list):
        _refuse("steps", value, "must be a list of objects")
    return tuple(_read_step(step, index) for index, step in enumerate(value))


def _read_step(step: object, index: int) -> Step:
    if not isinstance(step, dict):
        _refuse(f"steps[{index}]", step, "must be an object")
    success, cost, where = step.get("success"), step.get("cost_usd"), f"steps[{index}]"
    if cost is not None and not (type(cost) in _NUMBERS and cost >= 0):
        _refuse_amount(f"{where}.cost_usd", cost)
    if success not in (None, True, False):
        _refuse(f"{where}.success", success, "must be true, false or null")
    return Step(
        mode=_read_text(step.get("mode")),
        agent=_read_text(step.get("agent")),
        action=_read_text(step.get("action")),
        observation=_read_text(step.get("observation")),
        cost_usd=cost,
        success=None if success is None or step.get("error") else bool(success),
        error=_read_error(step["error"]) if step.get("error") else None,
        skills=_read_skills(step["skills"], f"{where}.skills") if step.get("skills") else {},
    )


def _read_time(value: object) -> float:
    """Return seconds since the epoch; a time without a zone is UTC."""
    if type(value) in (int, float):
        return float(value)  # type: ignore[arg-type]
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            _refuse("time", value, "must be an ISO 8601 time or seconds since 1970")
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    _refuse("time", value, "must be an ISO 8601 time or seconds since 1970")
