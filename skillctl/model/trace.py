"""Logged trajectories: one agent's attempt at one query, with its outcome and cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """One action within a trajectory and what came of it.

    ``error`` is the code of an outside failure: such a step is no evidence. ``skills`` are the weights of the skills
    that the step was routed by, empty where the log does not say.
    """

    mode: str | None = None
    agent: str | None = None
    action: str | None = None
    observation: str | None = None
    cost_usd: float | None = None
    success: bool | None = None
    error: str | None = None
    skills: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trace:
    """One trajectory.

    Attributes:
        trace_id: As given (1 and "1" are different), or a digest of the identifying fields.
        query_id: As given (an integer id and the same digits as text are different), or a digest of the query.
        query: The text given to the agent.
        agent: Agent id.
        mode: Mode id, or ``None`` where the line names none.
        success: The verdict, or ``None`` for none: it never counts as evidence.
        error: Code of an outside failure, or ``None``.
        task: Free label.
        score: Graded outcome where there is one.
        cost_usd: ``None`` is unknown.
        prompt_tokens: Tokens read.
        completion_tokens: Tokens written.
        latency_s: Seconds.
        answer: The reply.
        reference: The expected answer.
        skills: Weights of the active skills, empty where the line names none.
        steps: In order.
        time_s: Seconds since the epoch, where the line has a time.
    """

    trace_id: str | int
    query_id: str | int
    query: str
    agent: str
    mode: str | None = None
    success: bool | None = None
    error: str | None = None
    task: str | None = None
    score: float | None = None
    cost_usd: float | None = None
    prompt_tokens: float | None = None
    completion_tokens: float | None = None
    latency_s: float | None = None
    answer: str | None = None
    reference: Any = None
    skills: Mapping[str, float] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    time_s: float | None = None
