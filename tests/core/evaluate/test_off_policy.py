"""Estimates from partial logs."""

from __future__ import annotations

import numpy as np
import pytest
from boards import make_board

from skillctl.core.evaluate.off_policy import estimate_off_policy, find_propensities
from skillctl.core.evaluate.resampling import Resamples

NO = np.nan


def test_a_complete_log_gives_the_replayed_accuracy_three_times() -> None:
    board = make_board([[1, 0], [0, 1], [1, 1]], expected=[[0.9, 0.1], [0.8, 0.3], [0.2, 0.7]])
    found = estimate_off_policy(board, board.wanted, Resamples(3, draws=5))
    assert found.matched == 1.0
    assert (found.ips[0], found.snips[0], found.dr[0]) == pytest.approx((2 / 3, 2 / 3, 2 / 3))


def test_four_queries_by_hand() -> None:
    # Agent a is wanted everywhere and was logged on two of four queries, with one success: e = 1/2.
    # IPS = (1 / 0.5) / 4 = 0.5; SNIPS = 2 / 4 = 0.5; DR = mean(0.6 + 2 (1 - 0.6), 0.6 + 2 (0 - 0.6), 0.6, 0.6) = 0.5.
    board = make_board([[1, NO], [0, NO], [NO, 1], [NO, 0]], expected=[0.6, 0.4])
    found = estimate_off_policy(board, np.zeros(4, np.int64), Resamples(4, draws=5))
    assert (found.ips[0], found.snips[0], found.dr[0]) == pytest.approx((0.5, 0.5, 0.5))
    assert (found.matched, found.complete, found.queries) == (0.5, 0, 4)


def test_propensities_are_shares_within_a_task() -> None:
    board = make_board([[1, NO], [1, NO], [NO, 1], [1, NO]], tasks=("x", "x", "y", "y"))
    assert find_propensities(board)[:, 0].tolist() == [1.0, 1.0, 0.5, 0.5]


def test_a_choice_that_was_never_logged_in_its_task_is_counted_and_rests_on_expectations() -> None:
    board = make_board([[1, NO], [NO, 1]], tasks=("x", "y"), expected=[0.7, 0.2])
    found = estimate_off_policy(board, np.array([0, 0]), Resamples(2, draws=5))
    assert found.unsupported == 0.5
    assert found.dr[0] == pytest.approx((1.0 + 0.7) / 2)


def test_the_doubly_robust_estimate_is_right_on_average_although_expectations_are_wrong() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random((20_000, 2)) < [0.8, 0.3]).astype(float)
    logged = np.where((rng.random(20_000) < 0.25)[:, None] == np.array([True, False]), truth, NO)
    board = make_board(logged, expected=[0.4, 0.1])
    found = estimate_off_policy(board, np.zeros(20_000, np.int64), Resamples(20_000, draws=2))
    for samples in (found.ips, found.snips, found.dr):
        assert samples[0] == pytest.approx(0.8, abs=0.02)
