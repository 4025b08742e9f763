"""Whether two parts of a skill are two abilities: Bayes factors of two chances for each agent against one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.profile.beliefs import log_marginal
from skillctl.core.profile.difficulty import prior_means

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Nodes of the trapezoidal rule in u of x = centre + width · sinh(u): dense in the middle, and far out in the tails.
_NODES = np.linspace(-7.0, 7.0, 181)
_EDGE = 1e-6


def find_evidence(wins: Floats, losses: Floats, kappa: float, expected: Floats | None = None) -> float:
    """Return the log Bayes factor of two abilities against one, summed over the agents that were tried on both parts.

    Σ_A [log m(left) + log m(right) − log m(both)] with Beta-binomial marginal likelihoods whose prior has the weight κ
    and the agent's mean in both parts together, moved in each part by how hard the part is for all agents. In
    m(both) the one chance θ of an agent is moved likewise: expit(logit θ + δ_A,part), so that a part that is harder
    for everybody is no reason to split. Without a difference in difficulty this is the closed form with one Beta.
    What is known of the parts otherwise, such as finer skills of which they are made, is in ``expected``: the prior
    has its chances, and δ their difference.

    Args:
        wins: Successes, shape (agents, 2).
        losses: Failures, shape (agents, 2).
        kappa: Weight of the prior in runs.
        expected: The chance of each agent in each part that is known beforehand, shape (agents, 2).
    """
    compared = ((wins + losses) > 0).all(axis=1)
    if not compared.any():
        return 0.0
    s, f = wins[compared], losses[compared]
    means = (s.sum(axis=1) + 1.0) / ((s + f).sum(axis=1) + 2.0)
    known = means if expected is None else expected[compared]
    mu = np.clip(prior_means(known, s, f), _EDGE, 1.0 - _EDGE)
    apart = log_marginal(s, f, kappa * mu, kappa * (1.0 - mu)).sum()
    return float(apart - _log_common(s, f, kappa * means, kappa * (1.0 - means), _logit(mu) - _logit(means)[:, None]))


def find_likeness(wins: Floats, losses: Floats, kappa: float) -> float:
    """Return the log Bayes factor of one chance for each agent in both parts against two.

    Σ_A [log m(both) − log m(left) − log m(right)] under the prior of `find_evidence`, here without a difference in
    difficulty: who merges a hard skill with an easy one loses what expected success and cost weigh up.
    """
    return float(find_likenesses(wins[None], losses[None], kappa)[0])


def find_likenesses(wins: Floats, losses: Floats, kappa: float) -> Floats:
    """Return `find_likeness` of many pairs of parts at once, shape (pairs,), of counts of shape (pairs, agents, 2)."""
    s, f = wins.sum(axis=2), losses.sum(axis=2)
    means = (s + 1.0) / (s + f + 2.0)
    alpha, beta = kappa * means, kappa * (1.0 - means)
    apart = log_marginal(wins, losses, alpha[..., None], beta[..., None]).sum(axis=(1, 2))
    return np.asarray(log_marginal(s, f, alpha, beta).sum(axis=1) - apart, dtype=np.float64)


def _log_common(wins: Floats, losses: Floats, alpha: Floats, beta: Floats, shift: Floats) -> float:
    """Return Σ_A log ∫ Π_part p^s (1 − p)^f Beta(θ; α, β) dθ with p = expit(logit θ + δ), by quadrature in logit θ."""
    from scipy.special import betaln, logsumexp

    a, b = alpha + wins.sum(axis=1), beta + losses.sum(axis=1)
    centre, width = np.log(a) - np.log(b), np.sqrt((a + b) / (a * b))
    x = centre[:, None] + width[:, None] * np.sinh(_NODES)
    log_density = alpha[:, None] * x - (alpha + beta)[:, None] * np.logaddexp(0.0, x) - betaln(alpha, beta)[:, None]
    moved = x[:, None, :] + shift[:, :, None]
    likelihood = wins[:, :, None] * moved - (wins + losses)[:, :, None] * np.logaddexp(0.0, moved)
    step = np.log(width[:, None] * np.cosh(_NODES) * (_NODES[1] - _NODES[0]))
    return float(logsumexp(log_density + likelihood.sum(axis=1) + step, axis=1).sum())


def _logit(chance: Floats) -> Floats:
    return np.asarray(np.log(chance) - np.log1p(-chance))
