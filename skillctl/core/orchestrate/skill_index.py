"""What the embedded orchestrator knows of the skills of one mode, built from their texts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.orchestrate.features import TextFeatures, WordEmbedder, WordTable, split_words
from skillctl.core.orchestrate.indicators import find_patterns, find_phrases
from skillctl.core.orchestrate.lexicon import Lexicon, build_lexicon
from skillctl.core.orchestrate.space import POINT_STEPS, Space, fit_space, project, to_unit
from skillctl.model.handbook import find_ancestors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from skillctl.model.handbook import Skill

    Floats = NDArray[np.float32]

# With fewer examples than this, description and indicators stand in for the missing ones.
ENOUGH_EXAMPLES = 3
# The squared distance between a text and its skill where no skill has two examples to measure it.
DEFAULT_SPREAD = 1.0


@dataclass(frozen=True, slots=True)
class SkillIndex:
    """Points, words and levels of K skills.

    A level is a cut through the tree of skills: level 1 holds the skills directly below the mode, level l those l
    steps below it, and in the place of missing ones the finest above.

    Attributes:
        space: In which texts are points.
        vectors: Point of each skill, whole numbers as in `skillctl.core.orchestrate.space`, shape (d, K).
        lexicon: Words and phrases.
        patterns: Regular expressions, each with its skill 0..K-1.
        level_ptr: Level l has the skills ``level_skills[level_ptr[l]:level_ptr[l + 1]]``.
        level_skills: Skills 0..K-1.
        level_spread: Mean squared distance of a text to its nearest skill on each level.
    """

    space: Space
    vectors: Floats
    lexicon: Lexicon
    patterns: tuple[tuple[str, int], ...]
    level_ptr: NDArray[np.int64]
    level_skills: NDArray[np.int64]
    level_spread: NDArray[np.float64]


def build_skill_index(skills: Sequence[Skill], embedder: WordEmbedder, *, table: WordTable | None = None) -> SkillIndex:
    """Build the index of a mode's skills, which must be in order of id.

    Args:
        skills: The skills.
        embedder: Computes word vectors.
        table: Words that are known already, where several indices are built of nearly the same texts.
    """
    table = table or WordTable(embedder)
    about = table.read([_describe(skill) for skill in skills])
    examples = table.read([text for skill in skills for text in skill.examples])
    space = fit_space(np.concatenate([about.semantic, examples.semantic]), examples.surface)
    owners, rows = _share_examples(skills)
    points = project(space, examples.semantic, examples.surface).points[rows]
    sums, counts = _sum_points(space, about, points, owners)
    levels = find_levels(skills)
    return SkillIndex(
        space=space,
        vectors=np.rint(sums / np.maximum(counts, 1)[:, None]).T.astype(np.float32),
        lexicon=build_lexicon(
            [[word for text in _texts(skill) for word in split_words(text.lower())] for skill in skills],
            find_phrases(skills),
        ),
        patterns=tuple(find_patterns(skills)),
        level_ptr=np.cumsum([0, *map(len, levels)]).astype(np.int64),
        level_skills=np.array([skill for level in levels for skill in level], np.int64),
        level_spread=np.array([_find_spread(points, owners, sums, counts, level) for level in levels], np.float64),
    )


def find_levels(skills: Sequence[Skill]) -> list[list[int]]:
    """Return the cuts through the tree of skills, coarse to fine, as places in ``skills``."""
    has_children = {skill.parent for skill in skills}
    depths = find_depths(skills)
    return [
        [
            place
            for place, skill in enumerate(skills)
            if depths[place] == level or (depths[place] < level and skill.id not in has_children)
        ]
        for level in range(1, max(depths, default=0) + 1)
    ]


def find_depths(skills: Sequence[Skill]) -> list[int]:
    """Return how many steps each skill is below the mode."""
    ancestors = find_ancestors(skills)
    return [1 + len(ancestors[skill.id]) for skill in skills]


def _describe(skill: Skill) -> str:
    terms = (indicator.text for indicator in skill.indicators if not indicator.is_regex)
    return " ".join([skill.description, *terms])


def _texts(skill: Skill) -> list[str]:
    return [_describe(skill), *skill.examples]


def _share_examples(skills: Sequence[Skill]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (skill, example) pairs, examples numbered as they come.

    A skill without examples has those of the finer ones below it: its description alone would place it among prose.
    """
    places = {skill.id: place for place, skill in enumerate(skills)}
    ends = np.cumsum([0, *(len(skill.examples) for skill in skills)])
    ancestors = find_ancestors(skills)
    owners, rows = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for place, skill in enumerate(skills):
        own = np.arange(ends[place], ends[place + 1])
        above = (places[ancestor] for ancestor in ancestors[skill.id])
        holders = [place, *(coarser for coarser in above if not skills[coarser].examples)]
        owners.append(np.repeat(holders, len(own)))
        rows.append(np.tile(own, len(holders)))
    return np.concatenate(owners), np.concatenate(rows)


def _sum_points(
    space: Space, about: TextFeatures, points: Floats, owners: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each skill's summed example points, completed by its description, and how many they stand for."""
    # A description has no surface of its own: it is prose, whatever the queries look like.
    neutral = np.broadcast_to(space.surface_mean, about.surface.shape)
    described = project(space, about.semantic, neutral).points.astype(np.float64)
    counts = np.bincount(owners, minlength=len(described)).astype(np.float64)
    missing = np.maximum(ENOUGH_EXAMPLES - counts, 0)
    sums = described * missing[:, None]
    np.add.at(sums, owners, points)
    return sums, counts + missing


def _find_spread(
    points: Floats,
    owners: NDArray[np.int64],
    sums: NDArray[np.float64],
    counts: NDArray[np.float64],
    level: Sequence[int],
) -> float:
    """Return the mean squared distance of the examples to their nearest skill, each left out of its own."""
    place = np.full(len(sums), -1)
    place[level] = np.arange(len(level))
    inside = (place[owners] >= 0) & (counts[owners] > 1)
    if not inside.any():
        return DEFAULT_SPREAD
    own, mine = points[inside].astype(np.float64), owners[inside]
    centres = sums[level] / np.maximum(counts[level], 1)[:, None]
    distance = (own**2).sum(axis=1)[:, None] - 2 * own @ centres.T + (centres**2).sum(axis=1)
    left = (sums[mine] - own) / (counts[mine] - 1)[:, None]
    distance[np.arange(len(own)), place[mine]] = ((own - left) ** 2).sum(axis=1)
    return float(distance.min(axis=1).mean()) / float(POINT_STEPS) ** 2 or DEFAULT_SPREAD


def find_semantic_directions(index: SkillIndex) -> Floats:
    """Return the unit semantic direction of each skill along the axes, shape (K, p)."""
    return to_unit(index.vectors[: index.space.axes.shape[1]].T)
