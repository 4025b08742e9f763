"""Groups of points, and the members that stand for them."""

from __future__ import annotations

import numpy as np
import pytest

from skillctl.core.discover.clustering import (
    Clusters,
    absorb_small,
    choose_examples,
    find_clusters,
    merge_clusters,
    squared_distances,
)


@pytest.fixture
def blobs() -> np.ndarray:
    """Four tight blobs, two of them near each other."""
    rng = np.random.default_rng(3)
    centres = np.array([[0, 0], [1, 0], [10, 0], [0, 10]])
    return np.concatenate([rng.normal(centre, 0.05, (20, 2)) for centre in centres])


def test_planted_blobs_are_found_and_the_nearest_merge_first(blobs: np.ndarray) -> None:
    clusters = find_clusters(blobs, 4, np.random.default_rng(0))
    assert [len(set(clusters.labels[start : start + 20])) for start in (0, 20, 40, 60)] == [1, 1, 1, 1]
    assert len(clusters.centres) == 4
    merged = merge_clusters(clusters, 3)[clusters.labels]
    assert merged[0] == merged[20]
    assert len(set(merged)) == 3


def test_points_that_coincide_give_fewer_clusters() -> None:
    assert len(find_clusters(np.zeros((5, 2)), 3, np.random.default_rng(0)).centres) == 1


def test_the_same_seed_gives_the_same_clusters(blobs: np.ndarray) -> None:
    first, second = (find_clusters(blobs, 7, np.random.default_rng(5)).labels for _ in range(2))
    assert first.tolist() == second.tolist()


def test_the_examples_of_a_group_have_its_mean() -> None:
    points = np.array([[0.0], [4.0], [5.0], [6.0], [10.0]])
    members = np.arange(5)
    assert choose_examples(points, members, 1).tolist() == [2]
    assert points[choose_examples(points, members, 3)].mean() == pytest.approx(5.0)
    assert sorted(choose_examples(points, members, 9).tolist()) == [0, 1, 2, 3, 4]


def test_distances_are_squared_and_never_negative() -> None:
    points = np.array([[1.0, 2.0], [4.0, 6.0]])
    np.testing.assert_allclose(squared_distances(points, points), [[0, 25], [25, 0]])


def test_small_clusters_go_to_the_nearest_ones_that_stay() -> None:
    points = np.array([[0.0], [0.1], [0.2], [1.0], [9.0], [9.1], [9.2], [8.0], [8.1]])
    labels = np.array([0, 0, 0, 1, 2, 2, 2, 3, 3])
    centres = np.array([[0.1], [1.0], [9.1], [8.05]])
    absorbed = absorb_small(points, Clusters(labels, centres), 3)
    assert absorbed.labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert absorbed.centres[:, 0] == pytest.approx([0.325, 8.68])
    assert absorb_small(points, Clusters(labels, centres), 1).labels.tolist() == labels.tolist()
    assert set(absorb_small(points, Clusters(labels, centres), 99).labels) == {0}
