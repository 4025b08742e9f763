"""Metrics of a policy against a slow, separate computation and values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from boards import make_board

from skillctl.core.evaluate.playing import play_chosen, sweep
from skillctl.core.evaluate.resampling import Resamples
from skillctl.core.evaluate.scoring import score_intervals, score_pair, score_play, score_singles, set_yardsticks


def _random_board(seed: int, count: int = 40) -> object:
    rng = np.random.default_rng(seed)
    return make_board(
        rng.integers(0, 2, (count, 3)), cost=rng.uniform(0.5, 4, (count, 3)), expected=rng.random((count, 3)),
        expected_cost=[1.0, 2.0, 3.0],
    )  # fmt: skip


@pytest.mark.parametrize("cost_weight", [0.0, 0.3])
def test_the_metrics_agree_with_plain_loops(cost_weight: float) -> None:
    board = _random_board(1)
    yardsticks = set_yardsticks(board, Resamples(40, draws=10), cost_weight)
    chosen = np.random.default_rng(2).integers(0, 3, 40)
    samples = score_play(yardsticks, play_chosen(board, chosen, board.expected))
    success = [board.success[q][a] for q, a in enumerate(chosen)]
    best_single = [row[0] for row in board.success]  # the board's root means fall from agent to agent
    oracle = [max(row) for row in board.success]
    gap = sum(oracle) - sum(best_single)
    assert samples["accuracy"][0] == pytest.approx(sum(success) / 40)
    assert samples["mean_cost_usd"][0] == pytest.approx(sum(board.cost[q][a] for q, a in enumerate(chosen)) / 40)
    assert samples["headroom"][0] == pytest.approx((sum(success) - sum(best_single)) / gap)
    regrets = []
    for q, a in enumerate(chosen):
        utility = [board.success[q][k] - cost_weight * board.cost[q][k] for k in range(3)]
        regrets.append(max(utility) - utility[a])
    assert samples["regret"][0] == pytest.approx(sum(regrets) / 40)


def test_resamples_are_those_of_the_rows() -> None:
    board = _random_board(3)
    resamples = Resamples(40, seed=4, draws=10)
    samples = score_play(set_yardsticks(board, resamples, 0.0), play_chosen(board, board.chosen))
    own = board.success[np.arange(40), board.chosen]
    counts = resamples.gather(lambda drawn: drawn)
    rows = np.repeat(np.arange(40), counts[5].astype(int))
    best, oracle = board.success[rows, 0], board.success[rows].max(axis=1)
    assert samples["headroom"][5] == pytest.approx((own[rows].mean() - best.mean()) / (oracle.mean() - best.mean()))


def test_the_best_single_agent_captures_no_headroom_and_the_oracle_all_of_it() -> None:
    board = _random_board(5)
    yardsticks = set_yardsticks(board, Resamples(40, draws=10), 0.0)
    assert score_play(yardsticks, yardsticks.best)["headroom"][0] == 0.0
    assert score_play(yardsticks, yardsticks.oracle)["headroom"][0] == 1.0


def test_unknown_costs_leave_cost_metrics_undefined() -> None:
    board = make_board([[1, 0], [0, 1]])
    yardsticks = set_yardsticks(board, Resamples(2, draws=5), 0.0)
    samples = score_play(yardsticks, play_chosen(board, board.chosen), sweep(board, board.value))
    for metric in ("mean_cost_usd", "aiq", "cost_at_best_single_accuracy"):
        assert np.isnan(samples[metric]).all()
    assert score_singles(yardsticks) == {}


def test_the_hull_of_two_single_agents_by_hand() -> None:
    # a: 1/2 at $1, b: 1 at $3. AIQ from 1 to 3 is the mean of 0.5 and 1; a's accuracy costs $1.
    board = make_board([[1, 1], [0, 1]], cost=[1.0, 3.0])
    samples = score_singles(set_yardsticks(board, Resamples(2, draws=5), 0.0))
    assert samples["aiq"][0] == pytest.approx(0.75)
    assert samples["cost_at_best_single_accuracy"][0] == pytest.approx(1.0)


def test_two_agents_have_a_gap_and_three_have_none() -> None:
    # a is the strong one by its root mean; the policy calls it for the first of two queries that it gains on.
    board = make_board([[1, 0], [1, 0], [0, 0], [1, 1]], expected=[[0.9, 0.1], [0.3, 0.4], [0.2, 0.5], [0.1, 0.6]])
    yardsticks = set_yardsticks(board, Resamples(4, draws=5), 0.0)
    samples = score_pair(yardsticks, play_chosen(board, board.chosen), board.expected)
    assert samples["pgr"][0] == pytest.approx(0.5)
    assert samples["apgr"][0] == pytest.approx(0.75)
    three = _random_board(6)
    played = play_chosen(three, three.chosen)
    assert score_pair(set_yardsticks(three, Resamples(40, draws=5), 0.0), played, three.expected) == {}


def test_the_coverage_of_intervals_is_undefined_without_enough_queries() -> None:
    board = make_board([[1, 0]])
    assert np.isnan(score_intervals(set_yardsticks(board, Resamples(1, draws=5), 0.0), seed=0)[0])
