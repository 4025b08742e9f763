"""Calibration against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from skillctl.core.evaluate.calibration import find_cells, find_reliability, measure_brier, measure_ece
from skillctl.core.evaluate.resampling import Resamples


def test_brier_and_calibration_error_of_four_decisions() -> None:
    # Bin 0.2 holds two decisions with mean outcome 0.5, bin 0.9 two with mean 1: ECE = (2 * 0.3 + 2 * 0.1) / 4 = 0.2.
    # Brier = (0.2² + 0.8² + 0.1² + 0.1²) / 4 = 0.175.
    expected, success = np.array([0.2, 0.2, 0.9, 0.9]), np.array([0.0, 1.0, 1.0, 1.0])
    resamples = Resamples(4, draws=5)
    assert measure_ece(expected, success, resamples)[0] == pytest.approx(0.2)
    assert measure_brier(expected, success, resamples)[0] == pytest.approx(0.175)


def test_a_certain_success_is_in_the_last_bin() -> None:
    found = find_reliability(np.array([1.0]), np.array([1.0]))
    assert found.decisions.tolist() == [0.0] * 9 + [1.0]
    assert np.isnan(found.success[0])


def test_rates_drawn_from_what_was_expected_lie_in_their_intervals_nine_times_in_ten() -> None:
    # Each of 400 agents has its own ability, drawn from the posterior that it is expected from.
    rng = np.random.default_rng(1)
    alpha, beta, queries = 12.0, 8.0, 60
    ability = rng.beta(alpha, beta, 400)
    success = (rng.random((queries, 400)) < ability).astype(float)
    low, high = np.quantile(rng.beta(alpha, beta, 100_000), [0.05, 0.95])
    expected = np.full(success.shape, alpha / (alpha + beta))
    cells = find_cells(success, expected, np.full(success.shape, high - low), np.full(queries, "s"))
    assert len(cells.rate) == 400
    assert cells.is_covered.mean() == pytest.approx(0.9, abs=0.05)


def test_agents_with_few_verdicts_in_a_skill_say_nothing() -> None:
    success = np.full((6, 2), np.nan)
    success[:, 0] = 1.0
    cells = find_cells(success, np.full((6, 2), 0.5), np.zeros((6, 2)), np.array(["s"] * 6))
    assert cells.queries.tolist() == [6.0]
