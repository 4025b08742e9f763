"""What is routed: a query, or the state of a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Needs:
    """Capabilities without which an agent is gated out; empty or ``None`` asks for nothing."""

    modalities: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    context_tokens: int | None = None


NO_NEEDS = Needs()


class Query(NamedTuple):
    """One line of routing input; a tuple, as a million of them are made in a run.

    Attributes:
        id: Any JSON value, given back unchanged; ``None`` where the line has none.
        line: 1-based line of the input.
        text: The query, or the text of the conversation that decides which skills are needed now.
        mode: Mode id, or ``None`` for the handbook's default.
        skills: Weights given by the caller, or ``None``.
        allow: Only these agents, or ``None`` for all.
        deny: Never these agents.
        needs: Capabilities asked for.
        cost_weight: λ for this line, or ``None`` for the run's.
        failed: Agents that already failed in this conversation, once per failure.
    """

    id: Any
    line: int
    text: str
    mode: str | None = None
    skills: Mapping[str, float] | None = None
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    needs: Needs = NO_NEEDS
    cost_weight: float | None = None
    failed: tuple[str, ...] = ()
