"""Resamples that all statistics share."""

from __future__ import annotations

import numpy as np
import pytest

from skillctl.core.evaluate.resampling import Resamples, estimate


def test_the_first_sample_is_the_data_and_every_resample_draws_as_many_rows() -> None:
    resamples = Resamples(50, seed=1, draws=20)
    values = np.arange(50.0)
    assert resamples.means(values)[0] == values.mean()
    np.testing.assert_allclose(resamples.sums(np.ones((50, 1)))[:, 0], 50)


def test_columns_are_resampled_together_so_that_differences_are_paired() -> None:
    values = np.random.default_rng(0).random(40)
    sums = Resamples(40, seed=2, draws=50).sums(np.stack([values, values + 1], axis=1))
    np.testing.assert_allclose(sums[:, 1] - sums[:, 0], 40)


def test_sums_by_group_add_up_to_the_sum() -> None:
    rng = np.random.default_rng(3)
    values, groups = rng.random(60), rng.integers(0, 4, 60)
    resamples = Resamples(60, seed=4, draws=30)
    by_group = resamples.group_sums(values, groups, 6)
    np.testing.assert_allclose(by_group.sum(axis=1), resamples.sums(values[:, None])[:, 0])
    np.testing.assert_allclose(by_group[0], np.bincount(groups, values, 6))


def test_the_interval_of_a_mean_is_about_two_standard_errors_wide_on_each_side() -> None:
    values = np.random.default_rng(5).normal(0, 1, 900)
    interval = estimate(Resamples(900, seed=6).means(values))
    assert interval is not None
    assert interval.high - interval.low == pytest.approx(2 * 1.96 / 30, rel=0.12)


def test_the_same_seed_gives_the_same_samples() -> None:
    values = np.random.default_rng(7).random(30)
    np.testing.assert_array_equal(Resamples(30, seed=8).means(values), Resamples(30, seed=8).means(values))


def test_an_undefined_estimate_is_none_and_an_undefined_end_is_not_a_number() -> None:
    assert estimate(np.array([np.nan, 1.0])) is None
    assert estimate(np.array([np.inf, 1.0])) is None
    found = estimate(np.array([1.0, np.nan]))
    assert found is not None
    assert np.isnan(found.low)


def test_an_end_of_the_interval_may_be_infinite() -> None:
    found = estimate(np.array([1.0, *np.ones(90), *np.full(10, np.inf)]))
    assert found is not None
    assert (found.low, found.high) == (1.0, np.inf)
