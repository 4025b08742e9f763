"""What evidence says of an agent's chance of success: Beta posteriors.

All functions are pure and work on arrays. Evidence is fractional: ``successes`` and ``failures`` are sums of weights.
Source of the model: Beta-binomial shrinkage as in Gelman et al., Bayesian Data Analysis, 3rd ed., chapter 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

INTERVAL = 0.9


class Interval(NamedTuple):
    """Lower and upper end of a credible interval."""

    low: Floats
    high: Floats


class Posterior(NamedTuple):
    """Parameters of Beta distributions."""

    alpha: Floats
    beta: Floats


def mean(alpha: ArrayLike, beta: ArrayLike) -> Floats:
    """Return the mean of Beta(α, β): α / (α + β)."""
    a = np.asarray(alpha, dtype=np.float64)
    return np.asarray(a / (a + np.asarray(beta, dtype=np.float64)))


def interval(alpha: ArrayLike, beta: ArrayLike, level: float = INTERVAL) -> Interval:
    """Return the equal-tailed credible interval of Beta(α, β).

    The ends are I⁻¹(α, β; (1 ∓ level) / 2) with the regularised incomplete beta function I.
    """
    from scipy.special import betaincinv

    a, b = np.asarray(alpha, dtype=np.float64), np.asarray(beta, dtype=np.float64)
    tail = (1.0 - level) / 2.0
    return Interval(np.asarray(betaincinv(a, b, tail)), np.asarray(betaincinv(a, b, 1.0 - tail)))


def log_marginal(successes: ArrayLike, failures: ArrayLike, alpha: ArrayLike, beta: ArrayLike) -> Floats:
    """Return log B(s + α, f + β) − log B(α, β): the Beta-binomial log marginal likelihood of a sequence.

    The binomial coefficient is left out: it is no function of the prior, and evidence may be fractional.
    """
    from scipy.special import betaln

    a, b = np.asarray(alpha, dtype=np.float64), np.asarray(beta, dtype=np.float64)
    return np.asarray(betaln(np.asarray(successes) + a, np.asarray(failures) + b) - betaln(a, b), dtype=np.float64)


def root_posterior(successes: ArrayLike, failures: ArrayLike) -> Posterior:
    """Return the posterior of an agent in a mode under a uniform prior: Beta(1 + S, 1 + F)."""
    return Posterior(
        1.0 + np.asarray(successes, dtype=np.float64),
        1.0 + np.asarray(failures, dtype=np.float64),
    )


def child_posterior(prior_mean: ArrayLike, kappa: float, successes: ArrayLike, failures: ArrayLike) -> Posterior:
    """Return Beta(κμ + s, κ(1 − μ) + f)."""
    mu = np.asarray(prior_mean, dtype=np.float64)
    return Posterior(kappa * mu + np.asarray(successes), kappa * (1.0 - mu) + np.asarray(failures))
