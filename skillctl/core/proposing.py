"""Proposals of refinement: skills to split, to merge and to add, each with the evidence for it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.bisecting import MIN_PART, Bisection, Lesson, find_bisections, split_in_halves
from skillctl.core.clustering import choose_examples, find_clusters, squared_distances
from skillctl.core.discovery import Draft
from skillctl.core.heterogeneity import find_evidence, find_likeness
from skillctl.core.pair_layout import MERGED
from skillctl.core.refinement import Part, Proposal, find_threshold
from skillctl.core.skill_tree import DEFAULT_KAPPA
from skillctl.core.skill_writing import MOST_QUERIES, write_skills
from skillctl.model.handbook import Origin, Skill, SkillId

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from skillctl.core.mode_bench import ModeBench, Standing

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int64]

# So many runs of every compared agent, in each of two skills, before they can be the same.
MIN_RUNS = 5.0
_EXAMPLES = 8
_SHOWN = 3
_FAILURES_PER_CLUSTER = 15
_MOST_CLUSTERS = 6
_MOST_OF_A_CLUSTER = 0.6


class Drawing(NamedTuple):
    """What proposals need besides the traces and the skills.

    Attributes:
        seed: Of partitions.
        taken: Ids that new skills must not have.
        fresh: Parts of skills that this run has split: split again, they give way to their parts.
    """

    seed: int
    taken: Collection[str]
    fresh: Collection[str] = ()


def propose_edits(bench: ModeBench, standing: Standing, drawing: Drawing) -> list[Proposal]:
    """Return what the evidence speaks for, strongest first."""
    found = [
        *propose_splits(bench, standing, drawing),
        *propose_merges(bench, standing),
        *propose_additions(bench, standing, drawing),
    ]
    return sorted(found, key=lambda proposal: (-round(proposal.evidence - proposal.threshold, 9), proposal.key[:1]))


def propose_splits(bench: ModeBench, standing: Standing, drawing: Drawing) -> list[Proposal]:
    """Return the skills without finer ones whose queries ask for two abilities, as the best bisection of each.

    The queries that resemble no skill are split likewise: their parts become skills directly below the mode.
    """
    main = standing.find_main(standing.list_leaves())
    found: list[tuple[int, Rows, Bisection]] = []
    tried = 0
    for number in (0, *standing.list_leaves()):
        rows = np.flatnonzero(main == number)
        if len(rows) < 2 * MIN_PART:
            continue
        rng = np.random.default_rng([drawing.seed, len(rows), int(rows.sum())])
        bisections = find_bisections(_lesson(bench, rows), rng)
        tried += len(bisections)
        if bisections:
            found.append((number, rows, max(bisections, key=lambda one: one.evidence)))
    least = find_threshold(tried)
    return [
        _write_split(bench, standing, standing.skills[number - 1] if number else None, rows, best, least, drawing)
        for number, rows, best in found
        if best.evidence > least
    ]


def _lesson(bench: ModeBench, rows: Rows) -> Lesson:
    return Lesson(bench.points[rows], bench.wins[rows], bench.losses[rows], [bench.training.tasks[row] for row in rows])


def _write_split(  # noqa: PLR0917 - what the loop above found of one skill
    bench: ModeBench,
    standing: Standing,
    skill: Skill | None,
    rows: Rows,
    best: Bisection,
    least: float,
    drawing: Drawing,
) -> Proposal:
    sides = [rows[best.sides == side] for side in (0, 1)]
    label = best.basis.removeprefix("task ") if best.basis.startswith("task ") else ""
    labels = (label, f"other than {label}" if label else "")
    gives_way = skill is not None and skill.id in drawing.fresh
    source = None if skill is None else skill.id
    above = skill.parent if skill is not None and gives_way else source
    new = _write_parts(bench, rows, sides, above, _Naming("split", source, labels, drawing.taken))
    return Proposal(
        "split",
        bench.mode,
        (source or SkillId(bench.mode),),
        best.evidence,
        least,
        tuple(_describe_part(bench, one.id, side) for one, side in zip(new, sides, strict=True)),
        _sorted((*(one for one in standing.skills if one is not skill or not gives_way), *new)),
        tuple(one.id for one in new),
        best.basis,
    )


class _Naming(NamedTuple):
    """How new skills come to their names: what made them of which skill, their labels, and ids that are not free."""

    how: str
    source: SkillId | None
    labels: tuple[str, ...]
    taken: Collection[str]


def _write_parts(
    bench: ModeBench, rows: Rows, parts: list[Rows], parent: SkillId | None, naming: _Naming
) -> list[Skill]:
    """Return a skill for each part of the queries in ``rows``, below a parent or directly below the mode."""
    written: list[Skill] = []
    for part, label in zip(parts, naming.labels, strict=True):
        skill = _write_part(bench, rows, part, label, parent, {*naming.taken, *(one.id for one in written)})
        origin = Origin(
            naming.how,
            () if naming.source is None else (naming.source,),
            tuple(dict.fromkeys(str(bench.training.query_ids[row]) for row in part[:MOST_QUERIES])),
        )
        written.append(replace(skill, parent=parent, origin=origin))
    return written


def _write_part(  # noqa: PLR0917 - what the loop above knows of one part
    bench: ModeBench, rows: Rows, part: Rows, label: str, parent: SkillId | None, taken: Collection[str]
) -> Skill:
    examples = np.searchsorted(rows, choose_examples(bench.points, part, _EXAMPLES))
    (skill,) = write_skills(
        bench.mode if parent is None else parent,
        [Draft(members=np.searchsorted(rows, part), examples=examples, parent=-1, group=0 if label else -1)],
        bench.training.take(rows),
        bench.surface[rows],
        labels=(label,) if label else (),
        taken=taken,
    )
    if label or skill.indicators:
        return skill
    return _write_part(bench, rows, part, "other", parent, taken)  # no word tells these texts from the rest


def _describe_part(bench: ModeBench, skill: SkillId, rows: Rows) -> Part:
    wins, losses = bench.wins[rows].sum(axis=0), bench.losses[rows].sum(axis=0)
    return Part(
        skill,
        tuple(bench.training.query_ids[row] for row in rows),
        {
            agent: (float(s), float(f))
            for agent, s, f in zip(bench.training.agents, wins, losses, strict=True)
            if s + f > 0
        },
        tuple(bench.training.texts[row] for row in choose_examples(bench.points, rows, _SHOWN)),
    )


def _sorted(skills: tuple[Skill, ...]) -> tuple[Skill, ...]:
    return tuple(sorted(skills, key=lambda skill: skill.id))


def propose_merges(bench: ModeBench, standing: Standing) -> list[Proposal]:
    """Return the siblings that no agent tells apart, among those with enough runs of every agent.

    Neither does an agent have two abilities, nor is one of both harder for all.
    """
    rows = _find_subtree_rows(standing)
    pairs = [
        (first, second)
        for first, second in combinations(range(len(standing.skills)), 2)
        if standing.skills[first].parent == standing.skills[second].parent
        and standing.skills[first].playbook == standing.skills[second].playbook
        and _can_compare(bench, rows[first], rows[second])
    ]
    least = find_threshold(len(pairs))
    found = []
    for first, second in pairs:
        wins, losses = (
            np.stack([table[rows[one]].sum(axis=0) for one in (first, second)], axis=1)
            for table in (bench.wins, bench.losses)
        )
        evidence = min(-find_evidence(wins, losses, DEFAULT_KAPPA), find_likeness(wins, losses, DEFAULT_KAPPA))
        if evidence > least:
            found.append(_write_merge(bench, standing, (first, second), rows, evidence, least))
    return found


def _find_subtree_rows(standing: Standing) -> list[Rows]:
    """Return for each skill the queries whose main skill among the finest is within its subtree."""
    main = standing.find_main(standing.list_leaves())
    place = {skill.id: number for number, skill in enumerate(standing.skills)}
    rows: list[list[int]] = [[] for _ in standing.skills]
    for row, number in enumerate(main.tolist()):
        above = standing.skills[number - 1].id if number else None
        while above is not None:
            rows[place[above]].append(row)
            above = standing.skills[place[above]].parent
    return [np.array(one, np.int64) for one in rows]


def _can_compare(bench: ModeBench, first: Rows, second: Rows) -> bool:
    """Tell whether every agent that was tried in one of two skills was tried often enough in both."""
    runs = np.stack([(bench.wins[rows] + bench.losses[rows]).sum(axis=0) for rows in (first, second)])
    compared = runs.max(axis=0) > 0
    return bool(compared.any() and (runs[:, compared] >= MIN_RUNS).all())


def _write_merge(  # noqa: PLR0917 - what the loop above found of one pair
    bench: ModeBench, standing: Standing, pair: tuple[int, int], rows: list[Rows], evidence: float, least: float
) -> Proposal:
    kept, gone = sorted(pair, key=lambda one: (-len(rows[one]), standing.skills[one].id))
    both = np.union1d(rows[kept], rows[gone])
    first, second = standing.skills[kept], standing.skills[gone]
    merged = replace(
        first,
        description=_join_descriptions(first, second),
        indicators=tuple(dict.fromkeys((*first.indicators, *second.indicators))),
        examples=_choose_texts(bench, both, first, second),
        origin=Origin(
            MERGED,
            tuple(sorted({first.id, second.id, *_find_sources(first), *_find_sources(second)})),
            tuple(dict.fromkeys(str(bench.training.query_ids[row]) for row in both[:MOST_QUERIES])),
        ),
        extra={**second.extra, **first.extra},
    )
    edited = [
        replace(skill, parent=first.id) if skill.parent == second.id else skill
        for skill in standing.skills
        if skill.id not in {first.id, second.id}
    ]
    return Proposal(
        "merge",
        bench.mode,
        tuple(sorted((first.id, second.id))),
        evidence,
        least,
        tuple(_describe_part(bench, skill.id, rows[one]) for skill, one in ((first, kept), (second, gone))),
        _sorted((merged, *edited)),
        (first.id,),
        "outcome",
    )


def _find_sources(skill: Skill) -> tuple[SkillId, ...]:
    """Return what was merged into a skill before: its traces may still name them."""
    return skill.origin.source_skills if skill.origin is not None and skill.origin.how == MERGED else ()


def _join_descriptions(first: Skill, second: Skill) -> str:
    if second.description in first.description:
        return first.description
    return f"{first.description.rstrip()} {second.description}"


def _choose_texts(bench: ModeBench, rows: Rows, first: Skill, second: Skill) -> tuple[str, ...]:
    """Return examples of a merged skill: those of both by turns, else central queries."""
    turns = [text for pair in zip(first.examples, second.examples, strict=False) for text in pair]
    texts = tuple(dict.fromkeys([*turns, *first.examples, *second.examples]))[:_EXAMPLES]
    return texts or tuple(bench.training.texts[row] for row in choose_examples(bench.points, rows, _EXAMPLES))


def propose_additions(bench: ModeBench, standing: Standing, drawing: Drawing) -> list[Proposal]:
    """Return skills for kinds of queries on which the choice fails although another agent succeeds.

    Kinds are clusters of such queries in one half of the traces. The evidence that they are an ability of their own
    is that of the other half, where the queries nearer to a cluster than to the rest are compared with the rest.
    """
    failed = _find_failures(bench, standing)
    halves = split_in_halves(len(failed), np.random.default_rng([drawing.seed, len(failed)]))
    kinds = [
        (kind, test)
        for own, test in (halves, halves[::-1])
        for kind in _find_kinds(bench.points, own, failed, np.random.default_rng([drawing.seed, len(own)]))
    ]
    main = standing.find_main(standing.list_leaves())
    found = []
    for inside, test in kinds:
        rows, parent = _find_surroundings(standing, main, inside)
        among = np.isin(test, rows)
        sides = np.where(inside[test[among]], 0, 1)
        halves_of = np.bincount(sides, minlength=2).min(), np.bincount(1 - inside[rows], minlength=2).min()
        if halves_of[0] < MIN_PART // 2 or halves_of[1] < MIN_PART:
            continue
        evidence = _lesson(bench, test[among]).weigh_sides(sides)
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
    (skill,) = _write_parts(bench, rows, [part], source, _Naming("failure-driven", source, ("",), drawing.taken))
    return Proposal(
        "addition",
        bench.mode,
        (source,) if source else (),
        *evidence,
        (
            _describe_part(bench, skill.id, part),
            _describe_part(bench, source or SkillId(bench.mode), np.setdiff1d(rows, part)),
        ),
        _sorted((*standing.skills, skill)),
        (skill.id,),
        "failures",
    )
