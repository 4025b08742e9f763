"""Skills to merge: siblings that no agent tells apart."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.discover.clustering import choose_examples
from skillctl.core.discover.discovered import is_written
from skillctl.core.discover.skill_writing import MOST_QUERIES
from skillctl.core.profile.heterogeneity import find_evidence, find_likeness
from skillctl.core.profile.pair_layout import MERGED, MERGED_WRITTEN, MERGERS
from skillctl.core.profile.skill_tree import DEFAULT_KAPPA
from skillctl.core.refine.part_writing import EXAMPLES, describe_part, sort_skills
from skillctl.core.refine.refinement import Proposal
from skillctl.model.handbook import Origin, Skill, SkillId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from skillctl.core.refine.mode_bench import ModeBench, Standing

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int64]

# So many runs of every compared agent, in each of two skills, before they can be the same.
MIN_RUNS = 30.0
# The log Bayes factor from which two skills are one: it must be five times as likely. That of twins grows only with the
# logarithm of their runs (by about log(n / 2κ) / 2 - 1/2 for each agent with n runs in each), so that a threshold which
# grows with the number of pairs is out of reach of a few hundred; what a wrong merge costs is for validation to say.
# Of simulated pairs with 100 runs of four agents each it merges 8 of 10 twins, and less than 1 of 100 where the chances
# of one agent are 0.3 apart; with 50 runs 6 of 10, and 3 of 100.
THRESHOLD = math.log(5.0)
_MOST_PARTS = 2
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?![^“]*”)")  # not within the query that a description quotes


def propose_merges(bench: ModeBench, standing: Standing) -> list[Proposal]:
    """Return the siblings that no agent tells apart, among those with enough runs of every agent.

    Neither does an agent have two abilities, nor is one of both harder for all.
    """
    rows = standing.find_rows(standing.find_homes())
    pairs = [
        (first, second)
        for first, second in combinations(range(len(standing.skills)), 2)
        if standing.skills[first].parent == standing.skills[second].parent
        and standing.skills[first].playbook == standing.skills[second].playbook
        and _can_compare(bench, rows[first], rows[second])
    ]
    found = []
    for first, second in pairs:
        wins, losses = (
            np.stack([table[rows[one]].sum(axis=0) for one in (first, second)], axis=1)
            for table in (bench.wins, bench.losses)
        )
        evidence = weigh_unity(wins, losses)
        if evidence > THRESHOLD:
            found.append(_write_merge(bench, standing, (first, second), rows, evidence))
    return found


def weigh_unity(wins: Floats, losses: Floats) -> float:
    """Return the log Bayes factor that two skills are one: neither two abilities, nor one harder for all.

    Args:
        wins: Successes in both, shape (agents, 2).
        losses: Failures in both, shape (agents, 2).
    """
    return min(-find_evidence(wins, losses, DEFAULT_KAPPA), find_likeness(wins, losses, DEFAULT_KAPPA))


def _can_compare(bench: ModeBench, first: Rows, second: Rows) -> bool:
    """Tell whether every agent that was tried in one of two skills was tried often enough in both."""
    runs = np.stack([(bench.wins[rows] + bench.losses[rows]).sum(axis=0) for rows in (first, second)])
    compared = runs.max(axis=0) > 0
    return bool(compared.any() and (runs[:, compared] >= MIN_RUNS).all())


def _write_merge(
    bench: ModeBench, standing: Standing, pair: tuple[int, int], rows: list[Rows], evidence: float
) -> Proposal:
    kept, gone = sorted(pair, key=lambda one: (-len(rows[one]), standing.skills[one].id))
    both = np.union1d(rows[kept], rows[gone])
    first, second = standing.skills[kept], standing.skills[gone]
    merged = replace(
        first,
        description=join_descriptions((first, second), (len(rows[kept]), len(rows[gone]))),
        indicators=tuple(dict.fromkeys((*first.indicators, *second.indicators))),
        examples=_choose_texts(bench, both, first, second),
        origin=Origin(
            MERGED_WRITTEN if is_written(first) or is_written(second) else MERGED,
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
        THRESHOLD,
        tuple(describe_part(bench, skill.id, rows[one]) for skill, one in ((first, kept), (second, gone))),
        sort_skills((merged, *edited)),
        (first.id,),
        "outcome",
    )


def _find_sources(skill: Skill) -> tuple[SkillId, ...]:
    """Return what was merged into a skill before: its traces may still name them."""
    return skill.origin.source_skills if skill.origin is not None and skill.origin.how in MERGERS else ()


def join_descriptions(skills: Sequence[Skill], queries: Sequence[int]) -> str:
    """Return what the two largest parts of merged skills say: what all say would be no description any more.

    A part is a skill, or a sentence of one that was merged before: each of the skills in it is taken to have an equal
    share of its queries.
    """
    parts = [
        (count / max(1, len(_find_sources(skill))), sentence)
        for skill, count in zip(skills, queries, strict=True)
        for sentence in (_SENTENCE_END.split(skill.description) if _find_sources(skill) else [skill.description])
    ]
    largest = sorted(parts, key=lambda part: -part[0])
    return " ".join(list(dict.fromkeys(sentence.strip() for _, sentence in largest))[:_MOST_PARTS])


def _choose_texts(bench: ModeBench, rows: Rows, first: Skill, second: Skill) -> tuple[str, ...]:
    """Return examples of a merged skill: those of both by turns, else central queries."""
    turns = [text for pair in zip(first.examples, second.examples, strict=False) for text in pair]
    texts = tuple(dict.fromkeys([*turns, *first.examples, *second.examples]))[:EXAMPLES]
    return texts or tuple(bench.training.texts[row] for row in choose_examples(bench.points, rows, EXAMPLES))
