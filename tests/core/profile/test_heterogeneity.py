from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.profile.beliefs import log_marginal
from skillctl.core.profile.heterogeneity import find_evidence, find_likeness

counts = st.integers(0, 400)


def test_without_a_difference_in_difficulty_it_is_the_closed_form() -> None:
    # The margins of both parts are equal, so neither is harder: m(both) is one Beta-binomial.
    wins, losses = np.array([[18.0, 2.0], [2.0, 18.0]]), np.array([[2.0, 18.0], [18.0, 2.0]])
    prior = 6 * 0.5
    closed = sum(
        log_marginal(s, f, prior, prior).sum() - log_marginal(s.sum(), f.sum(), prior, prior)
        for s, f in zip(wins, losses, strict=True)
    )
    assert find_evidence(wins, losses, 6.0) == pytest.approx(float(closed), abs=1e-6)
    assert find_evidence(wins, losses, 6.0) > 10


def test_a_part_that_is_harder_for_everybody_is_no_reason_to_split() -> None:
    wins, losses = np.array([[90.0, 60.0], [85.0, 50.0], [70.0, 32.0]]), np.array([[10.0, 40.0], [15, 50], [30, 68]])
    assert find_evidence(wins, losses, 6.0) < 0


def test_equal_rates_speak_for_one_ability_the_more_the_more_evidence() -> None:
    few, many = np.full((3, 2), 10.0), np.full((3, 2), 200.0)
    assert find_evidence(many, many, 6.0) < find_evidence(few, few, 6.0) < 0


def test_an_agent_that_was_tried_on_one_part_alone_says_nothing() -> None:
    wins, losses = np.array([[9.0, 1.0], [5.0, 0.0]]), np.array([[1.0, 9.0], [5.0, 0.0]])
    assert find_evidence(wins, losses, 6.0) == find_evidence(wins[:1], losses[:1], 6.0)
    assert find_evidence(wins[1:], losses[1:], 6.0) == 0.0


@given(st.lists(st.tuples(counts, counts, counts, counts), min_size=1, max_size=5))
def test_the_parts_may_change_places(rows: list[tuple[int, ...]]) -> None:
    table = np.array(rows, dtype=np.float64).reshape(-1, 2, 2)
    straight = find_evidence(table[:, 0], table[:, 1], 6.0)
    turned = find_evidence(table[:, 0, ::-1], table[:, 1, ::-1], 6.0)
    assert np.isfinite(straight)
    assert straight == pytest.approx(turned, abs=1e-6)


def test_twins_are_alike_and_a_hard_skill_is_not_like_an_easy_one() -> None:
    twins = np.array([[90.0, 88.0], [50.0, 52.0]])
    assert find_likeness(twins, 100 - twins, 6.0) > 0
    assert find_likeness(twins, 100 - twins, 6.0) == pytest.approx(-find_evidence(twins, 100 - twins, 6.0), abs=0.1)
    harder = np.array([[90.0, 60.0], [50.0, 15.0]])
    assert find_likeness(harder, 100 - harder, 6.0) < -5
    assert find_evidence(harder, 100 - harder, 6.0) < 0


def test_what_is_known_of_the_parts_is_no_evidence() -> None:
    wins, losses = np.array([[18.0, 2.0], [2.0, 18.0]]), np.array([[2.0, 18.0], [18.0, 2.0]])
    assert find_evidence(wins, losses, 6.0, np.array([[0.9, 0.1], [0.1, 0.9]])) < 1
    assert find_evidence(wins, losses, 6.0, np.full((2, 2), 0.5)) > 10
