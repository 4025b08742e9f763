from __future__ import annotations

import numpy as np
import pytest

from skillctl.core.diff.change_effect import RoutedQueries, measure_effect, measure_real_difference
from skillctl.model.query import Query

AGENTS = ("a", "b", "gone")
NAN = float("nan")
QUERIES = [Query(name, line, f"text {name}") for line, name in enumerate("wxyz", 1)]


def _routed(chosen: list[int], success: list[float], cost: list[float]) -> RoutedQueries:
    return RoutedQueries(np.array(chosen), np.array([success] * len(chosen)), np.array([cost] * len(chosen)))


BEFORE = _routed([0, 0, 2, -1], [0.5, 0.4, 0.3], [1.0, 2.0, 4.0])
AFTER = _routed([1, 0, 0, 0], [0.6, 0.8, NAN], [1.0, 3.0, NAN])


def test_both_choices_are_judged_by_the_newer_handbook_where_it_knows_the_agent() -> None:
    effect = measure_effect(QUERIES, AGENTS, BEFORE, AFTER)
    assert effect.moved == 3
    assert effect.before.success == pytest.approx((0.6 + 0.6 + 0.3) / 3)
    assert effect.after.success == pytest.approx((0.8 + 0.6 * 3) / 4)
    assert effect.before.cost_usd == pytest.approx(2.0)
    assert (effect.before.unrouted, effect.after.unrouted) == (1, 0)


def test_flows_say_from_whom_to_whom_with_examples() -> None:
    effect = measure_effect(QUERIES, AGENTS, BEFORE, AFTER)
    assert [(flow.source, flow.target, flow.queries) for flow in effect.flows] == [
        (None, "a", 1),
        ("a", "b", 1),
        ("gone", "a", 1),
    ]
    assert effect.flows[1].examples == (("w", "text w"),)


def test_shares_and_the_effective_number_show_collapse() -> None:
    effect = measure_effect(QUERIES, AGENTS, BEFORE, AFTER)
    assert effect.after.shares == {"a": 0.75, "b": 0.25}
    assert effect.after.effective_agents == pytest.approx(np.exp(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25))))


def test_an_unknown_cost_leaves_the_mean_unknown() -> None:
    after = AFTER._replace(cost=np.full((4, 3), NAN))
    before = BEFORE._replace(cost=np.full((4, 3), NAN))
    assert measure_effect(QUERIES, AGENTS, before, after).after.cost_usd is None


def test_the_real_difference_pairs_only_queries_whose_both_outcomes_were_logged() -> None:
    success = np.array([[0.0, 1.0, NAN], [1.0, 0.0, NAN], [1.0, NAN, NAN], [1.0, 1.0, 0.0]])
    chosen = np.array([0, 0, 1, 2]), np.array([1, 0, 0, 0])
    real = measure_real_difference(success, np.full((4, 3), NAN), chosen, np.random.default_rng(0))
    assert real is not None
    assert real.queries == 3
    assert (real.before, real.after) == (pytest.approx(1 / 3), 1.0)
    assert real.difference.value == pytest.approx(2 / 3)
    assert real.cost_difference is None
    nothing = measure_real_difference(np.full((4, 3), NAN), success, chosen, np.random.default_rng(0))
    assert nothing is None
