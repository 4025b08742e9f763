"""Numbers are chosen by what was kept aside."""

from __future__ import annotations

import numpy as np
import pytest

from skillctl.core.discover.calibrating import KAPPAS, Fold, calibrate, draw_folds, find_advantage
from skillctl.core.profile.skill_tree import build_tree

TREE = build_tree([-1, 0, 0])


def folds(success: np.ndarray, right: np.ndarray, wrong: np.ndarray) -> list[Fold]:
    """Temperature 0.1 names the skills right, 0.5 at random."""
    return [
        Fold(train, test, TREE, {0.1: right, 0.5: wrong})
        for train, test in draw_folds(len(success), np.random.default_rng(0))
    ]


def plant(gap: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    kind = np.arange(400) % 2
    chance = np.where(kind[:, None] == np.arange(2), 0.5 + gap, 0.5 - gap)
    success = (rng.random((400, 2)) < chance).astype(float)
    right, wrong = np.zeros((400, 3)), np.zeros((400, 3))
    right[np.arange(400), 1 + kind] = 1
    wrong[np.arange(400), 1 + rng.integers(0, 2, 400)] = 1
    return success, right, wrong


def test_strong_differences_ask_for_the_sharp_naming_and_a_weak_prior() -> None:
    success, right, wrong = plant(0.4)
    result = calibrate(folds(success, right, wrong), success)
    assert result.temperature == 0.1
    assert result.kappa <= 8
    # Two agents centred over both: (2 * 0.4)² / 2 of squared difference is foreseen.
    assert result.gain == pytest.approx(0.32, abs=0.05)
    assert result.gain > 5 * result.standard_error


def test_no_difference_asks_for_the_strongest_prior_and_gains_nothing() -> None:
    success, right, wrong = plant(0.0)
    result = calibrate(folds(success, right, wrong), success)
    assert result.kappa >= 16
    assert abs(result.gain) < 3 * result.standard_error + 1e-3


def test_little_evidence_leaves_the_prior_in_the_middle_of_what_is_tried() -> None:
    success = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    weights = np.tile([1.0, 0.0, 0.0], (4, 1))  # the root alone: every κ foresees the same
    result = calibrate(folds(success, weights, weights), success, averages=True)
    assert result.kappa == KAPPAS[len(KAPPAS) // 2]
    assert result.temperature == 0.1  # of equals the sharpest
    assert (result.gain, result.z) == (0.0, 0.0)


def test_much_evidence_leaves_little_to_average() -> None:
    success, right, wrong = plant(0.4)
    best, average = (calibrate(folds(success, right, wrong), success, averages=averages) for averages in (False, True))
    assert best.temperature == average.temperature
    assert average.kappa <= 8
    assert average.gain == pytest.approx(best.gain, abs=0.003)


def test_the_advantage_has_the_sign_of_the_better_skills() -> None:
    success, right, wrong = plant(0.4)
    good, bad = folds(success, right, right), folds(success, wrong, wrong)
    assert find_advantage(good, bad, success) > 5
    assert find_advantage(bad, good, success) == -find_advantage(good, bad, success)
    assert find_advantage(good, good, success) == 0.0


def test_folds_partition_the_queries() -> None:
    drawn = draw_folds(10, np.random.default_rng(1))
    assert sorted(row for _, test in drawn for row in test) == list(range(10))
    assert all(not set(train) & set(test) for train, test in drawn)
