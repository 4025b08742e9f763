"""What exploration runs and logs: queries with their scoring, and the trace of one attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import orjson

from skillctl.core.run.grading import Scoring, Verdict
from skillctl.model.query import NO_NEEDS, Needs

if TYPE_CHECKING:
    from skillctl.model.handbook import Agent

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class ExploreQuery:
    """One line of exploration input.

    Attributes:
        id: As given, or a digest of the query; 1 and "1" are different.
        line: 1-based line of the input.
        text: The query, or what of the conversation stands for it.
        messages: What a model gets.
        scoring: The rule for its answers.
        reference: The expected answer: any JSON value.
        has_reference: Whether there is one; without one there is no verdict.
        task: Free label.
        needs: Capabilities without which an agent cannot serve it.
    """

    id: str | int
    line: int
    text: str
    messages: tuple[Mapping[str, Any], ...]
    scoring: Scoring = field(default_factory=Scoring)
    reference: Any = None
    has_reference: bool = False
    task: str | None = None
    needs: Needs = NO_NEEDS


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of one agent's try at one query; a number that is ``None`` is unknown.

    Attributes:
        answer: The reply, ``None`` where the call failed.
        verdict: ``None`` for none.
        error_code: Of an outside failure.
        error_message: Of an outside failure.
        cost_usd: What the reply costs, also where it came from the cache.
        prompt_tokens: Tokens read.
        completion_tokens: Tokens written.
        latency_s: Seconds of the call.
    """

    answer: str | None = None
    verdict: Verdict | None = None
    error_code: str | None = None
    error_message: str = ""
    cost_usd: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_s: float | None = None


def name_trace(query_id: str | int, agent: str, mode: str, request_key: str, attempt: int = 0) -> str:
    """Return the id of a trace: a digest of what was asked of whom, and of how often it failed before."""
    fields: list[Any] = [query_id, agent, mode, request_key]
    if attempt:
        fields.append(attempt)
    return blake2b(orjson.dumps(fields), digest_size=_DIGEST_BYTES).hexdigest()


def build_trace(trace_id: str, query: ExploreQuery, agent: Agent, mode: str, attempt: Attempt) -> dict[str, Any]:
    """Return a line of the trace log; unknown fields are absent, ``success`` is always there."""
    verdict = attempt.verdict
    known = {
        "trace_id": trace_id,
        "query_id": query.id,
        "query": query.text,
        "task": query.task,
        "agent": agent.id,
        "mode": mode,
        "model": agent.model,
        "success": verdict.success if verdict else None,
        "score": verdict.score if verdict else None,
        "cost_usd": None if attempt.cost_usd is None else float(f"{attempt.cost_usd:.9g}"),
        "prompt_tokens": attempt.prompt_tokens,
        "completion_tokens": attempt.completion_tokens,
        "latency_s": None if attempt.latency_s is None else round(attempt.latency_s, 3),
        "answer": attempt.answer,
        "reference": query.reference if query.has_reference else None,
    }
    trace = {key: value for key, value in known.items() if value is not None or key == "success"}
    if attempt.error_code is not None:
        trace["error"] = {"code": attempt.error_code, "message": attempt.error_message}
    return trace


def is_error(trace: Mapping[str, Any]) -> bool:
    """Tell whether a logged trace is one of an outside failure."""
    return bool(trace.get("error"))


@dataclass(slots=True)
class AgentTally:
    """What one agent's runs came to, for the closing table."""

    agent: str
    runs: int = 0
    successes: int = 0
    failures: int = 0
    errors: int = 0
    calls: int = 0
    cached: int = 0
    cost_usd: float = 0.0
    unknown_costs: int = 0

    def count(self, trace: Mapping[str, Any], *, is_cached: bool) -> None:
        """Add one trace."""
        self.runs += 1
        self.successes += trace["success"] is True
        self.failures += trace["success"] is False
        self.errors += is_error(trace)
        self.cached += is_cached
        self.calls += not is_cached
        cost = trace.get("cost_usd")
        if cost is not None:
            self.cost_usd += cost
        elif not is_error(trace):
            self.unknown_costs += 1


def render_tallies(tallies: Sequence[AgentTally]) -> list[list[str]]:
    """Return the rows of the closing table: agent, runs, success, no verdict, errors, calls, from cache, cost."""
    return [_row(tally) for tally in tallies]


def _row(tally: AgentTally) -> list[str]:
    judged = tally.successes + tally.failures
    rate = f"{tally.successes / judged:.1%}" if judged else "-"
    cost = f"{tally.cost_usd:.6f}"
    if tally.unknown_costs:
        cost = "unknown" if tally.unknown_costs == tally.runs - tally.errors else f"{cost} + unknown"
    no_verdict = tally.runs - judged - tally.errors
    counts = (no_verdict, tally.errors, tally.calls, tally.cached)
    return [tally.agent, str(tally.runs), rate, *map(str, counts), cost]
