"""The geometry in which texts and skills are compared: it follows from the handbook's own texts.

A point is a text's direction among the main semantic axes of those texts, beside its surface; both parts have the
same spread, so that neither hides the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

AXES = 20
# Vectors are rounded to whole numbers of this length: products of two of them stay below 2**24, so a product in single
# precision is exact, whatever the size of the batch, the library or the number of threads.
SEMANTIC_STEPS = np.float32(4000)
POINT_STEPS = np.float32(1000)
# A surface further out than this is as far as it gets; with a semantic part of length about 1, points stay below 4.
_MAX_SURFACE = np.float32(3.5)
# The semantic centre is shrunk to the origin as if so many more texts had opposite vectors.
_CENTRE_SHRINKAGE = 3.0
# The surface's mean and variance start from those of eleven public sets of queries (chat, exams, code, tools,
# puzzles), with the weight of so many texts.
_PUBLIC_TEXTS = 10.0
_PUBLIC_MEAN = (
    2.01, 0.54, 0.32, 0.44, 0.34, 0.63, 0.20, 0.05, 0.23, 0.39, 0.23, 0.38, 0.22, 0.11, 0.10, 0.07, 0.27, 0.08, 0.26,
    0.01, 0.62, 0.12, 0.20, 1.15, 0.72,
)  # fmt: skip
_PUBLIC_VARIANCE = (
    0.14, 0.19, 0.10, 0.18, 0.01, 0.05, 0.21, 0.03, 0.16, 0.23, 0.22, 0.20, 0.17, 0.10, 0.13, 0.06, 0.21, 0.08, 0.11,
    0.01, 0.24, 0.07, 0.04, 0.04, 0.09,
)  # fmt: skip
# A feature that hardly varies among the texts is not blown up.
_LEAST_VARIANCE = 0.1
_TINY = np.float32(1e-9)


@dataclass(frozen=True, slots=True)
class Space:
    """How texts become points.

    Attributes:
        centre: Subtracted from every unit semantic vector, shape (dim,).
        axes: Main axes of the centred semantic vectors, whole numbers, shape (dim, p).
        semantic_scale: Divides the semantic part.
        surface_mean: Shape (25,).
        surface_scale: Divides the centred surface, shape (25,).
    """

    centre: Floats
    axes: Floats
    semantic_scale: float
    surface_mean: Floats
    surface_scale: Floats


class Points(NamedTuple):
    """Texts in a space.

    Attributes:
        points: Whole numbers, in steps of 1 / ``POINT_STEPS``, shape (n, p + 25).
        captured: How much of each text's semantic vector the axes hold, 0 to 1, shape (n,).
    """

    points: Floats
    captured: Floats


def fit_space(semantic: Floats, surface: Floats) -> Space:
    """Fit the space of a handbook's texts.

    Args:
        semantic: Semantic vectors of the texts, shape (n, dim).
        surface: Surface of those of the texts that are queries, shape (m, 25); m may be 0.
    """
    unit = to_unit(semantic)
    centre = np.asarray(unit.sum(axis=0) / np.float32(len(unit) + _CENTRE_SHRINKAGE), dtype=np.float32)
    directions = to_unit(unit - centre)
    axes = np.rint(_find_axes(directions) * SEMANTIC_STEPS).astype(np.float32)
    turned = to_unit(_turn(np.rint(directions * SEMANTIC_STEPS), axes))
    spread = turned.var(axis=0).sum() if len(turned) > 1 else 0.0
    weight = len(surface) + _PUBLIC_TEXTS
    mean = (surface.sum(axis=0) + _PUBLIC_TEXTS * np.array(_PUBLIC_MEAN)) / weight
    squares = ((surface - mean) ** 2).sum(axis=0)
    variance = (squares + _PUBLIC_TEXTS * np.array(_PUBLIC_VARIANCE)) / weight
    scale = np.sqrt(variance + _LEAST_VARIANCE)
    total = np.sqrt((variance / scale**2).sum())
    return Space(
        centre,
        axes,
        float(np.sqrt(spread)) or 1.0,
        mean.astype(np.float32),
        (scale * total).astype(np.float32),
    )


def project(space: Space, semantic: Floats, surface: Floats) -> Points:
    """Return texts as points; a row depends on its text alone."""
    directions = np.rint(to_unit(to_unit(semantic) - space.centre) * SEMANTIC_STEPS)
    turned = _turn(directions, space.axes)
    captured = _length(turned)
    apart = (surface - space.surface_mean) / space.surface_scale
    apart *= np.minimum(_MAX_SURFACE / np.maximum(_length(apart), _TINY), 1)
    joined = np.concatenate([to_unit(turned) / np.float32(space.semantic_scale), apart], axis=1)
    return Points(np.rint(joined * POINT_STEPS).astype(np.float32), np.minimum(captured[:, 0], 1))


def to_unit(vectors: Floats) -> Floats:
    """Return vectors of length 1; zero stays zero."""
    return np.asarray(vectors / np.maximum(_length(vectors), _TINY), dtype=np.float32)


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt((vectors * vectors).sum(axis=1, keepdims=True)), dtype=np.float32)


def _turn(directions: Floats, axes: Floats) -> Floats:
    """Return the coordinates along the axes of unit directions in whole steps: a product of whole numbers."""
    return np.asarray((directions @ axes) / SEMANTIC_STEPS**2, dtype=np.float32)


def _find_axes(directions: Floats) -> Floats:
    """Return the main axes, by decreasing variance, each with its largest component positive."""
    moments = directions.astype(np.float64).T @ directions.astype(np.float64)
    count = min(AXES, len(directions), len(moments))
    axes = np.linalg.eigh(moments)[1][:, ::-1][:, :count]
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(count)]
    return np.asarray(axes * np.where(largest < 0, -1.0, 1.0), dtype=np.float32)
