"""Quality over budget: what a batch achieves when it may spend so much, as ``route --budget`` would."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.evaluate.playing import choose_by, play_chosen
from skillctl.core.route.budget import find_cost_weight, find_steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skillctl.core.evaluate.replay import Board
    from skillctl.core.evaluate.resampling import Resamples

    Floats = NDArray[np.float64]

BUDGETS = 9


class BudgetPoint(NamedTuple):
    """One budget for all queries together.

    Attributes:
        budget_usd: What may be spent.
        cost_weight: The λ that expects to spend at most that.
        accuracy: Samples.
        spent_usd: Samples of what the logs say it would have cost, for as many queries.
    """

    budget_usd: float
    cost_weight: float
    accuracy: Floats
    spent_usd: Floats


def trace_budgets(board: Board, resamples: Resamples) -> tuple[BudgetPoint, ...]:
    """Return even budgets from the least that is possible to the most that the policy would spend; none without costs.

    Agents of unknown cost are never called under a budget; queries on which no other agent is known are left out.
    """
    priced = board.is_known & ~np.isnan(board.expected_cost) & ~np.isnan(board.cost)
    if not priced.any(axis=1).all():
        return ()
    steps = find_steps(board.value, board.expected_cost, priced)
    most = steps.cheapest + float(steps.extra.sum())
    points = []
    for budget in np.unique(np.linspace(steps.cheapest, most, BUDGETS)).tolist():
        cost_weight = find_cost_weight([steps], budget)
        if cost_weight is None:
            continue  # cheaper than the cheapest by rounding
        played = play_chosen(board, choose_by(board, board.value, cost_weight, priced))
        accuracy, cost = resamples.means(np.stack([played.success, played.cost], axis=1)).T
        points.append(BudgetPoint(budget, cost_weight, accuracy, cost * len(board)))
    return tuple(points)
