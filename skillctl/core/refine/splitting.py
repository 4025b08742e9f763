"""Skills to split: those whose queries ask for two abilities, also where finer skills explain a part of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.profile.pair_layout import SPLIT
from skillctl.core.refine.bisecting import MIN_PART, Bisection, find_bisections
from skillctl.core.refine.part_writing import Drawing, Naming, describe_part, sort_skills, write_parts
from skillctl.core.refine.refinement import Proposal, find_threshold
from skillctl.model.handbook import Skill, SkillId

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from skillctl.core.refine.mode_bench import ModeBench, Standing

    Rows = NDArray[np.int64]


class _Candidate(NamedTuple):
    """A skill (``None`` for the mode), its queries, and the best bisection of them."""

    skill: Skill | None
    rows: Rows
    best: Bisection


def propose_splits(bench: ModeBench, standing: Standing, drawing: Drawing) -> list[Proposal]:
    """Return the skills whose queries ask for two abilities, as the best bisection of each.

    Queries with the same heaviest skills at all depths are a stratum: that agents do differently well on two of these
    is no reason to split, as the skills that there are say so already. The queries that resemble no skill are split
    like a skill: their parts become skills directly below the mode.
    """
    found: list[_Candidate] = []
    tried = 0
    for skill, rows, strata in _list_groups(standing):
        rng = np.random.default_rng([drawing.seed, len(rows), int(rows.sum())])
        bisections = find_bisections(bench.take_lesson(rows, strata), rng)
        tried += len(bisections)
        if bisections:
            found.append(_Candidate(skill, rows, max(bisections, key=lambda one: one.evidence)))
    least = find_threshold(tried)
    return [_write_split(bench, standing, one, least, drawing) for one in found if one.best.evidence > least]


def _list_groups(standing: Standing) -> Iterator[tuple[Skill | None, Rows, Rows | None]]:
    """Yield what may be split with its queries and their strata, the mode first.

    A skill all of whose queries are in one finer skill is left out: that one stands for it.
    """
    homes, places = standing.find_homes(), standing.find_places()
    lost = np.flatnonzero(homes == 0)
    if len(lost) >= 2 * MIN_PART:
        yield None, lost, None
    parents = {skill.parent for skill in standing.skills}
    for skill, rows in zip(standing.skills, standing.find_rows(homes), strict=True):
        is_stood_for = skill.id in parents and len(np.unique(homes[rows])) == 1
        if len(rows) >= 2 * MIN_PART and not is_stood_for:
            yield skill, rows, places[rows]


def _write_split(
    bench: ModeBench, standing: Standing, candidate: _Candidate, least: float, drawing: Drawing
) -> Proposal:
    skill, rows, best = candidate
    sides = [rows[best.sides == side] for side in (0, 1)]
    label = best.basis.removeprefix("task ") if best.basis.startswith("task ") else ""
    labels = (label, f"other than {label}" if label else "")
    gives_way = skill is not None and skill.id in drawing.fresh
    source = None if skill is None else skill.id
    above = skill.parent if skill is not None and gives_way else source
    new = write_parts(bench, rows, sides, above, Naming(SPLIT, source, labels, drawing.taken))
    adopted = {} if skill is None else _find_adopters(standing, skill, sides, (new[0].id, new[1].id))
    kept = (one for one in standing.skills if one is not skill or not gives_way)
    moved = (replace(one, parent=adopted[one.id]) if one.id in adopted else one for one in kept)
    return Proposal(
        "split",
        bench.mode,
        (source or SkillId(bench.mode),),
        best.evidence,
        least,
        tuple(describe_part(bench, one.id, side) for one, side in zip(new, sides, strict=True)),
        sort_skills((*moved, *new)),
        tuple(one.id for one in new),
        best.basis,
        adopted,
    )


def _find_adopters(
    standing: Standing, skill: Skill, sides: list[Rows], halves: tuple[SkillId, SkillId]
) -> dict[SkillId, SkillId]:
    """Return below which half each finer skill of a split one goes: where most of its credit is, else the first."""
    adopters = {}
    for child in standing.skills:
        if child.parent == skill.id:
            columns = standing.list_subtree(child.id)
            credit = [float(standing.weights[side][:, columns].sum()) for side in sides]
            adopters[child.id] = halves[int(credit[1] > credit[0])]
    return adopters
