"""Policies on a board of known outcomes."""

from __future__ import annotations

import numpy as np
import pytest
from boards import make_board

from skillctl.core.evaluate.playing import choose_by, list_cost_weights, play_chosen, play_oracle, play_random, sweep

NO = np.nan


def test_the_oracle_takes_the_cheapest_success_and_the_cheapest_where_all_fail() -> None:
    board = make_board([[1, 1, 0], [0, 0, 1], [0, 0, 0]], cost=[2.0, 1.0, 3.0])
    oracle = play_oracle(board)
    assert oracle.success.tolist() == [1.0, 1.0, 0.0]
    assert oracle.cost.tolist() == [1.0, 3.0, 1.0]
    assert oracle.calls.argmax(axis=1).tolist() == [1, 2, 1]


def test_without_costs_the_oracle_is_any_of_those_that_succeed() -> None:
    oracle = play_oracle(make_board([[1, 1, 0]]))
    assert oracle.calls.tolist() == [[0.5, 0.5, 0.0]]
    assert np.isnan(oracle.cost).all()


def test_random_is_the_mean_over_the_agents_with_a_verdict() -> None:
    played = play_random(make_board([[1, 0, NO], [1, 1, 0]], cost=[1.0, 3.0, 5.0]))
    assert played.success.tolist() == pytest.approx([0.5, 2 / 3])
    assert played.cost.tolist() == pytest.approx([2.0, 3.0])


def test_an_unpriced_agent_is_never_the_cheapest_and_never_wins_under_a_cost_weight() -> None:
    board = make_board([[1, 0, 0]], cost=[NO, 1.0, 2.0])
    assert choose_by(board, board.root, np.inf).tolist() == [1]
    assert choose_by(board, np.array([[0.9, 0.5, 0.5]]), 0.01).tolist() == [1]
    assert choose_by(board, np.array([[0.9, 0.5, 0.5]]), 0.0).tolist() == [0]


def test_ties_go_to_the_lower_cost_and_then_to_the_lower_id() -> None:
    board = make_board([[1, 1, 1]], cost=[2.0, 1.0, 1.0])
    assert choose_by(board, np.full((1, 3), 0.5)).tolist() == [1]


def test_agents_without_a_verdict_are_not_chosen() -> None:
    board = make_board([[NO, 1], [0, NO]], cost=[1.0, 1.0])
    assert choose_by(board, np.array([[0.9, 0.1], [0.1, 0.9]])).tolist() == [1, 0]


def test_a_sweep_runs_from_the_cheapest_to_the_likeliest_and_its_cost_only_grows() -> None:
    rng = np.random.default_rng(0)
    value = rng.random((50, 3))
    board = make_board(rng.integers(0, 2, (50, 3)), cost=[1.0, 2.0, 4.0], expected=value)
    curve = sweep(board, value)
    likeliest = play_chosen(board, value.argmax(axis=1))
    assert curve.cost[:, 0].tolist() == [1.0] * 50
    assert curve.cost[:, -1].tolist() == likeliest.cost.tolist()
    assert (np.diff(curve.cost.mean(axis=0)) >= 0).all()


def test_without_costs_there_is_one_cost_weight() -> None:
    board = make_board([[1, 0]])
    assert list_cost_weights(board, board.expected).tolist() == [0.0]
