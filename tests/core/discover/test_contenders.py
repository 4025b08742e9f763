"""Agents that matter to routing are near the best one somewhere."""

from __future__ import annotations

import numpy as np

from skillctl.core.discover.contenders import find_contenders, find_specialists


def test_contenders_come_within_a_fifth_of_the_best_and_unknown_outcomes_count_for_nothing() -> None:
    success = np.array([[1.0, 1.0, 0.0, np.nan]] * 60 + [[1.0, 0.0, 0.0, 1.0]] * 5)
    assert find_contenders(success).tolist() == [True, True, False, True]


def test_a_specialist_is_near_the_best_in_one_skill_with_evidence() -> None:
    wins = np.array([[30.0, 5.0], [10.0, 19.0], [10.0, 2.0]])
    losses = np.array([[10.0, 15.0], [30.0, 1.0], [30.0, 0.0]])
    assert find_specialists(wins, losses, np.array([0.6, 0.5, 0.3])).tolist() == [True, True, False]
