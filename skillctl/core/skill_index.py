"""What the embedded orchestrator knows of the skills of one mode, built from their texts alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.features import TextFeatures, WordEmbedder, WordTable, split_words
from skillctl.core.indicators import find_patterns, find_phrases
from skillctl.core.lexicon import Lexicon, build_lexicon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from skillctl.model.handbook import Skill

# Shares of the dense evidence; they sum to at most 1, so that a direction has at most length 1.
SEMANTIC_SHARE = 0.65
SURFACE_SHARE = 0.35
# Description and indicators together count as much as so many examples.
DESCRIPTION_EXAMPLES = 2.0
# The centre of the skills is shrunk to the origin as if so many more skills had opposite vectors.
CENTRE_SHRINKAGE = 3.0
# Directions are stored as whole numbers: products of two vectors of length 4,000 sum to less than 2**24, so a
# single-precision product is exact, whatever the size of the batch, the library or the number of threads.
DIRECTION_SCALE = 4000.0

# Mean and spread of the surface features over nine public sets of queries (chat, exams, code, tools, puzzles).
_SURFACE_MEAN = (5.98, 4.49, 4.63, 1.52, 0.11, 1.04, 0.17, 0.42, 0.69, 0.97,
                 0.57, 0.48, 0.62, 0.38, 0.34, 0.21, 0.43, 0.37, 0.12, 0.55)  # fmt: skip
_SURFACE_SD = (1.19, 1.18, 0.86, 1.41, 0.11, 1.17, 0.06, 0.15, 1.18, 1.32,
               0.93, 0.88, 0.48, 0.49, 0.47, 0.41, 0.49, 0.48, 0.44, 0.50)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SkillIndex:
    """Vectors, words and paths of K skills.

    Attributes:
        centre: Subtracted from every mean word vector, shape (dim,).
        directions: Semantic and surface direction of each skill, whole numbers, shape (dim + 20, K).
        lexicon: Words and phrases.
        patterns: Regular expressions, each with its skill 0..K-1.
        path_skills: Each skill and its ancestors below the mode, numbered as in `SkillWeights`, shape (K, depth);
            filled up with the skill itself.
        path_shares: How a skill's weight falls on its path, rows sum to 1, shape (K, depth).
    """

    centre: NDArray[np.float32]
    directions: NDArray[np.float32]
    lexicon: Lexicon
    patterns: tuple[tuple[str, int], ...]
    path_skills: NDArray[np.int32]
    path_shares: NDArray[np.float64]


def build_skill_index(skills: Sequence[Skill], embedder: WordEmbedder) -> SkillIndex:
    """Build the index of a mode's skills, which must be in order of id."""
    table = WordTable(embedder)
    about = table.read([_describe(skill) for skill in skills])
    examples = table.read([text for skill in skills for text in skill.examples])
    owners = np.repeat(np.arange(len(skills)), [len(skill.examples) for skill in skills])
    centre = _find_centre(_prototypes(about, examples, owners, np.zeros(embedder.dim, np.float32)))
    semantic = _prototypes(about, examples, owners, centre)
    surface = _to_unit(_sum_by(owners, standardise_surface(examples.surface), len(skills)))
    path_skills, path_shares = _find_paths(skills)
    return SkillIndex(
        centre=centre,
        directions=join_evidence(semantic, surface).T.copy(),
        lexicon=build_lexicon(
            [[word for text in _texts(skill) for word in split_words(text.lower())] for skill in skills],
            find_phrases(skills),
        ),
        patterns=tuple(find_patterns(skills)),
        path_skills=path_skills,
        path_shares=path_shares,
    )


def find_direction(features: TextFeatures, centre: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the direction of each text, to be multiplied with `SkillIndex.directions`."""
    return join_evidence(_to_unit(features.semantic - centre), standardise_surface(features.surface))


def join_evidence(semantic: NDArray[np.float32], surface: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return unit vectors of both kinds side by side, scaled by their shares to whole numbers."""
    joined = np.concatenate([semantic * math.sqrt(SEMANTIC_SHARE), surface * math.sqrt(SURFACE_SHARE)], axis=1)
    return np.rint(joined * DIRECTION_SCALE)


def standardise_surface(surface: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return surface features as unit vectors, each feature relative to its mean and spread over public queries."""
    spread = (surface - np.array(_SURFACE_MEAN, np.float32)) / np.array(_SURFACE_SD, np.float32)
    return _to_unit(np.clip(spread, np.float32(-3), np.float32(3)))


def _describe(skill: Skill) -> str:
    terms = (indicator.text for indicator in skill.indicators if not indicator.is_regex)
    return " ".join([skill.description, *terms])


def _texts(skill: Skill) -> list[str]:
    return [_describe(skill), *skill.examples]


def _to_unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norm = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    unit: NDArray[np.float32] = vectors / np.maximum(norm, np.float32(1e-9))
    return unit


def _sum_by(owners: NDArray[np.int64], vectors: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    sums = np.zeros((count, vectors.shape[1]), np.float32)
    np.add.at(sums, owners, vectors)
    return sums


def _prototypes(
    about: TextFeatures, examples: TextFeatures, owners: NDArray[np.int64], centre: NDArray[np.float32]
) -> NDArray[np.float32]:
    described = _to_unit(about.semantic - centre) * np.float32(DESCRIPTION_EXAMPLES)
    return _to_unit(described + _sum_by(owners, _to_unit(examples.semantic - centre), len(described)))


def _find_centre(prototypes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the common part of the prototypes, at the length of a text's mean vector."""
    centre: NDArray[np.float32] = prototypes.sum(axis=0) / np.float32(len(prototypes) + CENTRE_SHRINKAGE)
    return centre


def _find_paths(skills: Sequence[Skill]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    number = {skill.id: place + 1 for place, skill in enumerate(skills)}
    parent = {skill.id: skill.parent for skill in skills}
    paths = []
    for skill in skills:
        path, above = [number[skill.id]], skill.parent
        while above is not None:
            path.append(number[above])
            above = parent[above]
        paths.append(path)
    depth = max(map(len, paths), default=1)
    path_skills = np.array([path + path[:1] * (depth - len(path)) for path in paths], np.int32).reshape(-1, depth)
    # Every granularity gets the same share of a skill's weight: averaging over them is steadier than any one alone.
    lengths = np.array([len(path) for path in paths])[:, None]
    path_shares = np.where(np.arange(depth) < lengths, 1 / lengths, 0.0) if paths else np.empty((0, depth))
    return path_skills, path_shares
