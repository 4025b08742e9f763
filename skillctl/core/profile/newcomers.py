"""An agent of which little is known: what the other agents' abilities say about its own.

Abilities go together: who is good at algebra is good at geometry. The logits of an agent's success in the skills are
taken as drawn from one normal distribution over agents; its mean and covariance come from the agents that are known,
and a few outcomes of the newcomer then move all its skills at once. This is multidimensional item response theory with
one dimension a skill (Reckase, 2009), fitted by Laplace's method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

# An agent with fewer runs than this share of what agents of the mode typically have is a newcomer.
NEWCOMER_SHARE = 0.25
# With fewer known agents, how their abilities go together is not to be seen.
MIN_KNOWN = 3
# Variance of the logits that the known agents do not show: of each skill by itself, and with few agents of all skills
# together, as the newcomer may be stronger or weaker than any of them.
OWN_VARIANCE = 0.03
COMMON_VARIANCE = 0.25
FEW = 8
# So many agents a skill show a covariance fully; with fewer it is drawn to its diagonal.
AGENTS_A_SKILL = 4.0
_STEPS = 50
_DONE = 1e-8
_EDGE = 0.01


class SkillPrior(NamedTuple):
    """A normal distribution over the logits of success, shape (skills,) and (skills, skills)."""

    mean: Floats
    covariance: Floats

    def success(self) -> Floats:
        """Return the success at the mean."""
        return _logistic(self.mean)


def learn_prior(known: ArrayLike, weights: ArrayLike | None = None) -> SkillPrior:
    """Return the distribution that known agents come from.

    Args:
        known: Their expected success, shape (agents, skills).
        weights: How much each of them counts, such as more for agents that resemble the newcomer.
    """
    success = np.clip(np.asarray(known, dtype=np.float64), _EDGE, 1.0 - _EDGE)
    share = np.ones(len(success)) if weights is None else np.asarray(weights, dtype=np.float64)
    share = share / share.sum()
    effective = 1.0 / float((share**2).sum())
    logits = np.log(success / (1.0 - success))
    mean = share @ logits
    off = logits - mean
    covariance = (off * share[:, None]).T @ off * (effective / max(effective - 1.0, 1.0))
    shrink = min(1.0, success.shape[1] / (effective * AGENTS_A_SKILL))
    covariance = (1.0 - shrink) * covariance + shrink * np.diag(np.diag(covariance))
    covariance += OWN_VARIANCE * np.eye(len(mean)) + (COMMON_VARIANCE if effective < FEW else 0.0)
    return SkillPrior(mean, covariance)


def update_prior(prior: SkillPrior, successes: ArrayLike, failures: ArrayLike) -> SkillPrior:
    """Return the distribution after evidence: its mode, and the inverse curvature there (Laplace's method).

    The log posterior Σ s log p + f log(1 − p) − ½ (θ − m)ᵀ S⁻¹ (θ − m), p = logistic(θ), is concave; Newton's method
    finds its mode.
    """
    s, f = np.asarray(successes, dtype=np.float64), np.asarray(failures, dtype=np.float64)
    precision = np.linalg.inv(prior.covariance)
    theta = prior.mean.copy()
    curvature = precision
    for _ in range(_STEPS):
        p = _logistic(theta)
        curvature = precision + np.diag((s + f) * p * (1.0 - p))
        step = np.linalg.solve(curvature, s - (s + f) * p - precision @ (theta - prior.mean))
        # A step of more than two logits overshoots where p is flat.
        theta = theta + step * min(1.0, 2.0 / max(float(np.abs(step).max(initial=0.0)), _DONE))
        if np.abs(step).max(initial=0.0) < _DONE:
            break
    return SkillPrior(theta, np.linalg.inv(curvature))


def find_newcomers(runs: ArrayLike) -> NDArray[np.bool_]:
    """Return which agents of a mode have few runs beside the others, none where too few are known.

    Args:
        runs: Of each agent.
    """
    count = np.asarray(runs, dtype=np.float64)
    typical = float(np.median(count)) if len(count) else 0.0
    young = count < NEWCOMER_SHARE * typical
    return young if int((~young).sum()) >= MIN_KNOWN else np.zeros(len(count), dtype=bool)


def prior_mean_for(target: ArrayLike, kappa: float, successes: ArrayLike, failures: ArrayLike) -> Floats:
    """Return the prior mean μ under which Beta(κμ + s, κ(1 − μ) + f) has a given mean, kept within its bounds."""
    s, f = np.asarray(successes, dtype=np.float64), np.asarray(failures, dtype=np.float64)
    return np.clip((np.asarray(target) * (kappa + s + f) - s) / kappa, _EDGE, 1.0 - _EDGE)


def _logistic(x: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-x)), dtype=np.float64)
