"""Quality over budget."""

from __future__ import annotations

import numpy as np
import pytest
from boards import make_board

from skillctl.core.evaluate.budget_curve import trace_budgets
from skillctl.core.evaluate.resampling import Resamples


def test_budgets_run_from_the_least_to_the_most_and_are_kept_where_costs_are_as_expected() -> None:
    rng = np.random.default_rng(1)
    value = rng.random((60, 3))
    board = make_board(rng.random((60, 3)) < value, cost=[1.0, 2.0, 5.0], expected=value)
    points = trace_budgets(board, Resamples(60, draws=5))
    assert points[0].budget_usd == 60.0
    assert points[-1].spent_usd[0] == pytest.approx(np.array([1.0, 2.0, 5.0])[value.argmax(axis=1)].sum())
    assert all(point.spent_usd[0] <= point.budget_usd * (1 + 1e-9) for point in points)
    assert points[-1].accuracy[0] > points[0].accuracy[0]


def test_without_costs_there_is_nothing_to_spend() -> None:
    assert trace_budgets(make_board([[1, 0]]), Resamples(1, draws=5)) == ()
