"""The metrics of one policy on a board, as paired samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.evaluate.calibration import find_cells, measure_brier, measure_ece
from skillctl.core.evaluate.collapse import measure_collapse
from skillctl.core.evaluate.curves import Hulls, find_aiq, find_cost_at, find_gap, find_hull, find_hulls
from skillctl.core.evaluate.playing import Played, Sweep, choose_by, play_chosen, play_oracle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from skillctl.core.evaluate.replay import Board
    from skillctl.core.evaluate.resampling import Resamples

    Floats = NDArray[np.float64]

METRICS = (
    "accuracy", "mean_cost_usd", "headroom", "aiq", "cost_at_best_single_accuracy", "regret", "brier", "ece",
    "interval_coverage", "top1_share", "entropy", "effective_agents", "hhi", "pgr", "apgr", "cpt50", "cpt80",
)  # fmt: skip
TWO = 2


class SingleAgent(NamedTuple):
    """One agent that answers everything; NaN is unknown.

    Attributes:
        agent: Its id.
        queries: On how many of the queries it has a verdict.
        accuracy: Over those.
        mean_cost_usd: Over those.
    """

    agent: str
    queries: int
    accuracy: float
    mean_cost_usd: float


@dataclass(frozen=True, slots=True)
class Yardsticks:
    """What every policy on a board is measured against.

    Attributes:
        resamples: Shared by all statistics.
        best: The best single agent by the handbook's own evidence, which was its training data.
        oracle: The best choice with hindsight.
        singles: Each agent alone.
        cost_weight: λ.
    """

    board: Board
    resamples: Resamples
    best: Played
    oracle: Played
    singles: tuple[SingleAgent, ...]
    cost_weight: float

    @property
    def cost_range(self) -> tuple[float, float]:
        """Mean costs of the cheapest and the dearest single agent, NaN where they are unknown."""
        costs = [single.mean_cost_usd for single in self.singles]
        return (float(np.nanmin(costs)), float(np.nanmax(costs))) if not np.isnan(costs).all() else (np.nan, np.nan)

    @property
    def single_hull(self) -> Hulls:
        """What mixing single agents at random reaches."""
        return find_hull(
            np.array([single.mean_cost_usd for single in self.singles]),
            np.array([single.accuracy for single in self.singles]),
        )


def set_yardsticks(board: Board, resamples: Resamples, cost_weight: float) -> Yardsticks:
    """Play the best single agent, each agent alone and the oracle."""
    best = play_chosen(board, choose_by(board, board.root))
    return Yardsticks(board, resamples, best, play_oracle(board), tuple(_list_singles(board)), cost_weight)


def _list_singles(board: Board) -> Iterator[SingleAgent]:
    for column, agent in enumerate(board.agents):
        rows = np.flatnonzero(board.is_known[:, column])
        if len(rows):
            yield SingleAgent(
                agent, len(rows), float(board.success[rows, column].mean()), float(board.cost[rows, column].mean())
            )


def score_play(yardsticks: Yardsticks, played: Played, curve: Sweep | None = None) -> dict[str, Floats]:
    """Return samples of the metrics that any policy has; those that are not defined are NaN."""
    resamples = yardsticks.resamples
    columns = np.stack(
        [played.success, played.cost, yardsticks.best.success, yardsticks.oracle.success, _regrets(yardsticks, played)],
        axis=1,
    )
    accuracy, cost, best, oracle, regret = resamples.means(columns).T
    nothing = np.full(len(accuracy), np.nan)
    gap = oracle - best
    with np.errstate(divide="ignore", invalid="ignore"):
        headroom = np.where(gap > 0, (accuracy - best) / gap, np.nan)
    called = resamples.sums(played.calls)
    shares = called / np.maximum(called.sum(axis=1, keepdims=True), 1e-12)
    samples = dict.fromkeys(METRICS, nothing) | {
        "accuracy": accuracy,
        "mean_cost_usd": cost,
        "headroom": headroom,
        "regret": regret,
        **measure_collapse(shares, len(yardsticks.singles)),
    }
    if curve is not None:
        samples |= _score_curve(yardsticks, curve, best)
    if played.expected is not None:
        samples["brier"] = measure_brier(played.expected, played.success, resamples)
        samples["ece"] = measure_ece(played.expected, played.success, resamples)
    return samples


def _regrets(yardsticks: Yardsticks, played: Played) -> Floats:
    """Return for each query how much success minus λ times cost the best agent in hindsight has over the policy.

    Where costs are not known, or λ is 0, it is the success alone.
    """
    board, cost_weight = yardsticks.board, yardsticks.cost_weight
    if cost_weight == 0:
        return yardsticks.oracle.success - played.success
    utility = np.where(board.is_known, board.success - cost_weight * board.cost, -np.inf)
    best = np.where(np.isnan(utility), -np.inf, utility).max(axis=1)
    # A cascade may beat every single agent, by what it saves: that is no regret.
    return np.asarray(np.maximum(best - (played.success - cost_weight * played.cost), 0.0), dtype=np.float64)


def _score_curve(yardsticks: Yardsticks, curve: Sweep, best: Floats) -> dict[str, Floats]:
    resamples = yardsticks.resamples
    accuracy, cost = resamples.means(curve.success), resamples.means(curve.cost)
    if np.isnan(cost[0]).all():
        return {}
    low, high = yardsticks.cost_range
    hulls = find_hulls(cost, accuracy)
    return {"aiq": find_aiq(hulls, low, high), "cost_at_best_single_accuracy": find_cost_at(hulls, best)}


def score_singles(yardsticks: Yardsticks) -> dict[str, Floats]:
    """Return samples for mixtures of single agents, picked with hindsight: the curve that a router must beat."""
    board = yardsticks.board
    if np.isnan(yardsticks.cost_range).any():
        return {}
    columns = [column for column in range(len(board.agents)) if board.is_known[:, column].all()]
    if not columns:
        return {}
    curve = Sweep(np.zeros(len(columns)), board.success[:, columns], board.cost[:, columns])
    best = yardsticks.resamples.means(yardsticks.best.success)
    return _score_curve(yardsticks, curve, best)


def score_pair(yardsticks: Yardsticks, played: Played, preference: Floats) -> dict[str, Floats]:
    """Return samples of PGR, APGR and CPT, or nothing unless exactly two agents have verdicts on every query.

    The strong agent is the one that is better by the handbook's evidence, as a router's user would have named it.

    Args:
        yardsticks: Of the board.
        played: The policy at its cost weight.
        preference: What the policy expects of each agent, shape (q, n).
    """
    board = yardsticks.board
    columns = np.flatnonzero(board.is_known.any(axis=0))
    if len(columns) != TWO or not board.is_known[:, columns].all():
        return {}
    strong, weak = columns if board.root[:, columns[0]].mean() >= board.root[:, columns[1]].mean() else columns[::-1]
    gain = board.success[:, strong] - board.success[:, weak]
    order = preference[:, strong] - preference[:, weak]
    gap = yardsticks.resamples.gather(lambda counts: np.stack(find_gap(counts, gain, order), axis=1)).T
    means = yardsticks.resamples.means(
        np.stack([played.success, board.success[:, weak], board.success[:, strong]], axis=1)
    )
    total = means[:, 2] - means[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        recovered = np.where(total > 0, (means[:, 0] - means[:, 1]) / total, np.nan)
    return {"pgr": recovered, "apgr": gap[0], "cpt50": gap[1], "cpt80": gap[2]}


def score_intervals(yardsticks: Yardsticks, seed: int) -> Floats:
    """Return samples of the share of agents' rates by skill that lie in the interval expected of them; 0.9 is meant."""
    board = yardsticks.board
    known = np.where(board.is_known, board.success, np.nan)
    covered = find_cells(known, board.expected, board.high - board.low, board.skills).is_covered.astype(np.float64)
    draws = yardsticks.resamples.draws
    if not len(covered):
        return np.full(1 + draws, np.nan)
    rng = np.random.default_rng([seed, 11])
    rates = rng.binomial(len(covered), covered.mean(), draws) / len(covered)
    return np.concatenate([[covered.mean()], rates])
