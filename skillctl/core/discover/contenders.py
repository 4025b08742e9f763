"""Which agents matter to routing: those near the best one, on the whole or in some skill."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.outcomes import agent_means

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_NEAR = 0.2
# A specialist counts although it fails elsewhere: an agent this near to the best one in some skill matters.
_NEAR_IN_A_SKILL = 0.1
_LEAST_EVIDENCE = 5.0
_PRIOR_WEIGHT = 2.0


def find_contenders(success: Floats) -> NDArray[np.bool_]:
    """Return which agents come near the best one's success rate, shape (agents,).

    Args:
        success: Shape (n, agents), mean verdicts, NaN where there is none.
    """
    rates = agent_means(success)
    return np.asarray(rates >= rates.max() - _NEAR, dtype=np.bool_)


def find_rivals(success: Floats, wins: Floats, losses: Floats) -> NDArray[np.bool_]:
    """Return which agents are contenders or specialists, shape (agents,).

    Args:
        success: Shape (n, agents), mean verdicts, NaN where there is none.
        wins: Successes in each skill, shape (agents, skills).
        losses: Failures in each skill, shape (agents, skills).
    """
    return find_contenders(success) | find_specialists(wins, losses, agent_means(success))


def find_specialists(wins: Floats, losses: Floats, rates: Floats) -> NDArray[np.bool_]:
    """Return which agents come near the best one in some skill that has evidence, shape (agents,).

    Args:
        wins: Successes in each skill, shape (agents, skills).
        losses: Failures in each skill, shape (agents, skills).
        rates: Of success of the agents in the mode, shape (agents,), to which little evidence is shrunk.
    """
    evidence = wins + losses
    means = (wins + _PRIOR_WEIGHT * rates[:, None]) / (evidence + _PRIOR_WEIGHT)
    means = np.where(evidence >= _LEAST_EVIDENCE, means, -np.inf)
    near = (means >= means.max(axis=0) - _NEAR_IN_A_SKILL) & np.isfinite(means)
    return np.asarray(near.any(axis=1), dtype=np.bool_)
