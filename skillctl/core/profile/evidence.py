"""The evidence of a handbook as arrays: counts per cell, runs and costs per pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.profile.run_moments import METRICS, RunMoments
from skillctl.core.profile.skill_credit import UNITS

if TYPE_CHECKING:
    from skillctl.core.profile.pair_layout import PairLayout
    from skillctl.model.handbook import CostStats, Handbook, Profile

_COST = METRICS.index("cost_usd")
# The means of a profile: metric, field of its mean, field of how many runs it is known of.
MEANS = (
    (1, "prompt_tokens", "prompt_tokens_runs"),
    (2, "completion_tokens", "completion_tokens_runs"),
    (3, "latency_s", "latency_runs"),
    (4, "steps", "steps_runs"),
)


class Evidence:
    """What was counted so far; changed in place by counting.

    Attributes:
        layout: The numbers of pairs and cells.
        successes: Of each cell, in units of 1e-4.
        failures: Of each cell, in units of 1e-4.
        runs: Runs with a verdict, of each pair.
        moments: Cost, tokens, latency and steps of each pair.
    """

    def __init__(self, layout: PairLayout) -> None:
        pairs = len(layout.mode_of_pair)
        self.layout = layout
        self.successes = np.zeros(layout.cells)
        self.failures = np.zeros(layout.cells)
        self.runs = np.zeros(pairs, dtype=np.int64)
        self.moments = RunMoments(pairs)

    def round(self) -> None:
        """Round the counts to whole units, the precision in which they are kept."""
        self.successes = np.rint(self.successes)
        self.failures = np.rint(self.failures)


def read_evidence(handbook: Handbook, layout: PairLayout) -> Evidence:
    """Return the evidence that a handbook's profiles hold."""
    evidence = Evidence(layout)
    for mode in layout.modes:
        for number, agent in enumerate(mode.agents):
            profile = handbook.agents[agent].profiles.get(mode.mode)
            if profile is not None:
                _read_profile(evidence, mode.first_pair + number, mode.keys, profile)
    return evidence


def _read_profile(evidence: Evidence, pair: int, keys: tuple[str, ...], profile: Profile) -> None:
    first = evidence.layout.first_cell_of_pair[pair]
    for cell, key in enumerate(keys, first):
        entry = profile.competence.get(key)
        if entry is not None:
            evidence.successes[cell] = round(entry.successes * UNITS)
            evidence.failures[cell] = round(entry.failures * UNITS)
    evidence.runs[pair] = profile.runs
    _read_costs(evidence.moments, pair, profile.cost, profile.runs)


def _read_costs(moments: RunMoments, pair: int, cost: CostStats, runs: int) -> None:
    if cost.mean_usd is not None:
        moments.count[pair, _COST] = cost.runs
        moments.mean[pair, _COST] = cost.mean_usd
        moments.squares[pair, _COST] = (cost.sd_usd or 0.0) ** 2 * max(cost.runs - 1, 0)
    for metric, mean_field, runs_field in MEANS:
        mean, known = getattr(cost, mean_field), getattr(cost, runs_field)
        if mean is not None:
            moments.count[pair, metric] = runs if known is None else known
            moments.mean[pair, metric] = mean
