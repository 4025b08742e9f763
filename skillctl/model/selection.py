"""What ``select`` chose for one orchestrator, and the front it chose from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sub-handbook with its replayed outcome.

    Attributes:
        skills: The registered skills that it keeps, in order; what is below goes.
        accuracy: Mean success, ``None`` where it was not scored.
        accuracy_interval: Its 95 % interval.
        mean_cost_usd: Mean cost of a query, ``None`` is unknown.
        mean_cost_interval: Its 95 % interval.
    """

    skills: tuple[str, ...]
    accuracy: float | None = None
    accuracy_interval: tuple[float, float] | None = None
    mean_cost_usd: float | None = None
    mean_cost_interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Excluded:
    """A candidate that could not be scored, and why."""

    skills: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    """One selection.

    Attributes:
        orchestrator: For whom.
        cost_weight: λ of the choice.
        rule: How the choice was made.
        digest: Of the validation traces, ``blake2b:`` and 32 hexadecimal digits.
        queries: Distinct validation queries.
        candidates: How many were scored.
        choice: The chosen one.
        front: The Pareto front by rising cost.
        excluded: Those that could not be scored.
        extra: Hand-written ``x-…`` fields, kept as they are.
    """

    orchestrator: str
    cost_weight: float
    rule: str
    digest: str
    queries: int
    candidates: int
    choice: Candidate
    front: tuple[Candidate, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
