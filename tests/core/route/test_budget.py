from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.route.budget import Upgrades, find_cost_weight, find_upgrades

COSTS = np.array([0.01, 0.05, 0.2, 1.0])


def survey(value: np.ndarray, gates: np.ndarray | None = None) -> Upgrades:
    gates = np.zeros(value.shape, np.int8) if gates is None else gates
    score = np.where(gates == 0, value, -np.inf)
    routed: Any = SimpleNamespace(
        table=SimpleNamespace(cost=COSTS),
        choice=SimpleNamespace(score=score, ranked=score.argmax(axis=1)[:, None]),
        batch=SimpleNamespace(gates=gates, cost_weight=np.zeros(len(value))),
    )
    return find_upgrades(routed)


def spend(value: np.ndarray, cost_weight: float) -> float:
    """Return what greedy spends, with ties to the lower cost, which comes first."""
    return float(COSTS[(value - cost_weight * COSTS).argmax(axis=1)].sum())


@given(st.integers(0, 2**32), st.floats(0.06, 7.0))
def test_the_smallest_lambda_within_the_budget_is_found(seed: int, budget: float) -> None:
    value = np.random.default_rng(seed).random((6, 4))
    cost_weight = find_cost_weight([survey(value[:4]), survey(value[4:])], budget)
    assert cost_weight is not None
    assert spend(value, cost_weight) <= budget + 1e-12
    assert cost_weight == 0 or spend(value, cost_weight * (1 - 1e-6)) > budget


@given(st.integers(0, 2**32))
def test_upgrades_say_what_is_spent_at_every_lambda(seed: int) -> None:
    value = np.random.default_rng(seed).random((3, 4))
    upgrades = survey(value)
    corners = sorted({0.0, 1e9, *upgrades.cost_weight.tolist()})
    for cost_weight in (np.mean(pair) for pair in itertools.pairwise(corners)):
        taken = upgrades.extra[upgrades.cost_weight > cost_weight].sum()
        assert upgrades.cheapest + taken == pytest.approx(spend(value, float(cost_weight)))


def test_a_budget_below_the_cheapest_is_refused_and_the_cheapest_itself_is_not() -> None:
    upgrades = survey(np.array([[0.1, 0.2, 0.3, 0.4]]))
    assert find_cost_weight([upgrades], 0.0099) is None
    assert find_cost_weight([upgrades], 0.01) == pytest.approx(0.1 / 0.04)
    assert find_cost_weight([upgrades], 5.0) == 0.0


def test_gated_agents_and_states_without_an_agent_cost_nothing() -> None:
    gates = np.array([[1, 0, 1, 1], [1, 1, 1, 1]], np.int8)
    upgrades = survey(np.full((2, 4), 0.5), gates)
    assert upgrades.cheapest == 0.05
    assert upgrades.extra.tolist() == []


def test_an_empty_batch_costs_nothing() -> None:
    assert find_cost_weight([], 0.0) == 0.0
    assert find_cost_weight([survey(np.empty((0, 4)))], 0.0) == 0.0
