"""From closeness to weights: softmax over the nearest skills of each granularity, exact sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.distinct import find_distinct
from skillctl.core.orchestrate.orchestration import WEIGHT_DIGITS, SkillWeights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# A nearest skill with less weight than this is noise; its weight goes to the others.
MIN_WEIGHT = 0.02
_UNITS = 10**WEIGHT_DIGITS


class Level(NamedTuple):
    """One granularity: the skills that compete on it, 0..K-1, and the temperature of their softmax."""

    skills: NDArray[np.int64]
    temperature: float


def weigh_skills(
    closeness: NDArray[np.float32], lost: NDArray[np.bool_], levels: Sequence[Level], *, top_k: int
) -> SkillWeights:
    """Return on each level softmax(closeness / temperature) over the ``top_k`` closest skills, in equal shares.

    Averaging over granularities is steadier than any one of them.

    Args:
        closeness: Of n texts to K skills, shape (n, K); the larger the closer.
        lost: Which texts resemble no skill, shape (n,): they have weight 1 on the mode's root, skill 0.
        levels: At least one, unless K is 0.
        top_k: How many skills of a level take part.
    """
    count = len(closeness)
    if not levels:
        return root_weights(count)
    numbers, weights = [], []
    for level in levels:
        # A level of all skills is the array itself, not a copy.
        inside = closeness if len(level.skills) == closeness.shape[1] else closeness[:, level.skills]
        near, soft = _weigh_level(inside, level.temperature, top_k)
        numbers.append(level.skills[near] + 1)
        weights.append(soft / len(levels))
    skills, shares = np.concatenate(numbers, axis=1).astype(np.int32), np.concatenate(weights, axis=1)
    skills[lost], shares[lost] = 0, 0.0
    shares[lost, 0] = 1.0
    rows = np.repeat(np.arange(count), skills.shape[1])
    return round_weights(rows, skills.ravel(), shares.ravel(), count)


def _weigh_level(
    closeness: NDArray[np.float32], temperature: float, top_k: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    near, values = _find_nearest(closeness, min(top_k, closeness.shape[1]))
    soft = np.exp((values - values.max(axis=1, keepdims=True)) / temperature)
    soft /= soft.sum(axis=1, keepdims=True)
    soft[(soft < MIN_WEIGHT) & (soft < soft.max(axis=1, keepdims=True))] = 0.0
    return near, soft / soft.sum(axis=1, keepdims=True)


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


def _find_nearest(closeness: NDArray[np.float32], top: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the ``top`` largest of each row in order of skill; among equals the lower skill."""
    count, width = closeness.shape
    if top == width:
        near = np.broadcast_to(np.arange(top), (count, top)).copy()
        return near, closeness.astype(np.float64)
    near = np.sort(np.argpartition(closeness, width - top, axis=1)[:, width - top :], axis=1)
    values = np.take_along_axis(closeness, near, axis=1)
    bound = values.min(axis=1, keepdims=True)
    # Where more skills than were taken are as close as the last of them, which ones were taken is chance.
    tied = np.flatnonzero((closeness == bound).sum(axis=1) > (values == bound).sum(axis=1))
    for row in tied.tolist():
        near[row] = np.sort(np.argsort(-closeness[row], kind="stable")[:top])
    values[tied] = np.take_along_axis(closeness[tied], near[tied], axis=1)
    return near, values.astype(np.float64)
