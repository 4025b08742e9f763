"""Which queries tell most about an agent of which little is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skillctl.core.orchestrate.orchestration import SkillWeights
    from skillctl.core.profile.newcomers import SkillPrior

    Floats = NDArray[np.float64]

# A difference in success at which a skill's verdict between two agents is half as open as at no difference.
OPEN_GAP = 0.15


def plan_queries(weights: SkillWeights, prior: SkillPrior, rival: Floats, count: int) -> NDArray[np.int64]:
    """Return the numbers of the queries to ask, the most telling first.

    An outcome of a query with skill weights w has the Fisher information p(1 − p) about the logit wᵀθ. It lowers the
    covariance of the logits from P to P − P w wᵀ P / (1 / p(1 − p) + wᵀ P w). The gain is what it takes off the
    variance of success, μ²(1 − μ)² P, summed over the skills, each weighted by its share of the queries and by how
    open its verdict is, 1 / (1 + |μ − best rival| / gap). Queries are taken greedily, as in sequential A-optimal
    design (Atkinson, Donev and Tobias, Optimum Experimental Designs, 2007, chapter 10).

    Args:
        weights: Of the skills that each query needs; skill 0, the mode itself, is an equal mixture of all others.
        prior: Of the agent's skills 1 to K.
        rival: The largest expected success among the other agents in each of them.
        count: How many queries to choose; all of them if there are fewer. How hard each of them is plays no part:
            a choice by difficulty would make the sample of a skill harder or easier than the skill.
    """
    dense = _spread(weights, len(prior.mean))
    success = prior.success()
    traffic = dense.mean(axis=0)
    worth = traffic * (success * (1.0 - success)) ** 2 / (1.0 + np.abs(success - rival) / OPEN_GAP)
    expected = 1.0 / (1.0 + np.exp(-(dense @ prior.mean)))
    noise = 1.0 / (expected * (1.0 - expected))
    covariance = prior.covariance.copy()
    left = np.ones(len(dense), dtype=bool)
    chosen = []
    for _ in range(min(count, len(dense))):
        effect = dense @ covariance
        scale = noise + np.einsum("ij,ij->i", effect, dense)
        best = int(np.where(left, (effect**2 @ worth) / scale, -np.inf).argmax())
        covariance -= np.outer(effect[best], effect[best]) / scale[best]
        left[best] = False
        chosen.append(best)
    return np.array(chosen, dtype=np.int64)


def _spread(weights: SkillWeights, skills: int) -> Floats:
    """Return the weights as rows over the skills below the root."""
    n = len(weights.indptr) - 1
    dense = np.zeros((n, skills + 1))
    np.add.at(dense, (np.repeat(np.arange(n), np.diff(weights.indptr)), weights.skills), weights.weights)
    return np.asarray(dense[:, 1:] + dense[:, :1] / max(skills, 1), dtype=np.float64)
