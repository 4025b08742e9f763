"""The trace of a finished conversation, in the format that profile, discover and evaluate read."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import orjson

from skillctl.core.run.loop import Stop
from skillctl.model.query import NO_NEEDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillctl.core.run.conversation import Conversation, Turn
    from skillctl.core.run.exploring import ExploreQuery
    from skillctl.core.run.grading import Verdict
    from skillctl.core.run.loop import Finished

TEXT_CHARS = 2_000
_DIGEST_BYTES = 16


def name_run(query: ExploreQuery, setting: str, attempt: int = 0) -> str:
    """Return the id of a trace: a digest of the query, of everything that a run depends on, and of its attempt."""
    fields: list[Any] = [query.id, query.text, setting, *([attempt] if attempt else [])]
    if query.needs != NO_NEEDS:
        fields.append(query.needs)
    return blake2b(orjson.dumps(fields), digest_size=_DIGEST_BYTES).hexdigest()


def build_run_trace(
    trace_id: str,
    query: ExploreQuery,
    finished: Finished,
    verdict: Verdict | None,
    *,
    judge_error: str | None = None,
) -> dict[str, Any] | None:
    """Return a line of the trace log, ``None`` where nobody did anything; unknown fields are absent.

    The trajectory stands under the agent and mode whose answer stands, else of the last turn. Without an answer a
    query with a reference failed, unless an outside failure is to blame.
    """
    conversation = finished.conversation
    turn = conversation.answer_turn or conversation.last or (conversation.turns[-1] if conversation.turns else None)
    if turn is None:
        return None
    broken = conversation.turns[-1] if finished.stop == Stop.OUTSIDE and conversation.answer_turn is None else None
    error = judge_error or (broken.error if broken else None)
    success = verdict.success if verdict else (False if query.has_reference else None)
    trace = {
        "trace_id": trace_id,
        "query_id": query.id,
        "query": query.text,
        "task": query.task,
        "agent": turn.decision.agent,
        "mode": turn.decision.mode,
        "success": None if error else success,
        "score": verdict.score if verdict else None,
        **_measure(conversation),
        "answer": turn.observation if turn.is_answer else None,
        "reference": query.reference if query.has_reference else None,
        "skills": dict(turn.decision.skills) or None,
        "stop": finished.stop.value,
        "costs": _split_costs(conversation),
        "steps": [_build_step(one) for one in conversation.turns],
        "error": {"code": error, "message": broken.error_message if broken else ""} if error else None,
    }
    return {key: value for key, value in trace.items() if value is not None or key == "success"}


def _measure(conversation: Conversation) -> dict[str, float | int | None]:
    return {
        "cost_usd": None if conversation.has_unknown_cost() else _shorten(conversation.spent_usd()),
        "prompt_tokens": _sum(conversation, "prompt_tokens"),
        "completion_tokens": _sum(conversation, "completion_tokens"),
        "latency_s": _sum(conversation, "latency_s"),
    }


def _build_step(turn: Turn) -> dict[str, Any]:
    known = {
        "mode": turn.decision.mode,
        "agent": turn.decision.agent,
        "action": turn.action[:TEXT_CHARS] or None,
        "observation": turn.observation[:TEXT_CHARS] or None,
        "cost_usd": None if turn.cost_usd is None else _shorten(turn.cost_usd),
        "success": _step_verdict(turn),
        "skills": dict(turn.decision.skills) or None,
        "is_repeat": turn.is_repeat or None,
        "error": {"code": turn.error, "message": turn.error_message} if turn.error else None,
    }
    return {key: value for key, value in known.items() if value is not None or key == "success"}


def _step_verdict(turn: Turn) -> bool | None:
    """Return the verdict on a step alone: a step that went well is worth what the trajectory comes to."""
    if turn.is_answer:
        return turn.succeeded
    return False if turn.succeeded is False else None


def _split_costs(conversation: Conversation) -> dict[str, float]:
    parts: Mapping[str, list[float | None]] = {
        "agents": [turn.cost_usd for turn in conversation.turns],
        "tools": [turn.tool_usd for turn in conversation.turns],
        "checker": [turn.check_usd for turn in conversation.turns],
        "orchestrator": [turn.decision.cost_usd for turn in conversation.turns],
    }
    return {name: _shorten(sum(cost for cost in costs if cost is not None)) for name, costs in parts.items()}


def _sum(conversation: Conversation, field: str) -> float | int | None:
    known = [value for turn in conversation.turns if (value := getattr(turn, field)) is not None]
    return round(sum(known), 3) if known else None


def _shorten(cost: float) -> float:
    return float(f"{cost:.9g}")
