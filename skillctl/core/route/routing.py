"""The choice: expected success minus λ times expected cost, over whole batches at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from skillctl.core.route.gates import OPEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from skillctl.core.orchestrate.orchestration import SkillWeights
    from skillctl.core.route.routing_table import ModeTable

Policy = Literal["greedy", "thompson", "ucb"]

# Scores that differ by no more than this are the same.
TIE = 1e-12
FALLBACKS = 3
# What an agent can do in one state scatters around its mean in the skill as Beta(c·μ, c·(1 − μ)); after k failures
# in this very state, its chance there is μ·c / (c + k). With c = 1, the first failure halves it.
STATE_CONCENTRATION = 1.0
_CHUNK = 1_000_000  # cells of gathered posteriors at a time


@dataclass(frozen=True, slots=True)
class Batch:
    """What is known of n states of one mode before the choice.

    Attributes:
        weights: Of the skills that each state needs.
        gates: `skillctl.core.route.gates.OPEN` or the reason against an agent, shape (n, agents).
        cost_weight: λ of each state, shape (n,).
        failures: How often each agent failed in each state already, shape (n, agents), or ``None`` for never.
    """

    weights: SkillWeights
    gates: NDArray[np.int8]
    cost_weight: NDArray[np.float64]
    failures: NDArray[np.float64] | None = None


class Choice(NamedTuple):
    """What is chosen for n states.

    Attributes:
        ranked: The best agents first, filled up with -1, shape (n, 4).
        tie: Whether another agent had the best score, shape (n,).
        unpriced: Whether cost was left out, as no open agent has a known cost although λ > 0, shape (n,).
        success: Expected success of each agent, shape (n, agents).
        score: What was compared; -inf where a gate is shut, shape (n, agents).
    """

    ranked: NDArray[np.int64]
    tie: NDArray[np.bool_]
    unpriced: NDArray[np.bool_]
    success: NDArray[np.float64]
    score: NDArray[np.float64]


def choose_agents(
    table: ModeTable, batch: Batch, *, policy: Policy = "greedy", rng: np.random.Generator | None = None
) -> Choice:
    """Choose for each state the agent with the largest score.

    score = Σ_σ w_σ · α_σ / (α_σ + β_σ) − λ · Ĉ over the agents whose gates are open. With ``ucb`` the 95 % quantile
    of the posterior takes the place of its mean (Bayes-UCB; Kaufmann, Cappé & Garivier 2012), with ``thompson`` a
    draw from it. Ties go to the lower cost (an unknown one last), then to more evidence, then to the lower id.

    Args:
        table: The mode.
        batch: The states. Under a λ above 0, agents of unknown cost are expected to be gated already, except in
            states where no open agent has a known cost.
        policy: Greedy, or one that explores.
        rng: For ``thompson``.
    """
    success = lower_after_failures(spread(batch.weights, table.mean), batch.failures)
    value = success if policy == "greedy" else _explore(table, batch, policy, rng)
    is_open = batch.gates == OPEN
    unpriced = (batch.cost_weight > 0) & ~(is_open & ~np.isnan(table.cost)).any(axis=1) & is_open.any(axis=1)
    cost_weight = np.where(unpriced, 0.0, batch.cost_weight)
    score = value - cost_weight[:, None] * np.nan_to_num(table.cost, nan=0.0)
    score[~is_open] = -np.inf
    ranked, tie = _rank(score, table, batch.weights)
    return Choice(ranked, tie, unpriced, success, score)


def spread(weights: SkillWeights, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Σ_σ w_σ · values_σ for each state, shape (n, agents); every state has at least one weight."""
    count = len(weights.indptr) - 1
    sums = np.empty((count, values.shape[1]))
    first = 0
    step = max(1, _CHUNK // max(values.shape[1], 1))
    while first < count:
        start = weights.indptr[first]
        last = max(first + 1, int(np.searchsorted(weights.indptr, start + step, side="right")) - 1)
        stop = weights.indptr[last]
        parts = values[weights.skills[start:stop]] * weights.weights[start:stop, None]
        np.add.reduceat(parts, weights.indptr[first:last] - start, axis=0, out=sums[first:last])
        first = last
    return sums


def lower_after_failures(success: NDArray[np.float64], failures: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return chances of success after failures in the same state: p · c / (c + k), c the state's concentration."""
    if failures is None:
        return success
    return success * (STATE_CONCENTRATION / (STATE_CONCENTRATION + failures))


def find_interval(
    table: ModeTable, weights: SkillWeights, failures: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bounds of the 90 % interval of each agent's success, each of shape (n, agents).

    They are Σ w · q with q the exact quantiles of each Beta posterior: the interval of the weighted sum when the
    abilities move together. For a single skill it is exact, for several it is the widest they can be.
    """
    low, high = spread(weights, table.low), spread(weights, table.high)
    return lower_after_failures(low, failures), lower_after_failures(high, failures)


def _explore(table: ModeTable, batch: Batch, policy: Policy, rng: np.random.Generator | None) -> NDArray[np.float64]:
    if policy == "ucb":
        return lower_after_failures(spread(batch.weights, table.high), batch.failures)
    if rng is None:
        message = "thompson needs a generator"
        raise ValueError(message)
    rows = batch.weights.skills
    draws = rng.beta(table.alpha[rows], table.beta[rows])
    own = batch.weights._replace(skills=np.arange(len(rows), dtype=np.int32))
    return lower_after_failures(spread(own, draws), batch.failures)


def _rank(
    score: NDArray[np.float64], table: ModeTable, weights: SkillWeights
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    count, agents = score.shape
    left = score.T.copy()  # agents are few: along the last axis, each step would pay for every state by itself
    places = np.arange(count)
    ranked = np.full((count, FALLBACKS + 1), -1, np.int64)
    tie = np.zeros(count, bool)
    for rank in range(min(FALLBACKS + 1, agents)):
        best = left.max(axis=0)
        equal = (left >= best - TIE) & (left > -np.inf)
        several = np.count_nonzero(equal, axis=0) > 1
        if several.any():
            rows = np.flatnonzero(several)
            equal[:, rows] = _break_ties(equal[:, rows].T, table, _take_rows(weights, rows)).T
        chosen = equal.argmax(axis=0)
        ranked[:, rank] = np.where(best > -np.inf, chosen, -1)
        left[chosen, places] = -np.inf
        if rank == 0:
            tie = several
    return ranked, tie


def _break_ties(equal: NDArray[np.bool_], table: ModeTable, weights: SkillWeights) -> NDArray[np.bool_]:
    cost = np.where(equal, np.nan_to_num(table.cost, nan=np.finfo(float).max), np.inf)
    cheapest = equal & (cost == cost.min(axis=1, keepdims=True))
    evidence = np.where(cheapest, spread(weights, table.evidence), -1.0)
    settled: NDArray[np.bool_] = cheapest & (evidence >= evidence.max(axis=1, keepdims=True) - TIE)
    return settled


def _take_rows(weights: SkillWeights, rows: NDArray[np.int64]) -> SkillWeights:
    lengths = weights.indptr[rows + 1] - weights.indptr[rows]
    indptr = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    place = np.arange(int(indptr[-1])) + np.repeat(weights.indptr[rows] - indptr[:-1], lengths)
    return type(weights)(indptr, weights.skills[place], weights.weights[place])


def count_failures(failed: Sequence[Sequence[str]], agents: Sequence[str]) -> NDArray[np.float64] | None:
    """Return how often each agent is named in each row, or ``None`` when no row names any."""
    if not any(failed):
        return None
    place = {agent: column for column, agent in enumerate(agents)}
    counts = np.zeros((len(failed), len(agents)))
    for row, names in enumerate(failed):
        for name in names:
            if name in place:
                counts[row, place[name]] += 1
    return counts


def spread_chosen(weights: SkillWeights, values: NDArray[np.float64], chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return Σ_σ w_σ · values_σ of one agent for each state, shape (n,)."""
    column = np.repeat(chosen, np.diff(weights.indptr))
    sums: NDArray[np.float64] = np.add.reduceat(values[weights.skills, column] * weights.weights, weights.indptr[:-1])
    return sums


def find_flip(value: NDArray[np.float64], cost: NDArray[np.float64], chosen: int, cost_weight: float) -> float | None:
    """Return the λ nearest to ``cost_weight`` at which another agent overtakes, or ``None`` when none ever does.

    Agent j overtakes where value_j - λ cost_j = value_chosen - λ cost_chosen, for a λ of at least 0.

    Args:
        value: Value of each agent before costs, -inf where a gate is shut.
        cost: Expected costs; agents of unknown cost never overtake.
        chosen: The chosen agent.
        cost_weight: λ of the choice.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        flips = (value - value[chosen]) / (cost - cost[chosen])
    flips = flips[np.isfinite(flips) & (flips >= 0) & (value > -np.inf)]
    return float(flips[np.abs(flips - cost_weight).argmin()]) if flips.size else None
