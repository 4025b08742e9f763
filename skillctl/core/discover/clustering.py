"""Groups of points: k-means, Ward's merging of its centres, and the members that stand for a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_RESTARTS = 4
_ITERATIONS = 30


class Clusters(NamedTuple):
    """A partition of n points into k non-empty clusters.

    Attributes:
        labels: Shape (n,), cluster of each point.
        centres: Shape (k, d), mean of each cluster's points.
    """

    labels: Ints
    centres: Floats


def squared_distances(a: Floats, b: Floats) -> Floats:
    """Return squared Euclidean distances, shape (len(a), len(b))."""
    product = a @ b.T
    norms = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1)[None]
    return np.asarray(np.maximum(norms - 2 * product, 0.0), dtype=np.float64)


def find_clusters(points: Floats, clusters: int, rng: np.random.Generator) -> Clusters:
    """Partition points by k-means (Lloyd, 1982) from k-means++ seeds (Arthur and Vassilvitskii, 2007), best of four.

    Args:
        points: Shape (n, d), n at least 1.
        clusters: How many to seek; fewer come back where points coincide.
        rng: Source of the seeds.
    """
    best: tuple[float, Ints] | None = None
    for _ in range(_RESTARTS):
        labels, inertia = _run_lloyd(points, _draw_seeds(points, clusters, rng))
        if best is None or inertia < best[0]:
            best = inertia, labels
    assert best is not None  # noqa: S101 - there is at least one restart
    labels = np.unique(best[1], return_inverse=True)[1].astype(np.int64)
    return Clusters(labels, _find_means(points, labels, int(labels.max()) + 1))


def absorb_small(points: Floats, clusters: Clusters, least: int) -> Clusters:
    """Give the points of clusters with fewer than ``least`` points to the nearest others, the smallest cluster first.

    Args:
        points: Shape (n, d), the points of the clusters.
        clusters: Their partition.
        least: Points of a cluster that stays; one cluster stays in any case.
    """
    labels, sizes = clusters.labels.copy(), np.bincount(clusters.labels)
    while np.count_nonzero(sizes) > 1:
        alive = np.flatnonzero(sizes)
        smallest = int(alive[sizes[alive].argmin()])
        if sizes[smallest] >= least:
            break
        members, others = labels == smallest, alive[alive != smallest]
        labels[members] = others[squared_distances(points[members], clusters.centres[others]).argmin(axis=1)]
        sizes = np.bincount(labels, minlength=len(sizes))
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return Clusters(labels, _find_means(points, labels, int(labels.max()) + 1))


def merge_clusters(clusters: Clusters, count: int) -> Ints:
    """Merge clusters bottom-up by Ward's criterion (1963) until ``count`` groups are left.

    Returns:
        Shape (k,), the group of each cluster, numbered in order of their first cluster.
    """
    centres = clusters.centres.copy()
    sizes = np.bincount(clusters.labels).astype(np.float64)
    group = np.arange(len(centres))
    alive = list(range(len(centres)))
    while len(alive) > count:
        size = sizes[alive]
        cost = squared_distances(centres[alive], centres[alive]) * (size[:, None] * size / (size[:, None] + size))
        np.fill_diagonal(cost, np.inf)
        first, second = sorted(alive[int(k)] for k in np.unravel_index(int(cost.argmin()), cost.shape))
        total = sizes[first] + sizes[second]
        centres[first] = (centres[first] * sizes[first] + centres[second] * sizes[second]) / total
        sizes[first] = total
        group[group == second] = first
        alive.remove(second)
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def choose_examples(points: Floats, members: Ints, count: int) -> Ints:
    """Return members whose mean lies nearest to the mean of all members, by greedy kernel herding (Welling, 2009)."""
    centre = points[members].mean(axis=0)
    total = np.zeros(points.shape[1])
    left = list(members)
    chosen: list[int] = []
    while left and len(chosen) < count:
        means = (total + points[left]) / (len(chosen) + 1)
        nearest = int(((means - centre) ** 2).sum(axis=1).argmin())
        total += points[left[nearest]]
        chosen.append(int(left.pop(nearest)))
    return np.array(chosen, dtype=np.int64)


def _draw_seeds(points: Floats, count: int, rng: np.random.Generator) -> Floats:
    seeds = [int(rng.integers(len(points)))]
    distance = squared_distances(points, points[seeds])[:, 0]
    while len(seeds) < min(count, len(points)) and distance.sum() > 0:
        seeds.append(int(rng.choice(len(points), p=distance / distance.sum())))
        distance = np.minimum(distance, squared_distances(points, points[seeds[-1:]])[:, 0])
    return points[seeds].copy()


def _run_lloyd(points: Floats, centres: Floats) -> tuple[Ints, float]:
    labels = np.full(len(points), -1, dtype=np.int64)
    distance = squared_distances(points, centres)
    for _ in range(_ITERATIONS):
        new = distance.argmin(axis=1)
        if (new == labels).all():
            break
        labels = new
        means = _find_means(points, labels, len(centres))
        centres = np.where(np.isnan(means), centres, means)
        distance = squared_distances(points, centres)
    return labels, float(distance.min(axis=1).sum())


def _find_means(points: Floats, labels: Ints, count: int) -> Floats:
    """Return the mean of each cluster's points, NaN for an empty one."""
    sums = np.zeros((count, points.shape[1]))
    np.add.at(sums, labels, points)
    sizes = np.bincount(labels, minlength=count)
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / sizes[:, None], dtype=np.float64)
