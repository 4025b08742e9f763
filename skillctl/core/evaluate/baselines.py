"""Routers that a handbook must beat, trained on the same outcomes.

Each predicts the success of every agent on new queries from features, shape (q, d), and outcomes of the training
queries, shape (n, agents), where NaN is no verdict; each returns shape (q, agents).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.outcomes import agent_means

if TYPE_CHECKING:
    from numpy.typing import NDArray


def predict_best_single(success: NDArray[np.float64], queries: int) -> NDArray[np.float64]:
    """Predict the agents' means everywhere: the best agent overall gets every query."""
    return np.tile(agent_means(success), (queries, 1))


def predict_random(success: NDArray[np.float64], queries: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Predict noise: every agent is as likely to be chosen."""
    return rng.random((queries, success.shape[1]))


def predict_raw_rate(
    success: NDArray[np.float64], labels: NDArray[np.int64], new: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Predict the raw success rate per label, the rule of the paper's reference implementation; never seen is 0.

    Args:
        success: Outcomes of the training queries.
        labels: Shape (n,), label of each training query.
        new: Shape (q,), label of each new query.
    """
    rates = np.zeros((int(max(labels.max(initial=-1), new.max(initial=-1))) + 1, success.shape[1]))
    for label in np.unique(labels):
        group = success[labels == label]
        count = (~np.isnan(group)).sum(axis=0)
        rates[label] = np.nansum(group, axis=0) / np.maximum(count, 1)
    return np.asarray(rates[new], dtype=np.float64)


def predict_neighbours(
    features: NDArray[np.float64], success: NDArray[np.float64], new: NDArray[np.float64], *, k: int
) -> NDArray[np.float64]:
    """Predict the mean outcome of the k nearest training queries by cosine (kNN)."""
    similarity = _unit(new) @ _unit(features).T
    k = min(k, len(features))
    nearest = np.argpartition(-similarity, k - 1, axis=1)[:, :k]
    return _mean_outcome(success[nearest], agent_means(success))


def predict_ridge(
    features: NDArray[np.float64], success: NDArray[np.float64], new: NDArray[np.float64], *, penalty: float
) -> NDArray[np.float64]:
    """Predict by ridge regression of each agent's residual success on the features, in its dual form.

    Hoerl and Kennard (1970); the penalty is relative to the mean squared norm of a training row.
    """
    centre = features.mean(axis=0)
    x, z = features - centre, new - centre
    gram = x @ x.T
    scale = penalty * max(float(np.trace(gram)) / len(x), 1e-12)
    mean = agent_means(success)
    residual = np.nan_to_num(success - mean)
    weights = np.linalg.solve(gram + scale * np.eye(len(x)), residual)
    return np.asarray(mean + z @ x.T @ weights, dtype=np.float64)


def predict_cluster_mean(
    features: NDArray[np.float64],
    success: NDArray[np.float64],
    new: NDArray[np.float64],
    *,
    clusters: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Predict the mean outcome of the nearest k-means cluster (Lloyd, k-means++), (s + 1) / (n + 2) within it."""
    from scipy.cluster.vq import kmeans2

    points = _unit(features)
    clusters = min(clusters, len(points))
    centres, labels = kmeans2(points, clusters, minit="++", rng=rng, missing="warn")
    nearest = np.argmax(_unit(new) @ centres.T - 0.5 * (centres**2).sum(axis=1), axis=1)
    table = np.tile(agent_means(success), (clusters, 1))
    for cluster in np.unique(labels):
        table[cluster] = agent_means(success[labels == cluster])
    return np.asarray(table[nearest], dtype=np.float64)


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    norm = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norm, 1e-12), dtype=np.float64)


def _mean_outcome(outcomes: NDArray[np.float64], otherwise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean over the middle axis of (q, k, agents), and ``otherwise`` where nothing is known."""
    known = ~np.isnan(outcomes)
    count = known.sum(axis=1)
    total = np.where(known, outcomes, 0.0).sum(axis=1)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), otherwise), dtype=np.float64)
