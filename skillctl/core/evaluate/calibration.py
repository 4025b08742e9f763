"""Whether expected chances come true: Brier score, calibration error and the coverage of intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skillctl.core.evaluate.resampling import Resamples

    Floats = NDArray[np.float64]

BINS = 10
MIN_QUERIES = 5  # of a skill, for an agent's rate there to say anything
_Z90 = 1.6448536269514722  # 95 % quantile of the standard normal distribution


class Reliability(NamedTuple):
    """Decisions by their expected success, in equal bins from 0 to 1, each of shape (BINS,).

    Attributes:
        decisions: Their number.
        expected: Mean expected success, NaN without decisions.
        success: Mean success, NaN without decisions.
    """

    decisions: Floats
    expected: Floats
    success: Floats


def measure_brier(expected: Floats, success: Floats, resamples: Resamples) -> Floats:
    """Return samples of the Brier score, the mean of (p − y)² (Brier, 1950)."""
    return resamples.means((expected - success) ** 2)


def measure_ece(expected: Floats, success: Floats, resamples: Resamples) -> Floats:
    """Return samples of the expected calibration error over ten equal bins: Σ n_b / n · |mean p − mean y|.

    Naeini, Cooper and Hauskrecht (2015).
    """
    gaps = resamples.group_sums(expected - success, find_bins(expected), BINS)
    return np.asarray(np.abs(gaps).sum(axis=1) / resamples.size, dtype=np.float64)


def find_bins(expected: Floats) -> NDArray[np.int64]:
    """Return the bin of each chance, 0 to 9."""
    return np.minimum((expected * BINS).astype(np.int64), BINS - 1)


def find_reliability(expected: Floats, success: Floats) -> Reliability:
    """Return the points of the reliability diagram."""
    bins = find_bins(expected)
    count = np.bincount(bins, minlength=BINS).astype(np.float64)
    with np.errstate(invalid="ignore"):
        return Reliability(
            count,
            np.bincount(bins, expected, BINS) / count,
            np.bincount(bins, success, BINS) / count,
        )


class Cells(NamedTuple):
    """An agent's outcomes on the queries of one skill, one row for each such pair.

    Attributes:
        queries: Number of verdicts.
        rate: Logged success rate.
        expected: Mean expected success.
        low: Lower end of the interval in which 90 % of the logged rates should lie.
        high: Upper end.
    """

    queries: Floats
    rate: Floats
    expected: Floats
    low: Floats
    high: Floats

    @property
    def is_covered(self) -> NDArray[np.bool_]:
        """Which logged rates lie in their interval."""
        return (self.low <= self.rate) & (self.rate <= self.high)


def find_cells(success: Floats, expected: Floats, spread: Floats, skills: NDArray[np.str_]) -> Cells:
    """Return for each agent and skill with enough queries the interval of the rate that was to be expected.

    The mean of m outcomes y_i ~ Bernoulli(θ) scatters around the mean expected success p with the variance of θ,
    which the posterior has, plus p(1 − p) / m, which chance has; the interval is the normal one, widened by half an
    outcome, as rates are discrete.

    Args:
        success: NaN without a verdict, shape (q, n).
        expected: Shape (q, n).
        spread: Width of the 90 % interval of the expected success, shape (q, n).
        skills: Heaviest skill of each query, shape (q,).
    """
    known = ~np.isnan(success)
    _, group = np.unique(skills, return_inverse=True)
    groups = int(group.max(initial=-1)) + 1

    def total(values: Floats) -> Floats:
        sums = np.zeros((groups, success.shape[1]))
        np.add.at(sums, group, np.where(known, values, 0.0))
        return sums

    queries = total(np.ones(success.shape))
    kept = queries >= MIN_QUERIES
    m = queries[kept]
    rate, mean, width = (total(values)[kept] / m for values in (success, expected, spread))
    deviation = np.sqrt((width / (2 * _Z90)) ** 2 + mean * (1 - mean) / m)
    reach = _Z90 * deviation + 0.5 / m
    return Cells(m, rate, mean, mean - reach, mean + reach)
