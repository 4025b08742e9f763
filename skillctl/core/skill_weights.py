"""From similarities to weights: softmax over the nearest skills, spread over granularities, exact sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.distinct import find_distinct
from skillctl.core.orchestration import WEIGHT_DIGITS, SkillWeights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# A nearest skill with less weight than this is noise; its weight goes to the others.
MIN_WEIGHT = 0.02
_UNITS = 10**WEIGHT_DIGITS


def weigh_skills(
    similarity: NDArray[np.float64],
    path_skills: NDArray[np.int32],
    path_shares: NDArray[np.float64],
    *,
    temperature: float,
    top_k: int,
    min_similarity: float,
) -> SkillWeights:
    """Return softmax(similarity / temperature) over each text's ``top_k`` nearest skills, spread along their paths.

    A text whose largest similarity is below ``min_similarity`` has weight 1 on the mode's root, skill 0.

    Args:
        similarity: Of n texts with K skills, shape (n, K).
        path_skills: Each skill with its ancestors, shape (K, depth), numbered from 1.
        path_shares: How a skill's weight falls on its path, shape (K, depth).
        temperature: Of the softmax.
        top_k: How many skills take part.
        min_similarity: Below it the text resembles no skill.
    """
    count, skills = similarity.shape
    if not skills:
        return root_weights(count)
    near, values = _find_nearest(similarity, min(top_k, skills))
    lost = values.max(axis=1) < min_similarity
    soft = np.exp((values - values.max(axis=1, keepdims=True)) / temperature)
    soft /= soft.sum(axis=1, keepdims=True)
    soft[(soft < MIN_WEIGHT) & (soft < soft.max(axis=1, keepdims=True))] = 0.0
    soft /= soft.sum(axis=1, keepdims=True)
    weights = soft[:, :, None] * path_shares[near]
    numbers = path_skills[near]
    weights[lost], numbers[lost] = 0.0, 0
    weights[lost, 0, 0] = 1.0
    rows = np.repeat(np.arange(count), weights[0].size)
    return round_weights(rows, numbers.ravel(), weights.ravel(), count)


def root_weights(count: int) -> SkillWeights:
    """Return weight 1 on the mode's root for ``count`` texts."""
    return SkillWeights(np.arange(count + 1, dtype=np.int64), np.zeros(count, np.int32), np.ones(count))


def round_weights(
    rows: NDArray[np.int64], skills: NDArray[np.int32], weights: NDArray[np.float64], count: int
) -> SkillWeights:
    """Return compressed rows of weights as multiples of 1e-4 that sum to exactly 1.

    Entries of the same row and skill add up. What rounding leaves over goes to the row's largest weight, the
    first of equals. Every row must have entries with positive weight that sum to 1.
    """
    width = int(skills.max(initial=0)) + 1
    keys, where = find_distinct(rows * width + skills)
    units = np.rint(np.bincount(where, weights) * _UNITS).astype(np.int64)
    row = keys // width
    largest = np.lexsort((keys, -units, row))[np.searchsorted(row, np.arange(count))]
    units[largest] += _UNITS - np.bincount(row, units, minlength=count).astype(np.int64)
    kept = units > 0
    keys, units, row = keys[kept], units[kept], row[kept]
    indptr = np.searchsorted(row, np.arange(count + 1)).astype(np.int64)
    return SkillWeights(indptr, (keys % width).astype(np.int32), units / _UNITS)


def join_weights(parts: Sequence[SkillWeights]) -> SkillWeights:
    """Return the rows of several batches, one after the other."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return root_weights(0)
    offsets = np.cumsum([0, *(part.indptr[-1] for part in parts[:-1])])
    ends = [part.indptr[1:] + offset for part, offset in zip(parts, offsets, strict=True)]
    return SkillWeights(
        np.concatenate([parts[0].indptr[:1], *ends]),
        np.concatenate([part.skills for part in parts]),
        np.concatenate([part.weights for part in parts]),
    )


def _find_nearest(similarity: NDArray[np.float64], top: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the ``top`` largest of each row in order of skill; among equals the lower skill."""
    if top < similarity.shape[1]:
        bound = np.partition(similarity, -top, axis=1)[:, [-top]]
        above = similarity > bound
        ties = (similarity == bound).cumsum(axis=1) <= top - above.sum(axis=1, keepdims=True)
        chosen = above | (ties & (similarity == bound))
        near = np.nonzero(chosen)[1].reshape(len(similarity), top)
    else:
        near = np.broadcast_to(np.arange(top), (len(similarity), top)).copy()
    return near, np.take_along_axis(similarity, near, axis=1)
