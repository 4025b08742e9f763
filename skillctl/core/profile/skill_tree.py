"""The skills of one mode as a tree: evidence pooled upwards, posteriors from the root down."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.profile.beliefs import Posterior, child_posterior, log_marginal, mean, root_posterior
from skillctl.core.profile.difficulty import prior_means

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

DEFAULT_KAPPA = 6.0
KAPPA_GRID = (2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0)
MIN_CELLS = 10  # with fewer (agent, skill) pairs that have evidence, κ keeps its default
MIN_EVIDENCE = 100.0  # likewise with less evidence in all of them


class SkillTree(NamedTuple):
    """The skills of one mode by number; 0 is the root.

    Attributes:
        parents: For each skill the number of its parent, -1 for the root.
        levels: Pairs of a parent and its children, parents before their children.
    """

    parents: tuple[int, ...]
    levels: tuple[tuple[int, NDArray[np.int64]], ...]


def build_tree(parents: Sequence[int]) -> SkillTree:
    """Return the tree in which skill k has the parent ``parents[k]``; ``parents[0]`` is -1."""
    children: dict[int, list[int]] = {}
    for skill, parent in enumerate(parents):
        children.setdefault(parent, []).append(skill)
    levels, queue = [], [0]
    for parent in queue:
        below = children.get(parent, [])
        if below:
            levels.append((parent, np.array(below, dtype=np.int64)))
            queue.extend(below)
    return SkillTree(tuple(parents), tuple(levels))


def credit_outcomes(tree: SkillTree, success: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the successes and failures of agents in each skill and all below it, each of shape (agents, n).

    Args:
        tree: The tree of n skills.
        success: Shape (q, agents), mean verdicts, NaN where there is none.
        weights: Of the queries on the skills, shape (q, n).
    """
    known = ~np.isnan(success)
    won = np.where(known, success, 0.0)
    return pool_credit(tree, won.T @ weights), pool_credit(tree, (known - won).T @ weights)


def pool_credit(tree: SkillTree, direct: Floats) -> Floats:
    """Return the evidence of whole subtrees: each skill's own credit and that of all skills below it.

    Args:
        tree: The tree of n skills.
        direct: Shape (..., n), the credit of each skill itself.
    """
    pooled = np.array(direct, dtype=np.float64)
    for parent, children in reversed(tree.levels):
        pooled[..., parent] += pooled[..., children].sum(axis=-1)
    return pooled


def tree_posteriors(tree: SkillTree, successes: ArrayLike, failures: ArrayLike, kappa: float) -> Posterior:
    """Return the posteriors of all agents in all skills of a mode, from the root down.

    Args:
        tree: The tree of n skills.
        successes: Shape (agents, n), pooled over subtrees.
        failures: Shape (agents, n), pooled over subtrees.
        kappa: Weight of the prior in runs.
    """
    wins, losses = np.asarray(successes, dtype=np.float64), np.asarray(failures, dtype=np.float64)
    alpha, beta = (np.array(part) for part in root_posterior(wins, losses))
    for parent, children in tree.levels:
        s, f = wins[:, children], losses[:, children]
        mu = prior_means(mean(alpha[:, parent], beta[:, parent]), s, f)
        alpha[:, children], beta[:, children] = child_posterior(mu, kappa, s, f)
    return Posterior(alpha, beta)


def fit_kappa(tree: SkillTree, successes: ArrayLike, failures: ArrayLike) -> float:
    """Return the κ of the grid under which the evidence below the root has the largest marginal likelihood.

    The sum runs over agents and skills of log B(s + κμ, f + κ(1 − μ)) − log B(κμ, κ(1 − μ)); of equally likely
    values the smallest is taken. With too little evidence κ is ``DEFAULT_KAPPA``, and likewise where credit is
    spread over skills: a sum of weights w has the variance of Σw² trials and not of Σw, so rates differ less between
    cells than the likelihood expects, and it would shrink every difference away. Measured with skills named by the
    embedded orchestrator, at 200 queries: it prefers the largest κ it is offered, while the headroom captured on
    held-out queries falls from 10.6 % (κ = 6) to 6.8 % (48) on llmrouter and from 11.1 % to 7.6 % on five agents of
    mmlu_pro.
    """
    wins, losses = np.asarray(successes, dtype=np.float64), np.asarray(failures, dtype=np.float64)
    n = (wins + losses)[:, 1:]
    is_spread = np.any(np.rint(wins) != wins) or np.any(np.rint(losses) != losses)
    if is_spread or np.count_nonzero(n) < MIN_CELLS or n.sum() < MIN_EVIDENCE:
        return DEFAULT_KAPPA
    scores = [_evidence_for(kappa, tree, wins, losses) for kappa in KAPPA_GRID]
    return KAPPA_GRID[int(np.argmax(np.round(scores, 6)))]


def _evidence_for(kappa: float, tree: SkillTree, wins: Floats, losses: Floats) -> float:
    alpha, beta = tree_posteriors(tree, wins, losses, kappa)
    s, f = wins[:, 1:], losses[:, 1:]
    return float(log_marginal(s, f, alpha[:, 1:] - s, beta[:, 1:] - f).sum())
