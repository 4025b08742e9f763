"""Cascades against plans worked out by hand, and against every possible order."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from boards import make_board
from hypothesis import given, settings
from hypothesis import strategies as st

from skillctl.core.route.cascade import JointOutcomes, Plan, plan_cascades, play_cascade

INDEPENDENT = JointOutcomes(np.full((1, 3), np.nan))


def test_the_cheapest_success_comes_first_and_who_is_not_worth_it_is_never_asked() -> None:
    # Successes per dollar: 0.5 / 1, 0.9 / 3, 0.2 / 1; at lambda 0.25 the last is worth 0.2 < 0.25.
    plan = plan_cascades(
        np.array([[0.5, 0.9, 0.2]]), np.array([[1.0, 3.0, 1.0]]), np.ones((1, 3), bool), INDEPENDENT, 0.25
    )
    assert plan.order.tolist() == [[0, 1, -1]]
    assert plan.success[0] == pytest.approx(0.5 + 0.5 * 0.9)
    assert plan.cost[0] == pytest.approx(1.0 + 0.5 * 3.0)


@settings(deadline=None)
@given(
    st.lists(st.floats(0.05, 0.95), min_size=3, max_size=3),
    st.lists(st.floats(0.1, 5), min_size=3, max_size=3),
    st.floats(0, 1),
)
def test_no_order_of_independent_agents_is_better(chance: list[float], cost: list[float], weight: float) -> None:
    plan = plan_cascades(np.array([chance]), np.array([cost]), np.ones((1, 3), bool), INDEPENDENT, weight)
    best = max(_utility(order, chance, cost, weight) for size in range(4) for order in permutations(range(3), size))
    assert plan.success[0] - weight * plan.cost[0] == pytest.approx(best, abs=1e-9)


def _utility(order: tuple[int, ...], chance: list[float], cost: list[float], weight: float) -> float:
    reach, total = 1.0, 0.0
    for agent in order:
        total += reach * (chance[agent] - weight * cost[agent])
        reach *= 1 - chance[agent]
    return total


def test_an_agent_that_fails_where_the_first_one_fails_is_passed_over() -> None:
    # b succeeds exactly where a does, c exactly where a fails; alone b looks as good as c.
    success = np.tile([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], (40, 1))
    joint = JointOutcomes(success)
    plan = plan_cascades(np.full((1, 3), 0.5), np.array([[1.0, 1.1, 1.2]]), np.ones((1, 3), bool), joint, 0.0)
    assert plan.order[0].tolist()[:2] == [0, 2]


def test_conditional_rates_are_shrunk_to_those_before_the_failure() -> None:
    # Expected is the mean, (1 + 1) / (2 + 2); after a failed on one query, where b succeeded: (4 * 0.5 + 1) / 5 = 0.6.
    joint = JointOutcomes(np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert joint.find_shift((0,))[1] == pytest.approx(np.log(0.6 / 0.4))
    assert joint.find_shift(()).tolist() == [0.0, 0.0]


def test_a_failure_that_the_skills_explain_says_nothing_of_the_others() -> None:
    # Half of the queries need what a can do, half what b can do, and the handbook knows which.
    rng = np.random.default_rng(2)
    chance = np.where(np.arange(4000)[:, None] % 2 == np.arange(2), 0.9, 0.1)
    joint = JointOutcomes((rng.random((4000, 2)) < chance).astype(float), chance)
    assert joint.find_shift((0,))[1] == pytest.approx(0.0, abs=0.25)
    assert JointOutcomes((rng.random((4000, 2)) < chance).astype(float)).find_shift((0,))[1] > 1


def test_agents_without_a_known_cost_are_left_out_unless_none_is_known() -> None:
    open_all = np.ones((1, 2), bool)
    joint = JointOutcomes(np.full((1, 2), np.nan))
    some = plan_cascades(np.array([[0.9, 0.5]]), np.array([[np.nan, 1.0]]), open_all, joint, 0.0)
    none = plan_cascades(np.array([[0.5, 0.9]]), np.full((1, 2), np.nan), open_all, joint, 0.0)
    assert some.order.tolist() == [[1, -1]]
    assert none.order.tolist() == [[1, 0]]


def test_a_free_agent_comes_first() -> None:
    plan = plan_cascades(
        np.array([[0.9, 0.1]]),
        np.array([[1.0, 0.0]]),
        np.ones((1, 2), bool),
        JointOutcomes(np.full((1, 2), np.nan)),
        0.0,
    )
    assert plan.order.tolist() == [[1, 0]]


def test_a_replayed_cascade_pays_every_agent_until_one_succeeds() -> None:
    board = make_board([[0, 1, 1], [0, 0, 0], [1, 0, 0]], cost=[1.0, 2.0, 4.0])
    plan = Plan(np.array([[0, 1, 2], [0, 1, -1], [0, 1, 2]]), np.zeros(3), np.zeros(3))
    played = play_cascade(board, plan)
    assert played.success.tolist() == [1.0, 0.0, 1.0]
    assert played.cost.tolist() == [3.0, 3.0, 1.0]
    assert played.calls.sum(axis=0).tolist() == [3.0, 2.0, 0.0]


def test_a_query_for_which_nobody_is_worth_asking_costs_nothing_and_fails() -> None:
    board = make_board([[1, 1]], cost=[1.0, 2.0])
    plan = plan_cascades(
        np.array([[0.5, 0.5]]), board.cost, board.is_known, JointOutcomes(np.full((1, 2), np.nan)), 9.0
    )
    played = play_cascade(board, plan)
    assert (played.success[0], played.cost[0]) == (0.0, 0.0)
