"""Two parts of a skill's queries that agents may do differently well on: candidates and their evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.clustering import find_clusters, squared_distances
from skillctl.core.heterogeneity import find_evidence
from skillctl.core.skill_tree import DEFAULT_KAPPA

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Sides = NDArray[np.int64]

# A part with fewer queries says too little of an agent, and gives too few examples.
MIN_PART = 10
# Of two abilities: they may differ as skills do, or less. (On llmrouter, halves of all queries differ like the latter.)
KAPPAS = (DEFAULT_KAPPA, 24.0)
# Of the ridge regression from points to residual success; a point has a spread of 2 over its 45 coordinates.
_RIDGE = 5.0
_TINY = 1e-12


class Lesson(NamedTuple):
    """Queries in the space, and what agents made of them.

    Attributes:
        points: Shape (q, d).
        wins: Successes, shape (q, agents).
        losses: Failures; 0 in both where an agent was not tried.
        tasks: Label of each query, or ``None``.
    """

    points: Floats
    wins: Floats
    losses: Floats
    tasks: Sequence[str | None]

    def take(self, rows: NDArray[np.int64]) -> Lesson:
        """Return some of the queries."""
        return Lesson(self.points[rows], self.wins[rows], self.losses[rows], [self.tasks[row] for row in rows])

    def weigh_sides(self, sides: Sides) -> float:
        """Return the log Bayes factor that sides 0 and 1 are two abilities, a mean over how much they may differ."""
        left, right = sides == 0, sides == 1
        wins, losses = (
            np.stack([table[left].sum(axis=0), table[right].sum(axis=0)], axis=1) for table in (self.wins, self.losses)
        )
        return float(
            np.logaddexp.reduce([find_evidence(wins, losses, kappa) for kappa in KAPPAS]) - np.log(len(KAPPAS))
        )


class Bisection(NamedTuple):
    """A partition into sides 0 and 1, shape (q,), with its evidence and what it follows."""

    sides: Sides
    evidence: float
    basis: str


def find_bisections(lesson: Lesson, rng: np.random.Generator) -> list[Bisection]:
    """Return the candidate bisections of some queries: by text, by outcome and by label.

    The second has seen the outcomes: its rule is fitted on each half of the queries, and its evidence is that of the
    other half, which the rule has not seen (cross-fitting). So noise is not split.
    """
    found = [*_split_by_text(lesson, rng), *_split_by_outcome(lesson, rng), *_split_by_task(lesson)]
    kept: dict[bytes, Bisection] = {}
    for bisection in found:
        sides = bisection.sides if bisection.sides[0] == 0 else 1 - bisection.sides
        if min(np.bincount(sides, minlength=2)) >= MIN_PART:
            kept.setdefault(sides.tobytes(), bisection)
    return list(kept.values())


def _split_by_text(lesson: Lesson, rng: np.random.Generator) -> Iterator[Bisection]:
    sides = find_clusters(lesson.points, 2, rng).labels
    if sides.max() == 1:
        yield Bisection(sides, lesson.weigh_sides(sides), "text")


def _split_by_task(lesson: Lesson) -> Iterator[Bisection]:
    labels = sorted({task for task in lesson.tasks if task is not None})
    for label in labels if len(labels) > 1 or None in lesson.tasks else ():
        sides = np.array([task != label for task in lesson.tasks], np.int64)
        if min(np.bincount(sides, minlength=2)) >= MIN_PART:
            yield Bisection(sides, lesson.weigh_sides(sides), f"task {label}")


def _split_by_outcome(lesson: Lesson, rng: np.random.Generator) -> Iterator[Bisection]:
    halves = split_in_halves(len(lesson.points), rng)
    evidence = 0.0
    for own, other in (halves, halves[::-1]):
        rule = _learn_rule(lesson.take(own), rng)
        if rule is not None:
            test = lesson.take(other)
            evidence += test.weigh_sides(rule.decide(test.points))
    rule = _learn_rule(lesson, rng)
    if rule is not None:
        yield Bisection(rule.decide(lesson.points), evidence, "outcome")


def split_in_halves(count: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return two random halves of the numbers below ``count``, each in order."""
    order = rng.permutation(count)
    return np.sort(order[: count // 2]), np.sort(order[count // 2 :])


class _Rule(NamedTuple):
    """Puts points on the side of the nearer centre, after the success that they let expect is appended to them."""

    centre: Floats
    slope: Floats
    centres: Floats

    def decide(self, points: Floats) -> Sides:
        sides: Sides = squared_distances(_append(points, self.centre, self.slope), self.centres).argmin(axis=1)
        return sides


def _learn_rule(lesson: Lesson, rng: np.random.Generator) -> _Rule | None:
    """Fit a ridge regression from points to residual success, and two clusters of points with its fitted values."""
    centre = lesson.points.mean(axis=0)
    apart = lesson.points - centre
    gram = apart.T @ apart + _RIDGE * np.eye(apart.shape[1])
    slope = np.linalg.solve(gram, apart.T @ find_residuals(lesson.wins, lesson.losses))
    fitted = apart @ slope
    slope *= np.sqrt(apart.var(axis=0).sum() / max(fitted.var(axis=0).sum(), _TINY))
    clusters = find_clusters(_append(lesson.points, centre, slope), 2, rng)
    return _Rule(centre, slope, clusters.centres) if len(clusters.centres) > 1 else None


def _append(points: Floats, centre: Floats, slope: Floats) -> Floats:
    return np.concatenate([points, (points - centre) @ slope], axis=1)


def find_residuals(wins: Floats, losses: Floats) -> Floats:
    """Return success less the agent's and the query's mean, 0 where an agent was not tried, shape (q, agents)."""
    known = (wins + losses) > 0
    share = np.divide(wins, wins + losses, out=np.zeros_like(wins), where=known)
    for axis in (0, 1):
        count = np.maximum(known.sum(axis=axis, keepdims=True), 1)
        share = np.where(known, share - share.sum(axis=axis, keepdims=True) / count, 0.0)
    return share
