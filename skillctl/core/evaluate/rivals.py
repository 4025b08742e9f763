"""The baselines of an evaluation: simple routers, trained on logged outcomes and scored on the same board."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.evaluate.baselines import predict_cluster_mean, predict_neighbours, predict_ridge
from skillctl.core.orchestrate.features import WordEmbedder, WordTable
from skillctl.core.orchestrate.space import fit_space, project

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from skillctl.core.evaluate.replay import Board

    Floats = NDArray[np.float64]

FOLDS = 5
RIDGE_PENALTY = 1.0  # in mean squared norms of a row
_NEIGHBOURS = (5, 50)  # at least and at most; between them the root of the number of training queries
_CLUSTERS = (2, 30)
_MIN_TRAINING = 2

LEARNED = ("knn", "cluster_mean", "ridge")


class Training(NamedTuple):
    """Outcomes that baselines learn from; rows are queries, columns are the agents of the board.

    Attributes:
        modes: Mode of each query.
        texts: Text of each query.
        success: NaN without a verdict, shape (n, agents).
        cost: NaN for unknown, shape (n, agents).
        expected: What the handbook expects of them, shape (n, agents).
    """

    modes: NDArray[np.str_]
    texts: tuple[str, ...]
    success: Floats
    cost: Floats
    expected: Floats


class Fold(NamedTuple):
    """Rows to predict, and the rows to learn from."""

    test: NDArray[np.int64]
    train: NDArray[np.int64]


def split_folds(board: Board, seed: int) -> list[Fold]:
    """Split the board's queries for cross-fitting: a query that occurs in several modes is in one fold."""
    numbers: dict[tuple[type, str | int], int] = {}
    row = np.array([numbers.setdefault((type(name), name), len(numbers)) for name in board.query_ids], np.int64)
    fold = np.random.default_rng([seed, 5]).permutation(len(numbers))[row] % FOLDS
    return [Fold(np.flatnonzero(fold == k), np.flatnonzero(fold != k)) for k in range(FOLDS) if (fold == k).any()]


def as_training(board: Board) -> Training:
    """Return the board's own outcomes to learn from."""
    return Training(
        board.modes, board.texts, np.where(board.is_known, board.success, np.nan), board.cost, board.expected
    )


def predict_rivals(
    board: Board, training: Training, folds: Sequence[Fold], embedder: WordEmbedder, seed: int
) -> dict[str, Floats]:
    """Return each learned baseline's expected success of every agent, shape (q, n).

    Args:
        board: The queries to predict.
        training: The outcomes to learn from.
        folds: Which rows of the board are predicted from which rows of the training outcomes.
        embedder: Gives the features of texts, the same that the handbook's orchestrator sees.
        seed: Of the clusters.
    """
    table = WordTable(embedder)
    known = table.read(training.texts)
    space = fit_space(known.semantic, known.surface)
    features = [
        project(space, read.semantic, read.surface).points.astype(np.float64)
        for read in (table.read(board.texts), known)
    ]
    predicted = {name: board.root.copy() for name in LEARNED}
    for fold in folds:
        for mode in np.unique(board.modes[fold.test]):
            test = fold.test[board.modes[fold.test] == mode]
            train = fold.train[training.modes[fold.train] == mode]
            if len(train) < _MIN_TRAINING:
                continue
            for name, predict in _PREDICTORS.items():
                predicted[name][test] = predict(features[1][train], training.success[train], features[0][test], seed)
    return predicted


def _neighbours(features: Floats, success: Floats, new: Floats, _seed: int) -> Floats:
    least, most = _NEIGHBOURS
    return predict_neighbours(features, success, new, k=int(np.clip(np.sqrt(len(features)), least, most)))


def _clusters(features: Floats, success: Floats, new: Floats, seed: int) -> Floats:
    least, most = _CLUSTERS
    clusters = int(np.clip(np.sqrt(len(features) / 2), least, most))
    return predict_cluster_mean(features, success, new, clusters=clusters, rng=np.random.default_rng([seed, 9]))


def _ridge(features: Floats, success: Floats, new: Floats, _seed: int) -> Floats:
    return predict_ridge(features, success, new, penalty=RIDGE_PENALTY)


_PREDICTORS: dict[str, Callable[[Floats, Floats, Floats, int], Floats]] = {
    "knn": _neighbours,
    "cluster_mean": _clusters,
    "ridge": _ridge,
}
