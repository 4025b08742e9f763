from __future__ import annotations

import numpy as np
import pytest

from skillctl.core.refine.bisecting import MIN_PART, Lesson, find_bisections, find_residuals, split_in_halves
from skillctl.core.refine.refinement import find_threshold

QUERIES, AGENTS = 120, 4


def make_lesson(seed: int, chances: np.ndarray, *, shared: float = 0.0) -> Lesson:
    """Return queries at random points; ``chances`` (sides, agents) by the sign of the first coordinate."""
    rng = np.random.default_rng(seed)
    points = rng.normal(0, 0.2, (QUERIES, 20))
    sides = (points[:, 0] > 0).astype(int)
    draws = rng.random((QUERIES, AGENTS))
    draws = np.where(rng.random((QUERIES, 1)) < shared, draws[:, :1], draws)
    wins = (draws < chances[sides]).astype(np.float64)
    return Lesson(points, wins, 1.0 - wins, [None] * QUERIES)


def find_best(lesson: Lesson, seed: int) -> tuple[float, float]:
    """Return the best evidence and what it had to exceed."""
    found = find_bisections(lesson, np.random.default_rng(seed))
    return max((one.evidence for one in found), default=0.0), find_threshold(len(found))


@pytest.mark.parametrize("shared", [0.0, 0.5], ids=["independent agents", "agents that fail together"])
def test_noise_is_not_split(shared: float) -> None:
    chances = np.full((2, AGENTS), [0.3, 0.5, 0.6, 0.8])
    results = [find_best(make_lesson(seed, chances, shared=shared), seed) for seed in range(40)]
    assert sum(evidence > least for evidence, least in results) == 0


def test_what_texts_hide_is_found_by_outcome() -> None:
    chances = np.array([[0.95, 0.1, 0.9, 0.1], [0.1, 0.95, 0.1, 0.9]])
    found = find_bisections(make_lesson(1, chances), np.random.default_rng(1))
    best = max(found, key=lambda one: one.evidence)
    assert best.basis == "outcome"
    assert best.evidence > 10


def test_labels_are_tried_each_against_the_rest_and_a_partition_once() -> None:
    lesson = make_lesson(2, np.full((2, AGENTS), 0.5))._replace(tasks=["a", "b", *["a", "b"] * (QUERIES // 2 - 1)])
    bases = [one.basis for one in find_bisections(lesson, np.random.default_rng(0))]
    assert [basis for basis in bases if basis.startswith("task")] == ["task a"]


def test_no_part_is_smaller_than_the_least() -> None:
    lesson = make_lesson(3, np.full((2, AGENTS), 0.5))
    lesson = lesson._replace(tasks=["rare"] * (MIN_PART - 1) + ["often"] * (QUERIES - MIN_PART + 1))
    found = find_bisections(lesson, np.random.default_rng(0))
    assert all(one.basis == "text" or min(np.bincount(one.sides)) >= MIN_PART for one in found)
    assert not any(one.basis.startswith("task") for one in found)


def test_halves_are_a_partition() -> None:
    first, second = split_in_halves(11, np.random.default_rng(0))
    assert sorted([*first, *second]) == list(range(11))


def test_residuals_leave_out_what_was_not_tried() -> None:
    wins, losses = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 0.0]])
    residuals = find_residuals(wins, losses)
    assert residuals[1, 1] == 0
    assert residuals.sum(axis=1) == pytest.approx([0, 0])


def make_strata(seed: int, strata: int, *, apart: float, cross: float) -> Lesson:
    """Return queries in strata on which agents differ by ``apart``, and by ``cross`` on both sides of each stratum."""
    rng = np.random.default_rng(seed)
    lesson = make_lesson(seed, np.full((2, AGENTS), 0.5))
    places = rng.integers(0, strata, QUERIES)
    sign = np.where(np.arange(AGENTS) % 2, 1, -1)
    chances = 0.5 + rng.uniform(-apart, apart, (strata, AGENTS))[places]
    chances += cross * np.outer(np.sign(lesson.points[:, 0]), sign)
    wins = (rng.random((QUERIES, AGENTS)) < chances).astype(np.float64)
    lesson.points[:, 1] += places * 0.3
    return Lesson(lesson.points, wins, 1.0 - wins, lesson.tasks, places)


@pytest.mark.parametrize("strata", [2, 6, 12])
def test_what_strata_explain_is_not_split(strata: int) -> None:
    results = [find_best(make_strata(seed, strata, apart=0.4, cross=0.0), seed) for seed in range(12)]
    assert sum(evidence > least for evidence, least in results) == 0


def test_what_runs_across_all_strata_is_found() -> None:
    results = [find_best(make_strata(seed, 4, apart=0.1, cross=0.35), seed) for seed in range(6)]
    assert all(evidence > least for evidence, least in results)


def test_the_strata_themselves_are_no_evidence() -> None:
    lesson = make_strata(1, 2, apart=0.45, cross=0.0)
    assert lesson.strata is not None
    assert lesson._replace(strata=None).weigh_sides(lesson.strata) > 10
    assert lesson.weigh_sides(lesson.strata) < 1
