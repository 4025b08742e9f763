"""The verified cascade: who answers first, whom to ask next after a failure, and when to stop.

Where an outcome can be verified, agents are tried one after the other until one succeeds. With p_j the chance that
agent j succeeds given that the earlier ones failed and c_j its cost, taking the largest p_j / c_j next minimises the
expected cost of a success, and stopping where p_j < λ c_j for all that are left maximises P(success) − λ E[cost]
(Weitzman, Optimal Search for the Best Alternative, 1979, for boxes of value 0 or 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skillctl.core.evaluate.playing import Played
    from skillctl.core.evaluate.replay import Board

    Floats = NDArray[np.float64]

# A conditional rate counts as much as so many runs of the rate one failure earlier.
SHRINKAGE = 4.0
_EDGE = 1e-6
_LEAST_COST = 1e-12  # of a free agent, so that the likelier of two comes first


class JointOutcomes:
    """How failures of some agents bear on the others, learned from queries on which several agents were tried.

    What counts is what failures say beyond the skills of a query: where a query of sums was named as one, a failure
    of the best adder must not speak for the poet. So outcomes are compared with what was expected of them.

    Args:
        success: Shape (n, agents), NaN without a verdict.
        expected: Expected success on those queries, shape (n, agents); without it, each agent's mean.
    """

    def __init__(self, success: Floats, expected: Floats | None = None) -> None:
        self._success = np.nan_to_num(success)
        self._known = ~np.isnan(success)
        self._failed = self._known & (success < 0.5)  # noqa: PLR2004 - repeated trials mostly failed
        wins, runs = self._success.sum(axis=0), self._known.sum(axis=0)
        self._expected = np.tile((wins + 1) / (runs + 2), (len(success), 1)) if expected is None else expected
        self._shifts: dict[tuple[int, ...], Floats] = {(): np.zeros(success.shape[1])}

    def find_shift(self, failed: tuple[int, ...]) -> Floats:
        """Return by how much the log-odds of each agent's success move when these agents failed, in their order.

        On the n training queries where all of them failed, an agent had s successes where e was expected on average.
        The rate is shrunk to what e becomes by the shift m of one failure less: (κ expit(logit e + m) + s) / (κ + n).
        """
        if failed not in self._shifts:
            earlier = self.find_shift(failed[:-1])
            rows = self._failed[:, failed].all(axis=1)
            known = self._known[rows]
            runs = known.sum(axis=0)
            total = np.where(known, self._expected[rows], 0.0).sum(axis=0)
            level = _logit(np.divide(total, runs, out=np.full(len(runs), 0.5), where=runs > 0))
            rate = (SHRINKAGE * _expit(level + earlier) + self._success[rows].sum(axis=0)) / (SHRINKAGE + runs)
            self._shifts[failed] = np.where(runs > 0, _logit(rate) - level, earlier)
        return self._shifts[failed]


class Plan(NamedTuple):
    """Ordered plans of q queries.

    Attributes:
        order: Columns of agents in the order of trial, filled up with -1, shape (q, steps).
        success: Expected chance that one of them succeeds, shape (q,).
        cost: Expected cost, NaN is unknown, shape (q,).
    """

    order: NDArray[np.int64]
    success: Floats
    cost: Floats


@dataclass(slots=True)
class _State:
    rows: NDArray[np.int64]
    failed: tuple[int, ...]


def plan_cascades(
    expected: Floats, cost: Floats, is_open: NDArray[np.bool_], joint: JointOutcomes, cost_weight: float | Floats
) -> Plan:
    """Return the best order of agents for each query; queries with the same failures so far are planned together.

    Args:
        expected: Chance of success of each agent before any failure, shape (q, n).
        cost: Expected cost, NaN is unknown, shape (q, n). Agents of unknown cost are left out where another's is
            known; where none is known, the likeliest agent comes first.
        is_open: Who may be asked, shape (q, n).
        joint: What failures say.
        cost_weight: λ, the same or one for each query.
    """
    weight = np.broadcast_to(np.asarray(cost_weight, np.float64), len(expected))[:, None]
    priced = is_open & ~np.isnan(cost)
    may_ask = np.where(priced.any(axis=1, keepdims=True), priced, is_open)
    count, agents = expected.shape
    order = np.full((count, agents), -1, np.int64)
    reach, success, spent = np.ones(count), np.zeros(count), np.zeros(count)
    log_odds = _logit(expected)
    states = [_State(np.arange(count), ())]
    for step in range(agents):
        following: list[_State] = []
        for state in states:
            rows = state.rows
            chance = _expit(log_odds[rows] + joint.find_shift(state.failed))
            best = _choose(chance, cost[rows], may_ask[rows], weight[rows])
            rows, chance, best = rows[best >= 0], chance[best >= 0], best[best >= 0]
            places = np.arange(len(rows))
            order[rows, step] = best
            may_ask[rows, best] = False
            spent[rows] += reach[rows] * cost[rows, best]
            success[rows] += reach[rows] * chance[places, best]
            reach[rows] *= 1 - chance[places, best]
            following += [_State(rows[best == agent], (*state.failed, int(agent))) for agent in np.unique(best)]
        states = following
        if not states:
            break
    return Plan(order, success, spent)


def _choose(chance: Floats, cost: Floats, may_ask: NDArray[np.bool_], cost_weight: Floats) -> NDArray[np.int64]:
    """Return for each row the agent of most success per dollar that is worth its cost, or -1 to stop."""
    known_cost = np.nan_to_num(cost, nan=1.0)  # unknown only where all are: then the order is by chance
    ratio = chance / np.maximum(known_cost, _LEAST_COST)
    worth = may_ask & (chance > cost_weight * np.nan_to_num(cost))
    ratio = np.where(worth, ratio, -1.0)
    best: NDArray[np.int64] = ratio.argmax(axis=1)
    return np.where(worth.any(axis=1), best, -1)


def play_cascade(board: Board, plan: Plan) -> Played:
    """Return what comes of following plans on logged outcomes: every agent is paid until one succeeds.

    With repeated trials, success is a chance, and agents are taken as independent given the query.
    """
    from skillctl.core.evaluate.playing import Played

    count = len(board)
    rows = np.arange(count)
    reach, cost, calls = np.ones(count), np.zeros(count), np.zeros(board.success.shape)
    for agent in plan.order.T:
        asked = rows[(agent >= 0) & (reach > 0)]
        column = agent[asked]
        cost[asked] += reach[asked] * board.cost[asked, column]
        calls[asked, column] += reach[asked]
        reach[asked] *= 1 - board.success[asked, column]
    asked_any = plan.order[:, 0] >= 0
    return Played(np.where(asked_any, 1 - reach, 0.0), cost, calls, plan.success)


def _logit(chance: Floats) -> Floats:
    inside = np.clip(chance, _EDGE, 1 - _EDGE)
    return np.asarray(np.log(inside) - np.log1p(-inside), dtype=np.float64)


def _expit(value: Floats) -> Floats:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * value)), dtype=np.float64)
