"""Curves of accuracy over cost, and of a gap recovered over calls: their hulls, areas and thresholds.

All functions take s samples at once: the data themselves and their bootstrap resamples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Hull(NamedTuple):
    """Corners of a non-decreasing concave curve, from the null router at (0, 0) on.

    Attributes:
        cost: Rising.
        accuracy: Rising.
    """

    cost: Floats
    accuracy: Floats


def find_hull(cost: Floats, accuracy: Floats) -> Hull:
    """Return the non-decreasing convex hull of points of accuracy over cost (RouterBench, arXiv 2403.12031, section 3).

    It is what mixing the points at random can reach, together with the null router, which costs and solves nothing.
    Points of unknown cost are left out.

    Args:
        cost: Shape (k,).
        accuracy: Shape (k,).
    """
    known = ~(np.isnan(cost) | np.isnan(accuracy))
    points = sorted(zip([0.0, *cost[known].tolist()], [0.0, *accuracy[known].tolist()], strict=True))
    corners: list[tuple[float, float]] = []
    for x, y in points:
        if corners and y <= corners[-1][1]:
            continue  # dearer or equal, and no better
        while corners and (x == corners[-1][0] or _is_below(corners, x, y)):
            corners.pop()
        corners.append((x, y))
    table = np.array(corners)
    return Hull(table[:, 0], table[:, 1])


def _is_below(corners: list[tuple[float, float]], x: float, y: float) -> bool:
    """Tell whether the last corner lies on or below the line from the one before it to (x, y)."""
    if len(corners) < 2:  # noqa: PLR2004 - a line takes two
        return False
    (x0, y0), (x1, y1) = corners[-2:]
    return (y1 - y0) * (x - x0) <= (y - y0) * (x1 - x0)


def find_aiq(hull: Hull, low: float, high: float) -> float:
    """Return AIQ: the area under a hull from cost ``low`` to ``high``, divided by their distance.

    Beyond its last corner the curve stays level (RouterBench, arXiv 2403.12031, equation 4).

    Returns:
        NaN where the range is empty.
    """
    if not high > low:
        return float("nan")
    inner = hull.cost[(hull.cost > low) & (hull.cost < high)]
    x = np.concatenate([[low], inner, [high]])
    return float(np.trapezoid(np.interp(x, hull.cost, hull.accuracy), x) / (high - low))


def find_cost_at(hull: Hull, accuracy: float) -> float:
    """Return the least cost at which a hull reaches an accuracy, infinity where it never does."""
    if np.isnan(accuracy):
        return float("nan")
    if accuracy > hull.accuracy[-1]:
        return float("inf")
    return float(np.interp(accuracy, hull.accuracy, hull.cost))


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
