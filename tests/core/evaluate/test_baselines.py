"""The routers that a handbook is compared with do what their names say."""

from __future__ import annotations

import numpy as np
import pytest

from skillctl.core.evaluate.baselines import (
    predict_best_single,
    predict_cluster_mean,
    predict_neighbours,
    predict_random,
    predict_raw_rate,
    predict_ridge,
)
from skillctl.core.outcomes import agent_means


@pytest.fixture
def planted() -> tuple[np.ndarray, np.ndarray]:
    """Two blobs of queries; agent 0 masters the first, agent 1 the second."""
    rng = np.random.default_rng(5)
    features = np.concatenate([rng.normal([3, 0, 0], 0.3, (40, 3)), rng.normal([0, 3, 0], 0.3, (40, 3))])
    success = np.repeat([[1.0, 0.0], [0.0, 1.0]], 40, axis=0)
    return features, success


def test_means_are_laplace_smoothed_and_skip_what_has_no_verdict() -> None:
    np.testing.assert_allclose(agent_means(np.array([[1.0, np.nan], [1.0, 0.0]])), [3 / 4, 1 / 3])


def test_the_best_single_agent_is_the_same_everywhere() -> None:
    predicted = predict_best_single(np.array([[1.0, 0.0], [1.0, 1.0]]), 3)
    assert predicted.argmax(axis=1).tolist() == [0, 0, 0]


def test_the_raw_rate_prefers_one_of_one_and_reads_never_tried_as_zero() -> None:
    success = np.array([[1.0, 1.0], [np.nan, 1.0], [np.nan, 0.0]])
    predicted = predict_raw_rate(success, np.array([0, 0, 0]), np.array([0, 1]))
    np.testing.assert_allclose(predicted, [[1.0, 2 / 3], [0.0, 0.0]])


def test_neighbours_ridge_and_clusters_separate_two_planted_blobs(planted: tuple[np.ndarray, np.ndarray]) -> None:
    features, success = planted
    new = np.array([[3.0, 0.1, 0.0], [0.1, 3.0, 0.0]])
    rng = np.random.default_rng(0)
    for predicted in (
        predict_neighbours(features, success, new, k=5),
        predict_ridge(features, success, new, penalty=0.1),
        predict_cluster_mean(features, success, new, clusters=2, rng=rng),
    ):
        assert predicted.argmax(axis=1).tolist() == [0, 1]


def test_ridge_with_an_endless_penalty_predicts_the_means(planted: tuple[np.ndarray, np.ndarray]) -> None:
    features, success = planted
    predicted = predict_ridge(features, success, features[:2], penalty=1e9)
    np.testing.assert_allclose(predicted, np.tile(agent_means(success), (2, 1)), atol=1e-6)


def test_neighbours_without_a_verdict_read_as_the_agents_mean() -> None:
    success = np.array([[np.nan, 1.0], [1.0, 0.0]])
    predicted = predict_neighbours(np.eye(2), success, np.array([[1.0, 0.0]]), k=1)
    np.testing.assert_allclose(predicted, [[2 / 3, 1.0]])


def test_random_choices_come_from_the_generator_alone() -> None:
    success = np.ones((2, 4))
    first, second = (predict_random(success, 5, np.random.default_rng(9)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
