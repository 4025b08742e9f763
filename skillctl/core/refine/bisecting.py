"""Two parts of a skill's queries that agents may do differently well on: candidates and their evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.discover.clustering import find_clusters, squared_distances
from skillctl.core.outcomes import remove_means
from skillctl.core.profile.difficulty import prior_means
from skillctl.core.profile.heterogeneity import find_evidence
from skillctl.core.profile.skill_tree import DEFAULT_KAPPA

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
        strata: A number for each query, or ``None`` for one stratum: what agents do differently well on two strata is
            known already, and only what goes beyond it is evidence.
    """

    points: Floats
    wins: Floats
    losses: Floats
    tasks: Sequence[str | None]
    strata: NDArray[np.int64] | None = None

    def take(self, rows: NDArray[np.int64]) -> Lesson:
        """Return some of the queries."""
        strata = None if self.strata is None else self.strata[rows]
        return Lesson(self.points[rows], self.wins[rows], self.losses[rows], [self.tasks[row] for row in rows], strata)

    def list_strata(self) -> list[NDArray[np.bool_]]:
        """Return which queries are in each stratum, shape (q,)."""
        if self.strata is None:
            return [np.ones(len(self.points), dtype=np.bool_)]
        return [self.strata == number for number in np.unique(self.strata)]

    def weigh_sides(self, sides: Sides) -> float:
        """Return the log Bayes factor that sides 0 and 1 are two abilities, a mean over how much they may differ.

        In several strata: two abilities beyond what the strata make of the sides, as these are mixed of them.
        """
        wins, losses = self._sum_sides(self.wins, sides), self._sum_sides(self.losses, sides)
        expected = None
        if self.strata is not None:
            runs = self.wins + self.losses
            expected = self._sum_sides(runs * self._expect(self.strata), sides) / np.maximum(wins + losses, _TINY)
        found = [find_evidence(wins, losses, kappa, expected) for kappa in KAPPAS]
        return float(np.logaddexp.reduce(found) - np.log(len(KAPPAS)))

    @staticmethod
    def _sum_sides(table: Floats, sides: Sides) -> Floats:
        """Return the sum over the queries of both sides, shape (agents, 2)."""
        return np.stack([table[sides == side].sum(axis=0) for side in (0, 1)], axis=1)

    def _expect(self, strata: NDArray[np.int64]) -> Floats:
        """Return the posterior mean of each agent in the stratum of each query, shape (q, agents)."""
        numbers, place = np.unique(strata, return_inverse=True)
        wins, losses = np.zeros((2, self.wins.shape[1], len(numbers)))
        for total, table in ((wins, self.wins), (losses, self.losses)):
            np.add.at(total.T, place, table)
        s, f = wins.sum(axis=1), losses.sum(axis=1)
        prior = DEFAULT_KAPPA * prior_means((s + 1.0) / (s + f + 2.0), wins, losses)
        belief: Floats = ((wins + prior) / (wins + losses + DEFAULT_KAPPA)).T[place]
        return belief


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
    slope = np.linalg.solve(gram, apart.T @ _find_surprise(lesson))
    fitted = apart @ slope
    slope *= np.sqrt(apart.var(axis=0).sum() / max(fitted.var(axis=0).sum(), _TINY))
    clusters = find_clusters(_append(lesson.points, centre, slope), 2, rng)
    return _Rule(centre, slope, clusters.centres) if len(clusters.centres) > 1 else None


def _find_surprise(lesson: Lesson) -> Floats:
    """Return the residual success within each stratum, shape (q, agents)."""
    residuals = np.zeros_like(lesson.wins)
    for stratum in lesson.list_strata():
        residuals[stratum] = find_residuals(lesson.wins[stratum], lesson.losses[stratum])
    return residuals


def _append(points: Floats, centre: Floats, slope: Floats) -> Floats:
    return np.concatenate([points, (points - centre) @ slope], axis=1)


def find_residuals(wins: Floats, losses: Floats) -> Floats:
    """Return success less the agent's and the query's mean, 0 where an agent was not tried, shape (q, agents)."""
    known = (wins + losses) > 0
    share = np.divide(wins, wins + losses, out=np.zeros_like(wins), where=known)
    return remove_means(share, known, axes=(0, 1))
