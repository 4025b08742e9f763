"""Whether traffic collapses onto one agent: concentration of the call shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def measure_collapse(shares: Floats, agents: int) -> dict[str, Floats]:
    """Return measures of concentration: a router that always takes one agent has entropy 0 and one effective agent.

    ``top1_share`` is the largest share, ``entropy`` is H / log n with H = −Σ p log p, ``effective_agents`` is exp(H)
    (Hill number of order 1), ``hhi`` is Σ p² (Herfindahl and Hirschman).

    Args:
        shares: Shape (s, n), rows sum to 1.
        agents: How many agents could be chosen.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(shares > 0, np.log(shares), 0.0)
    entropy = np.maximum(-(shares * logs).sum(axis=1), 0.0)
    scale = np.log(agents) if agents > 1 else np.nan
    return {
        "top1_share": shares.max(axis=1),
        "entropy": entropy / scale,
        "effective_agents": np.exp(entropy),
        "hhi": (shares**2).sum(axis=1),
    }
