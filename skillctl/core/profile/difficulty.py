"""The prior of sibling skills: an agent's mean one level up, moved by how hard each skill is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

EFFECT_PRECISION = 1.0  # of the normal prior on a skill's difficulty: one logit of spread
_STEPS = 25
_TOLERANCE = 1e-9
_EDGE = 1e-9  # chances stay this far from 0 and 1


def prior_means(parent_means: ArrayLike, successes: ArrayLike, failures: ArrayLike) -> Floats:
    """Return each agent's prior mean in each of the sibling skills under one parent.

    An agent's mean at the parent, m_A, is a mean over the skills that it happened to be tried on, so an agent that
    saw only hard ones looks bad. On the logit scale a skill has an effect d_σ (its difficulty) and an agent a
    correction c_A for its mix of skills: μ_Aσ = expit(logit m_A + c_A + d_σ). They solve

        Σ_A n_Aσ μ_Aσ = Σ_A s_Aσ − ρ d_σ          for each skill σ (ρ: precision of a normal prior on d),
        Σ_σ n_Aσ μ_Aσ = Σ_σ n_Aσ m_A              for each agent A with evidence,

    with an evidence-weighted mean of d of 0, which is the stationary point of a concave function and found by
    Newton's method. It is the two-way logistic model with agent and item effects (Rasch 1960) in which the agents'
    margins are their posterior means instead of raw rates. A skill without any evidence reads as its parent.

    Args:
        parent_means: Shape (agents,), the posterior means one level up; shape (agents, skills) where they differ by
            skill, as something else is known of the skills.
        successes: Shape (agents, skills).
        failures: Shape (agents, skills).
    """
    means = np.clip(np.asarray(parent_means, dtype=np.float64), _EDGE, 1.0 - _EDGE)
    wins = np.asarray(successes, dtype=np.float64)
    n = wins + np.asarray(failures, dtype=np.float64)
    tried = n.sum(axis=0) > 0
    table = means[:, None] if means.ndim == 1 else means
    mu = np.array(np.broadcast_to(table, n.shape))
    if tried.any():
        own = table if table.shape[1] == 1 else table[:, tried]
        mu[:, tried] = _fit_two_way(own, wins[:, tried], n[:, tried])
    return mu


class _Margins(NamedTuple):
    """What the fitted successes must add up to, and the evidence that they are fitted to."""

    logits: Floats
    n: Floats
    per_agent: Floats
    per_skill: Floats

    def chances(self, correction: Floats, effect: Floats) -> Floats:
        return _expit(self.logits + correction[:, None] + effect[None, :])

    def objective(self, correction: Floats, effect: Floats) -> float:
        linear = correction @ self.per_agent + effect @ self.per_skill - EFFECT_PRECISION * (effect @ effect) / 2.0
        total = self.logits + correction[:, None] + effect[None, :]
        return float(linear - (self.n * np.logaddexp(0.0, total)).sum())


def _fit_two_way(means: Floats, wins: Floats, n: Floats) -> Floats:
    per_agent = n.sum(axis=1) * means[:, 0] if means.shape[1] == 1 else (n * means).sum(axis=1)
    per_skill, tried = wins.sum(axis=0), n.sum(axis=0)
    # Posterior means are not raw rates, so the two margins have different totals; level them over the skills.
    per_skill = per_skill + tried * (per_agent.sum() - per_skill.sum()) / tried.sum()
    margins = _Margins(np.log(means) - np.log1p(-means), n, per_agent, per_skill)
    correction, effect = _climb(margins)
    shift = float(effect @ tried / tried.sum())
    correction = np.where(n.sum(axis=1) > 0, correction + shift, 0.0)
    return margins.chances(correction, effect - shift)


def _climb(margins: _Margins) -> tuple[Floats, Floats]:
    """Return the maximum of the concave objective in (c, d), by Newton steps that are halved until they climb."""
    correction, effect = np.zeros(margins.n.shape[0]), np.zeros(margins.n.shape[1])
    value = margins.objective(correction, effect)
    for _ in range(_STEPS):
        step_c, step_d = _newton_step(margins, correction, effect)
        size = 1.0
        while (reached := margins.objective(correction + size * step_c, effect + size * step_d)) < value:
            size /= 2.0
            if size < _EDGE:
                return correction, effect
        correction, effect = correction + size * step_c, effect + size * step_d
        if reached - value <= _TOLERANCE * (1.0 + abs(reached)):
            break
        value = reached
    return correction, effect


def _newton_step(margins: _Margins, correction: Floats, effect: Floats) -> tuple[Floats, Floats]:
    """Return the Newton step in (c, d), solved through the Schur complement of the smaller side."""
    n = margins.n
    chance = margins.chances(correction, effect)
    weight = n * chance * (1.0 - chance)
    grad_c = margins.per_agent - (n * chance).sum(axis=1)
    grad_d = margins.per_skill - (n * chance).sum(axis=0) - EFFECT_PRECISION * effect
    diag_c = weight.sum(axis=1)
    diag_c = np.where(diag_c > 0, diag_c, 1.0)  # agents without evidence stay where they are
    diag_d = weight.sum(axis=0) + EFFECT_PRECISION
    if n.shape[1] <= n.shape[0]:
        scaled = weight / diag_c[:, None]
        step_d = np.linalg.solve(np.diag(diag_d) - weight.T @ scaled, grad_d - scaled.T @ grad_c)
        return (grad_c - weight @ step_d) / diag_c, step_d
    scaled = weight / diag_d[None, :]
    step_c = np.linalg.solve(np.diag(diag_c) - scaled @ weight.T, grad_c - scaled @ grad_d)
    return step_c, (grad_d - weight.T @ step_c) / diag_d


def _expit(value: Floats) -> Floats:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * value)))
