"""Curves against areas and thresholds worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.evaluate.curves import find_aiq, find_cost_at, find_gap, find_hull, find_hulls
from skillctl.core.evaluate.metrics import gap_recovered


def test_the_hull_starts_at_the_null_router_and_drops_what_a_mixture_beats() -> None:
    # (2, 0.5) lies below the line from (1, 0.4) to (3, 0.8), which passes 0.6 there; (4, 0.7) is dearer and worse.
    hull = find_hull(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.4, 0.5, 0.8, 0.7]))
    assert hull.cost.tolist() == [0.0, 1.0, 3.0]
    assert hull.accuracy.tolist() == [0.0, 0.4, 0.8]


def test_a_free_agent_takes_the_place_of_the_null_router() -> None:
    hull = find_hull(np.array([0.0, 2.0]), np.array([0.3, 0.5]))
    assert hull.cost.tolist() == [0.0, 2.0]
    assert hull.accuracy.tolist() == [0.3, 0.5]


def test_aiq_is_the_area_under_the_hull_divided_by_the_range_of_costs() -> None:
    # From 1 to 3 a trapezium of mean height 0.6, from 3 to 5 level at 0.8: (2 * 0.6 + 2 * 0.8) / 4 = 0.7.
    hulls = find_hulls(np.array([[1.0, 3.0]]), np.array([[0.4, 0.8]]))
    assert find_aiq(hulls, 1.0, 5.0).tolist() == pytest.approx([0.7])


def test_aiq_begins_on_the_line_from_the_null_router() -> None:
    # From 0 to 1 the line rises to 0.4: a mean of 0.2.
    assert find_aiq(find_hulls(np.array([[1.0]]), np.array([[0.4]])), 0.0, 1.0).tolist() == pytest.approx([0.2])


def test_aiq_is_undefined_without_a_range_of_costs() -> None:
    assert np.isnan(find_aiq(find_hulls(np.array([[1.0]]), np.array([[0.4]])), 1.0, 1.0)).all()


def test_points_of_unknown_cost_are_no_part_of_a_hull() -> None:
    hull = find_hull(np.array([1.0, np.nan]), np.array([0.4, 0.9]))
    assert hull.accuracy.max() == 0.4


def test_the_cost_at_an_accuracy_is_read_off_the_hull_and_infinite_above_it() -> None:
    hulls = find_hulls(np.array([[1.0, 3.0]] * 4), np.array([[0.4, 0.8]] * 4))
    assert find_cost_at(hulls, np.array([0.6, 0.4, 0.2, 0.9])).tolist() == pytest.approx([2.0, 1.0, 0.5, np.inf])


@given(
    st.lists(st.tuples(st.floats(0.01, 5), st.floats(0, 1, allow_subnormal=False)), min_size=1, max_size=12),
)
def test_no_point_lies_above_its_hull_and_the_hull_is_concave(points: list[tuple[float, float]]) -> None:
    cost, accuracy = np.array(points).T
    hull = find_hull(cost, accuracy)
    assert (accuracy <= np.interp(cost, hull.cost, hull.accuracy) + 1e-9).all()
    slopes = np.diff(hull.accuracy) / np.diff(hull.cost)
    assert (slopes > 0).all()
    area = np.trapezoid(np.interp(np.linspace(1, 4, 9001), hull.cost, hull.accuracy), dx=3 / 9000) / 3
    assert find_aiq(find_hulls(cost[None], accuracy[None]), 1.0, 4.0)[0] == pytest.approx(area, abs=1e-4)
    assert (np.diff(slopes) <= 1e-6 * slopes[:-1] + 1e-9).all()


def test_the_gap_and_its_thresholds_of_a_perfect_router() -> None:
    # Two of four queries gain, and they come first: the curve reaches 1 at half of the calls.
    gap = find_gap(np.ones((1, 4)), np.array([1.0, 1.0, 0.0, 0.0]), np.array([4.0, 3.0, 2.0, 1.0]))
    assert gap.apgr[0] == pytest.approx(0.75)
    assert gap.cpt50[0] == pytest.approx(0.25)
    assert gap.cpt80[0] == pytest.approx(0.4)


def test_equal_preferences_share_so_that_a_router_without_any_is_random() -> None:
    gap = find_gap(np.ones((1, 4)), np.array([0.0, 1.0, 0.0, 1.0]), np.zeros(4))
    assert gap.apgr[0] == pytest.approx(0.5)
    assert gap.cpt80[0] == pytest.approx(0.8)


def test_the_gap_is_undefined_where_the_strong_agent_is_no_better() -> None:
    gap = find_gap(np.ones((1, 2)), np.array([1.0, -1.0]), np.array([1.0, 0.0]))
    assert np.isnan(gap.apgr[0])
    assert np.isnan(gap.cpt50[0])


@given(st.integers(0, 1000))
def test_apgr_agrees_with_an_independent_computation_also_on_resamples(seed: int) -> None:
    rng = np.random.default_rng(seed)
    strong, weak = rng.integers(0, 2, (2, 30)).astype(float)
    strong[:3], weak[:3] = 1.0, 0.0
    preference = rng.integers(0, 5, 30).astype(float)
    rows = np.concatenate([[0, 1, 2], rng.integers(0, 30, 27)])
    if (strong - weak).sum() <= 0 or (strong - weak)[rows].sum() <= 0:
        return
    counts = np.stack([np.ones(30), np.bincount(rows, minlength=30)])
    gap = find_gap(counts, strong - weak, preference)
    assert gap.apgr[0] == pytest.approx(gap_recovered(strong, weak, preference))
    assert gap.apgr[1] == pytest.approx(gap_recovered(strong[rows], weak[rows], preference[rows]))
