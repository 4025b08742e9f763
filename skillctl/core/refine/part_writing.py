"""Parts of a skill's queries become skills, and sides of a proposal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.discover.clustering import choose_examples
from skillctl.core.discover.discovery import Draft
from skillctl.core.discover.skill_writing import MOST_QUERIES, write_skills
from skillctl.core.refine.refinement import Part
from skillctl.model.handbook import Origin, Skill, SkillId

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    from skillctl.core.refine.mode_bench import ModeBench

    Rows = NDArray[np.int64]

EXAMPLES = 8
_SHOWN = 3


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


class Naming(NamedTuple):
    """How new skills come to their names.

    Attributes:
        how: What made them.
        source: Of which skill, ``None`` for the mode.
        labels: Of each, or empty texts.
        taken: Ids that are not free.
    """

    how: str
    source: SkillId | None
    labels: tuple[str, ...]
    taken: Collection[str]


def write_parts(bench: ModeBench, rows: Rows, parts: list[Rows], parent: SkillId | None, naming: Naming) -> list[Skill]:
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
    examples = np.searchsorted(rows, choose_examples(bench.points, part, EXAMPLES))
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


def describe_part(bench: ModeBench, skill: SkillId, rows: Rows) -> Part:
    """Return the queries in ``rows`` as one side of a proposal."""
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


def sort_skills(skills: Iterable[Skill]) -> tuple[Skill, ...]:
    """Return skills in order of id."""
    return tuple(sorted(skills, key=lambda skill: skill.id))
