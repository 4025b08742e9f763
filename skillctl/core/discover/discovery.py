"""Skills found in outcomes: groups of queries on several granularities.

Queries are grouped by what their texts say together with how agents are likely to fare on them (a ridge regression
from text to outcome), so that groups differ in what matters to routing. Groups that the outcomes do not hold apart are
one among the supported skills; whether all fine ones stay is for `skillctl.core.discover.granularity` to tell.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.discover.clustering import absorb_small, choose_examples, find_clusters, merge_clusters
from skillctl.core.discover.contenders import find_contenders
from skillctl.core.discover.supported_splits import LEAST_EVIDENCE, Group, find_evidence, merge_alike
from skillctl.core.outcomes import remove_means

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MIN_QUERIES = 20  # in fewer nothing is found
QUERIES_A_SKILL = 6  # the finest skills hold so many on average
LEAST_QUERIES = 2  # and one query alone is none
SKILLS_PER_ROOT = 2.3  # and there are at most so many for each unit of √n
MOST_FINE_SKILLS = 200
COARSER = (8, 4, 2, 1)  # each granularity has so many times fewer skills than the finest
EXAMPLES = 10
RIDGE_PENALTY = 10.0


class Draft(NamedTuple):
    """A skill to be.

    Attributes:
        parent: Place of the coarser skill in the list of drafts, or -1 directly below the mode.
        members: The queries that made it, in order.
        examples: The most central of them, best first.
        group: Place of the candidate that it stands for, or -1 for a cluster.
    """

    parent: int
    members: Ints
    examples: Ints
    group: int = -1


class Drafts(NamedTuple):
    """Skills on two granularities, each list with parents before their children.

    Attributes:
        supported: Those that the outcomes hold apart one by one, which may be none.
        fine: All; none where there are too few queries, or the outcomes tell no candidates apart.
        evidence: Log Bayes factor that holds the two least alike of the supported ones apart.
    """

    supported: list[Draft]
    fine: list[Draft]
    evidence: float


NOTHING = Drafts([], [], 0.0)


def draft_skills(
    points: Floats,
    success: Floats,
    rng: np.random.Generator,
    *,
    groups: Sequence[Ints] = (),
    parents: Sequence[int] = (),
    least_evidence: float = LEAST_EVIDENCE,
) -> Drafts:
    """Return candidate skills.

    Args:
        points: Shape (n, d), the queries' texts in the space of all of them.
        success: Shape (n, agents), mean verdicts, NaN where there is none.
        rng: Source of the clusters' seeds.
        groups: Candidate skills: members of each, such as the queries of one label. They become the coarsest
            skills, and clusters are sought within them; all of them stay if outcomes tell any two of them apart.
        parents: Place of the group above each group, which stands before it, or -1; none is above any when empty.
        least_evidence: Log Bayes factor from which the outcomes hold two skills apart.
    """
    if len(points) < MIN_QUERIES:
        return NOTHING
    joined = np.concatenate([points, predict_outcomes(points, success)], axis=1)
    everything = np.arange(len(points))
    above = parents or [-1] * len(groups)
    merge = partial(merge_alike, success=success, least_evidence=least_evidence)
    if groups:
        tops = [group for group, parent in zip(groups, above, strict=True) if parent < 0]
        apart = merge(_cover(tops, everything))
        if not apart:
            return NOTHING
        inside = [
            (place, nest(group, _cluster(joined[group], rng, levels=COARSER[-2:])))
            for place, group in enumerate(groups)
            if len(group) >= 2 * QUERIES_A_SKILL and place not in above
        ]
        merged = [(place, merge(nested)) for place, nested in inside]
    else:
        inside = [(-1, nest(everything, _cluster(joined, rng, levels=COARSER)))]
        merged = [(-1, merge(inside[0][1]))]
        apart = merged[0][1]
    supported, fine = (_write(points, groups, above, found) for found in (merged, inside))
    return Drafts(supported, fine, find_evidence(apart, success))


def _write(
    points: Floats, groups: Sequence[Ints], above: Sequence[int], inside: Sequence[tuple[int, Sequence[Group]]]
) -> list[Draft]:
    """Return drafts of candidates and of the groups inside them; those below -1 are below the mode."""
    tree = _Tree(points)
    tree.add_candidates(groups, above)
    for place, found in inside:
        tree.add(place, found)
    return tree.write()


def _cover(groups: Sequence[Ints], everything: Ints) -> list[Group]:
    """Return the groups, and the rest of the queries as one more."""
    rest = np.setdiff1d(everything, np.concatenate(list(groups)))
    return [Group(side) for side in (*map(np.unique, groups), *([rest] if len(rest) else []))]


def predict_outcomes(points: Floats, success: Floats) -> Floats:
    """Return how agents are expected to fare on each query by its text, on the scale of the points.

    Fitted values of a ridge regression (Hoerl and Kennard, 1970) of the outcomes, centred per query and agent, on the
    points. Only agents near the best matter to routing. Whether groups that have seen outcomes hold for new queries
    is for `skillctl.core.discover.calibrating` to tell, on queries that they have not seen.
    """
    chosen = success[:, find_contenders(success)]
    residual = remove_means(chosen, ~np.isnan(chosen), axes=(1, 0))
    centred = points - points.mean(axis=0)
    moments = centred.T @ centred
    penalty = RIDGE_PENALTY * max(float(np.trace(moments)), 1e-9) / len(points)
    fitted = centred @ np.linalg.solve(moments + penalty * np.eye(len(moments)), centred.T @ residual)
    spread = float(fitted.std()) * np.sqrt(fitted.shape[1])
    size = np.sqrt(float((centred**2).sum(axis=1).mean()) / 2)
    return np.asarray(fitted * (size / spread if spread > 0 else 0.0), dtype=np.float64)


def nest(rows: Ints, partitions: Sequence[Ints]) -> tuple[Group, ...]:
    """Return nested partitions as groups within groups; one that is all of its parent is left out.

    Args:
        rows: The queries.
        partitions: From coarse to fine, the group of each query.
    """
    if not partitions:
        return ()
    first, *others = partitions
    sides = [first == label for label in np.unique(first)]
    if len(sides) == 1:
        return nest(rows, others)
    return tuple(Group(np.sort(rows[side]), nest(rows[side], [other[side] for other in others])) for side in sides)


class _Tree:
    """Drafts while they are collected."""

    def __init__(self, points: Floats) -> None:
        self._points = points
        self._members: list[Ints] = []
        self._parents: list[int] = []
        self._groups: list[int] = []

    def add_candidates(self, groups: Sequence[Ints], parents: Sequence[int]) -> None:
        """Add candidates, directly below the mode or below another."""
        for place, (group, parent) in enumerate(zip(groups, parents, strict=True)):
            self._add(parent, np.sort(np.asarray(group, dtype=np.int64)), place)

    def add(self, top: int, groups: Sequence[Group]) -> None:
        """Add groups and their parts below a draft."""
        for group in groups:
            self.add(self._add(top, group.members, -1), group.parts)

    def _add(self, parent: int, members: Ints, group: int) -> int:
        self._members.append(members)
        self._parents.append(parent)
        self._groups.append(group)
        return len(self._members) - 1

    def write(self) -> list[Draft]:
        """Return the drafts with their examples."""
        return [
            Draft(parent, members, choose_examples(self._points, members, EXAMPLES), group)
            for parent, members, group in zip(self._parents, self._members, self._groups, strict=True)
        ]


def _cluster(points: Floats, rng: np.random.Generator, *, levels: Sequence[int]) -> list[Ints]:
    """Return nested partitions, coarse to fine: k-means for the finest, Ward's merges of it for the others."""
    finest = max(2.0, min(len(points) / QUERIES_A_SKILL, SKILLS_PER_ROOT * np.sqrt(len(points)), MOST_FINE_SKILLS))
    sizes = sorted({max(2, round(finest / level)) for level in levels})
    clusters = absorb_small(points, find_clusters(points, sizes[-1], rng), LEAST_QUERIES)
    return [*(merge_clusters(clusters, size)[clusters.labels] for size in sizes[:-1]), clusters.labels]
