"""Curves of accuracy over cost, and of a gap recovered over calls: their hulls, areas and thresholds.

All functions take s samples at once: the data themselves and their bootstrap resamples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Hulls(NamedTuple):
    """Corners of non-decreasing concave curves, one for each sample, from the null router at (0, 0) on.

    Attributes:
        cost: Rising, filled up with the last corner, shape (s, corners).
        accuracy: Rising, filled up with the last corner, shape (s, corners).
    """

    cost: Floats
    accuracy: Floats


def find_hulls(cost: Floats, accuracy: Floats) -> Hulls:
    """Return the non-decreasing convex hull of points of accuracy over cost (RouterBench, arXiv 2403.12031, section 3).

    It is what mixing the points at random can reach, together with the null router, which costs and solves nothing.
    Points of unknown cost are left out. From each corner the hull goes on to the point of steepest rise.

    Args:
        cost: Shape (s, k).
        accuracy: Shape (s, k).
    """
    known = ~(np.isnan(cost) | np.isnan(accuracy))
    x, y = np.where(known, cost, -1.0), np.where(known, accuracy, -1.0)  # behind every corner: never the next one
    rows = np.arange(len(x))
    here_x, here_y = np.zeros(len(x)), np.where(x == 0, y, 0.0).max(axis=1, initial=0.0)
    corners = [(here_x, here_y)]
    for _ in range(x.shape[1]):
        ahead = (x > here_x[:, None]) & (y > here_y[:, None])
        if not ahead.any():
            break
        rise, run = y - here_y[:, None], np.where(ahead, x - here_x[:, None], 1.0)
        slope = np.where(ahead, rise / run, -np.inf)
        steepest = slope >= slope.max(axis=1, keepdims=True)
        following = np.where(steepest, x, -np.inf).argmax(axis=1)
        moves = ahead.any(axis=1)
        here_x = np.where(moves, x[rows, following], here_x)
        here_y = np.where(moves, y[rows, following], here_y)
        corners.append((here_x, here_y))
    return Hulls(np.stack([c for c, _ in corners], axis=1), np.stack([a for _, a in corners], axis=1))


def find_hull(cost: Floats, accuracy: Floats) -> Hulls:
    """Return the hull of one sample; the arguments and the corners have shape (k,)."""
    hulls = find_hulls(cost[None], accuracy[None])
    return Hulls(hulls.cost[0], hulls.accuracy[0])


def find_aiq(hulls: Hulls, low: float, high: float) -> Floats:
    """Return AIQ of each sample: the area under its hull from cost ``low`` to ``high``, divided by their distance.

    Beyond its last corner the curve stays level (RouterBench, arXiv 2403.12031, equation 4).

    Returns:
        NaN where the range is empty.
    """
    if not high > low:
        return np.full(len(hulls.cost), np.nan)
    x, y = hulls
    start, end = np.clip(x[:, :-1], low, high), np.clip(x[:, 1:], low, high)
    length = x[:, 1:] - x[:, :-1]
    slope = np.divide(y[:, 1:] - y[:, :-1], length, out=np.zeros(length.shape), where=length > 0)
    middle = y[:, :-1] + slope * ((start + end) / 2 - x[:, :-1])
    level = y[:, -1] * (high - np.clip(x[:, -1], low, high))
    return np.asarray((((end - start) * middle).sum(axis=1) + level) / (high - low), dtype=np.float64)


def find_cost_at(hulls: Hulls, accuracy: Floats) -> Floats:
    """Return the least cost at which each sample's hull reaches its accuracy, infinity where it never does."""
    x, y = hulls
    rows = np.arange(len(x))
    reached = y >= accuracy[:, None]
    place = reached.argmax(axis=1)
    before = np.maximum(place - 1, 0)
    rise = y[rows, place] - y[rows, before]
    share = np.divide(accuracy - y[rows, before], rise, out=np.ones(len(x)), where=rise > 0)
    cost = x[rows, before] + share * (x[rows, place] - x[rows, before])
    cost = np.where(reached.any(axis=1), cost, np.inf)
    return np.where(np.isnan(accuracy), np.nan, cost)


class Gap(NamedTuple):
    """How much of the gap between two agents a router recovers, each of shape (s,).

    Attributes:
        apgr: Mean over all shares of calls to the strong agent; random is 0.5.
        cpt50: The least share of calls to the strong agent that recovers half of the gap; infinity for never.
        cpt80: The same for 80 %.
    """

    apgr: Floats
    cpt50: Floats
    cpt80: Floats


def find_gap(counts: Floats, gain: Floats, preference: Floats) -> Gap:
    """Return what a ranking of queries by preference for the strong agent recovers.

    The gap recovered at a share c of calls is (r(c) − r(weak)) / (r(strong) − r(weak)), from Ong et al., RouteLLM,
    arXiv 2406.18665, section 3.2; queries of equal preference share evenly: a line.

    Args:
        counts: How often each query is drawn, shape (s, q).
        gain: Success of the strong agent minus that of the weak one, shape (q,).
        preference: Shape (q,).
    """
    order = np.argsort(-preference, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(preference[order]) != 0]))
    drawn = counts[:, order]
    share = _cumulate(np.add.reduceat(drawn, starts, axis=1))
    recovered = _cumulate(np.add.reduceat(drawn * gain[order], starts, axis=1))
    total = recovered[:, -1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        share, recovered = share / share[:, -1:], np.where(total > 0, recovered / total, np.nan)
    area = ((recovered[:, 1:] + recovered[:, :-1]) / 2 * np.diff(share, axis=1)).sum(axis=1)
    return Gap(area, _find_share(share, recovered, 0.5), _find_share(share, recovered, 0.8))


def _cumulate(parts: Floats) -> Floats:
    return np.concatenate([np.zeros((len(parts), 1)), np.cumsum(parts, axis=1)], axis=1)


def _find_share(share: Floats, recovered: Floats, threshold: float) -> Floats:
    """Return where each curve first reaches a threshold, between its points by a line."""
    reached = recovered >= threshold
    place = np.maximum(reached.argmax(axis=1), 1)
    rows = np.arange(len(share))
    x0, x1 = share[rows, place - 1], share[rows, place]
    y0, y1 = recovered[rows, place - 1], recovered[rows, place]
    with np.errstate(invalid="ignore", divide="ignore"):
        at = x0 + (x1 - x0) * np.where(y1 > y0, (threshold - y0) / (y1 - y0), 1.0)
    at = np.where(reached.any(axis=1), at, np.inf)
    return np.where(np.isnan(recovered[:, -1]), np.nan, at)
