"""How good a choice of agents was, measured on logged outcomes of all agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class Interval(NamedTuple):
    """An estimate with its confidence limits."""

    value: float
    low: float
    high: float


def headroom_captured(
    chosen: NDArray[np.float64], best_single: NDArray[np.float64], oracle: NDArray[np.float64]
) -> float:
    """Return (A - A_best) / (A_oracle - A_best): 0 at the best single agent, 1 at the oracle, negative below.

    Args:
        chosen: Shape (q,), success of the chosen agent on each query.
        best_single: Shape (q,), success of the agent that was best on the training data.
        oracle: Shape (q,), success of the best agent on each query.

    Returns:
        NaN where the oracle gains nothing over the best single agent.
    """
    gap = float(oracle.mean() - best_single.mean())
    return float(chosen.mean() - best_single.mean()) / gap if gap > 0 else float("nan")


def gap_recovered(strong: NDArray[np.float64], weak: NDArray[np.float64], preference: NDArray[np.float64]) -> float:
    """Return APGR, the average performance gap recovered, of a router between two agents.

    The performance gap recovered at a share c of calls to the strong agent is
    (r(c) - r(weak)) / (r(strong) - r(weak)), where the c queries of highest preference go to the strong agent;
    APGR is its mean over all c from 0 to 1 (Ong et al., RouteLLM, arXiv 2406.18665, section 3.2). Random is 0.5.

    Args:
        strong: Shape (q,), success of the strong agent.
        weak: Shape (q,), success of the weak agent.
        preference: Shape (q,), the higher the sooner a query goes to the strong agent; equal preferences share.
    """
    gain = strong - weak
    total = float(gain.sum())
    if total == 0:
        return float("nan")
    order = np.argsort(-preference, kind="stable")
    _, inverse, count = np.unique(-preference[order], return_inverse=True, return_counts=True)
    fair = (np.bincount(inverse, weights=gain[order]) / count)[inverse]
    curve = np.concatenate([[0.0], np.cumsum(fair)]) / total
    return float(np.trapezoid(curve, dx=1.0 / len(gain)))


def bootstrap(
    statistic: Callable[[NDArray[np.int64]], float], size: int, rng: np.random.Generator, *, draws: int = 2000
) -> Interval:
    """Return a statistic with its 95 % percentile bootstrap interval (Efron, 1979).

    Args:
        statistic: Maps row indices of shape (size,) to a value; paired quantities share the rows.
        size: Number of rows.
        rng: Source of the resamples.
        draws: Number of resamples.
    """
    samples = [statistic(rng.integers(0, size, size)) for _ in range(draws)]
    low, high = np.nanquantile(samples, [0.025, 0.975])
    return Interval(statistic(np.arange(size, dtype=np.int64)), float(low), float(high))
