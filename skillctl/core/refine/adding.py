"""Skills to add: kinds of queries on which routing fails although some agent succeeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.discover.clustering import find_clusters, squared_distances
from skillctl.core.profile.pair_layout import ADDED
from skillctl.core.refine.bisecting import MIN_PART, split_in_halves
from skillctl.core.refine.part_writing import Drawing, Naming, describe_part, sort_skills, write_parts
from skillctl.core.refine.refinement import Proposal, find_threshold
from skillctl.model.handbook import Skill, SkillId

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from skillctl.core.refine.mode_bench import ModeBench, Standing

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int64]

_FAILURES_PER_CLUSTER = 15
_MOST_CLUSTERS = 6
_MOST_OF_A_CLUSTER = 0.6


def propose_additions(bench: ModeBench, standing: Standing, drawing: Drawing) -> list[Proposal]:
    """Return skills for kinds of queries on which the choice fails although another agent succeeds.

    Kinds are clusters of such queries in one half of the traces. The evidence that they are an ability of their own
    is that of the other half, where the queries nearer to a cluster than to the rest are compared with the rest. Those
    with the same heaviest skills at all depths are a stratum: what the skills that there are explain is no evidence.
    """
    failed = _find_failures(bench, standing)
    halves = split_in_halves(len(failed), np.random.default_rng([drawing.seed, len(failed)]))
    kinds = [
        (kind, test)
        for own, test in (halves, halves[::-1])
        for kind in _find_kinds(bench.points, own, failed, np.random.default_rng([drawing.seed, len(own)]))
    ]
    main, places = standing.find_homes(), standing.find_places()
    found = []
    for inside, test in kinds:
        rows, parent = _find_surroundings(standing, main, inside)
        among = np.isin(test, rows)
        sides = np.where(inside[test[among]], 0, 1)
        halves_of = np.bincount(sides, minlength=2).min(), np.bincount(1 - inside[rows], minlength=2).min()
        if halves_of[0] < MIN_PART // 2 or halves_of[1] < MIN_PART:
            continue
        evidence = bench.take_lesson(test[among], places[test[among]]).weigh_sides(sides)
        found.append((evidence, rows, rows[inside[rows]], parent))
    least = find_threshold(len(found))
    return [
        _write_addition(bench, standing, rows, part, parent, (evidence, least), drawing)
        for evidence, rows, part, parent in found
        if evidence > least
    ]


def _find_failures(bench: ModeBench, standing: Standing) -> NDArray[np.bool_]:
    """Tell on which training queries the choice fails and another agent succeeds, shape (q,)."""
    every = np.arange(len(standing.choice))
    is_better = bench.wins.max(axis=1) > bench.wins[every, standing.choice]
    return np.asarray((standing.choice >= 0) & is_better)


def _find_kinds(
    points: Floats, own: Rows, failed: NDArray[np.bool_], rng: np.random.Generator
) -> Iterator[NDArray[np.bool_]]:
    """Yield for each cluster of one half's failures which queries are nearer to it than to the rest, shape (q,)."""
    lost, fine = own[failed[own]], own[~failed[own]]
    count = min(_MOST_CLUSTERS, len(lost) // _FAILURES_PER_CLUSTER)
    if not count or not len(fine):
        return
    kinds = find_clusters(points[lost], count, rng).centres
    rest = find_clusters(points[fine], max(count, 2), rng).centres
    nearest = squared_distances(points, np.concatenate([kinds, rest])).argmin(axis=1)
    for kind in range(len(kinds)):
        yield nearest == kind


def _find_surroundings(standing: Standing, main: Rows, inside: NDArray[np.bool_]) -> tuple[Rows, Skill | None]:
    """Return the queries to compare a kind with, and the skill that holds them: that of most of it, else all."""
    counts = np.bincount(main[inside], minlength=len(standing.skills) + 1)
    most = int(counts.argmax())
    if most and counts[most] >= _MOST_OF_A_CLUSTER * counts.sum():
        return np.flatnonzero(main == most), standing.skills[most - 1]
    return np.arange(len(main)), None


def _write_addition(  # noqa: PLR0917 - what the loop above found of one cluster
    bench: ModeBench,
    standing: Standing,
    rows: Rows,
    part: Rows,
    parent: Skill | None,
    evidence: tuple[float, float],
    drawing: Drawing,
) -> Proposal:
    source = parent.id if parent else None
    (skill,) = write_parts(bench, rows, [part], source, Naming(ADDED, source, ("",), drawing.taken))
    return Proposal(
        "addition",
        bench.mode,
        (source,) if source else (),
        *evidence,
        (
            describe_part(bench, skill.id, part),
            describe_part(bench, source or SkillId(bench.mode), np.setdiff1d(rows, part)),
        ),
        sort_skills((*standing.skills, skill)),
        (skill.id,),
        "failures",
    )
