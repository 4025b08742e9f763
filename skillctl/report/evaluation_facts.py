"""An evaluation ready to be rendered: which run it was, and its numbers with their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skillctl.core.evaluate.resampling import estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from skillctl.core.evaluate.evaluation import Evaluation
    from skillctl.core.evaluate.metrics import Interval
    from skillctl.core.evaluate.replay import LogCounts
    from skillctl.core.route.routing_table import ModeTable

_DIGITS = 6  # significant
COSTS = frozenset({"mean_cost_usd", "cost_at_best_single_accuracy"})
# Less of these is better; of the others more is.
LOWER_IS_BETTER = frozenset(
    {"mean_cost_usd", "cost_at_best_single_accuracy", "regret", "brier", "ece", "top1_share", "hhi", "cpt50", "cpt80"}
)


class Gate(NamedTuple):
    """A bound that a metric must keep.

    Attributes:
        metric: Its name.
        bound: The least value, or the most where less is better.
        value: What was measured; ``None`` for nothing.
        passed: Whether the bound is kept; nothing measured does not keep it.
    """

    metric: str
    bound: float
    value: float | None
    passed: bool


class Comparison(NamedTuple):
    """The paired difference to another handbook on the same queries and resamples: this one minus the other.

    Attributes:
        against: What it was compared with.
        accuracy: Difference.
        mean_cost_usd: Difference; ``None`` is unknown.
        utility: Difference of accuracy minus λ times mean cost, or of the accuracy where costs are not known.
        worse: Whether the whole interval of the utility lies below 0.
    """

    against: str
    accuracy: Interval
    mean_cost_usd: Interval | None
    utility: Interval
    worse: bool


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is said of an evaluation.

    Attributes:
        handbook: Its name.
        policy: How was chosen.
        cost_weight: λ.
        evaluations: By orchestrator; the first one is reported in full.
        log: What the traces hold.
        bad_lines: Lines that were not used.
        left_out: Queries with verdicts of fewer than two agents, on which nothing is chosen.
        training: In words, what the baselines were trained on.
        trained_on: Number of their training queries.
        counted_before: Whether the handbook has counted some of these files as evidence.
        gates: Bounds that were asked for.
        comparison: With another handbook.
        tables: The handbook's numbers, by mode.
    """

    handbook: str
    policy: str
    cost_weight: float
    evaluations: Mapping[str, Evaluation]
    log: LogCounts
    bad_lines: int
    left_out: int
    training: str
    trained_on: int
    counted_before: bool
    gates: tuple[Gate, ...] = field(default=())
    comparison: Comparison | None = None
    tables: Mapping[str, ModeTable] = field(default_factory=dict)

    def competence(
        self, skills: Sequence[str], agents: Sequence[str]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return posterior means and evidence, each of shape (skills, agents); a mode's id names all of the mode."""
        columns = [self.first.yardsticks.board.agents.index(agent) for agent in agents]
        rows = {skill: (table, row) for table in self.tables.values() for row, skill in enumerate(table.skills)}
        found = [rows[skill] for skill in skills]
        means = np.array([table.mean[row, columns] for table, row in found])
        return means, np.array([table.evidence[row, columns] for table, row in found])

    @property
    def first(self) -> Evaluation:
        """The evaluation under the first orchestrator."""
        return next(iter(self.evaluations.values()))

    @property
    def is_partial(self) -> bool:
        """Whether some logged agent lacks a verdict on some query."""
        coverage = self.first.coverage
        return bool(coverage.complete < coverage.queries) or bool(self.left_out)


def to_json(interval: Interval | None) -> dict[str, float | None]:
    """Return ``{value, low, high}``; what is not known or not finite is null."""
    return dict(zip(("value", "low", "high"), map(to_number, interval or (None, None, None)), strict=True))


def to_number(value: float | None) -> float | None:
    """Return a number of stated precision, or ``None`` for one that is not known or not finite."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.{_DIGITS}g}")


def metrics_to_json(samples: Mapping[str, NDArray[np.float64]]) -> dict[str, Any]:
    """Return all metrics by name."""
    return {name: to_json(estimate(values)) for name, values in samples.items()}
