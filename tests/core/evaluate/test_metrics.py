"""Measures of routing quality against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.evaluate.metrics import bootstrap, gap_recovered, headroom_captured


def test_headroom_is_the_share_of_the_gap_between_best_single_and_oracle() -> None:
    best = np.array([1.0, 0.0, 0.0, 0.0])
    oracle = np.array([1.0, 1.0, 1.0, 0.0])
    chosen = np.array([1.0, 1.0, 0.0, 0.0])
    assert headroom_captured(chosen, best, oracle) == pytest.approx(0.5)
    assert headroom_captured(best, best, oracle) == 0.0
    assert headroom_captured(oracle, best, oracle) == 1.0


def test_headroom_is_undefined_where_the_oracle_gains_nothing() -> None:
    same = np.array([1.0, 0.0])
    assert np.isnan(headroom_captured(same, same, same))


def test_the_gap_recovered_by_a_perfect_router_follows_from_the_areas() -> None:
    # Two of four queries gain: the curve climbs to 1 over the first half, then stays.
    # Area = 1/2 * 1/2 + 1/2 = 0.75.
    strong, weak = np.array([1.0, 1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0, 0.0])
    assert gap_recovered(strong, weak, strong - weak) == pytest.approx(0.75)
    assert gap_recovered(strong, weak, weak - strong) == pytest.approx(0.25)


@given(st.lists(st.booleans(), min_size=2, max_size=40).filter(any))
def test_a_router_without_preference_recovers_one_half(gains: list[bool]) -> None:
    strong = np.array(gains, dtype=float)
    assert gap_recovered(strong, np.zeros(len(gains)), np.zeros(len(gains))) == pytest.approx(0.5)


def test_the_bootstrap_interval_of_a_mean_is_about_two_standard_errors_wide() -> None:
    values = np.random.default_rng(1).normal(3.0, 1.0, 400)
    result = bootstrap(lambda rows: float(values[rows].mean()), 400, np.random.default_rng(2))
    assert result.value == pytest.approx(values.mean())
    assert result.high - result.low == pytest.approx(2 * 1.96 / 20, rel=0.15)
    assert result == bootstrap(lambda rows: float(values[rows].mean()), 400, np.random.default_rng(2))
