"""What policies would have achieved on a board: success, cost and calls of each query."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.route.budget import find_steps
from skillctl.core.route.routing import TIE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skillctl.core.evaluate.replay import Board

    Floats = NDArray[np.float64]

SWEEP = 48  # cost weights of a curve, besides 0 and infinity
_LARGEST = float(np.finfo(np.float64).max)


class Played(NamedTuple):
    """A policy's outcome on q queries.

    Attributes:
        success: Shape (q,).
        cost: NaN is unknown, shape (q,).
        calls: How often each agent is called, shape (q, n).
        expected: What the policy expected of its success, or ``None``.
    """

    success: Floats
    cost: Floats
    calls: Floats
    expected: Floats | None = None


class Sweep(NamedTuple):
    """One policy at falling thrift.

    Attributes:
        cost_weight: Falling from infinity to 0, shape (k,).
        success: Shape (q, k).
        cost: Shape (q, k).
    """

    cost_weight: Floats
    success: Floats
    cost: Floats


def play_chosen(board: Board, chosen: NDArray[np.int64], expected: Floats | None = None) -> Played:
    """Return what comes of calling one agent for each query.

    Args:
        board: The outcomes.
        chosen: Columns, all with a verdict.
        expected: Expected success of every agent, shape (q, n).
    """
    rows = np.arange(len(board))
    calls = np.zeros(board.success.shape)
    calls[rows, chosen] = 1.0
    own = None if expected is None else expected[rows, chosen]
    return Played(board.success[rows, chosen], board.cost[rows, chosen], calls, own)


def play_random(board: Board) -> Played:
    """Return what comes of calling any known agent with equal chance, on average."""
    return _play_mixture(board, board.is_known)


def play_oracle(board: Board) -> Played:
    """Return what comes of always calling the cheapest agent that succeeds, or the cheapest where none does.

    Where costs are not known it is any of those that succeed best, with equal chance.
    """
    known = board.is_known
    score = np.where(known, board.success, -np.inf)
    best = score >= score.max(axis=1, keepdims=True)
    cost = np.where(best & ~np.isnan(board.cost), board.cost, np.inf)
    cheapest = best & (cost <= cost.min(axis=1, keepdims=True))
    return _play_mixture(board, cheapest)


def _play_mixture(board: Board, among: NDArray[np.bool_]) -> Played:
    calls = among / among.sum(axis=1, keepdims=True)
    return Played(_weigh(calls, board.success, among), _weigh(calls, board.cost, among), calls)


def _weigh(calls: Floats, values: Floats, among: NDArray[np.bool_]) -> Floats:
    weighed: Floats = np.where(among, calls * values, 0.0).sum(axis=1)
    return weighed


def choose_by(
    board: Board, value: Floats, cost_weight: float = 0.0, among: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """Return for each query the agent of largest value minus λ times expected cost; ties go to the cheaper one.

    Under a λ above 0 agents of unknown cost are left out where a known one is left. An infinite λ takes the cheapest.

    Args:
        board: The queries.
        value: Of each agent, shape (q, n).
        cost_weight: λ.
        among: Who may be chosen, at least one for each query; without it those with a verdict.
    """
    cost, known = board.expected_cost, board.is_known if among is None else among
    if cost_weight > 0:
        priced = known & ~np.isnan(cost)
        known = np.where(priced.any(axis=1, keepdims=True), priced, known)
    spend = np.nan_to_num(cost)
    score = -spend if np.isinf(cost_weight) else value - cost_weight * spend
    score = np.where(known, score, -np.inf)
    tied = score >= score.max(axis=1, keepdims=True) - TIE
    # The largest finite number stands for an unknown cost, so that ties among such agents stay among the tied.
    second = value if np.isinf(cost_weight) else -np.nan_to_num(cost, nan=_LARGEST)
    chosen: NDArray[np.int64] = np.where(tied, np.maximum(second, -_LARGEST), -np.inf).argmax(axis=1)
    return chosen


def list_cost_weights(board: Board, value: Floats) -> Floats:
    """Return falling cost weights at which the choices by a value differ: infinity, quantiles of the steps, and 0.

    The steps are the cost weights at which some query takes a dearer agent. Without known costs it is 0 alone.
    """
    priced = board.is_known & ~np.isnan(board.expected_cost)
    steps = find_steps(np.where(priced, value, -np.inf), board.expected_cost, priced).cost_weight
    if not len(steps):
        return np.zeros(1)
    # Between two steps, so that none is met exactly, where rounding would decide.
    ranks = (np.arange(SWEEP) + 0.5) / SWEEP
    middle = np.unique(np.quantile(steps, ranks))[::-1]
    return np.concatenate([[np.inf], middle, [0.0]])


def sweep(board: Board, value: Floats) -> Sweep:
    """Return what choosing by a value achieves at each cost weight."""
    rows, cost_weights = np.arange(len(board)), list_cost_weights(board, value)
    chosen = np.stack([choose_by(board, value, weight) for weight in cost_weights.tolist()], axis=1)
    return Sweep(cost_weights, board.success[rows[:, None], chosen], board.cost[rows[:, None], chosen])
