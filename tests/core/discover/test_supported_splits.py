"""Groups stay apart where outcomes tell them apart, and only there."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.discover.supported_splits import LEAST_EVIDENCE, PRIOR_WEIGHT, Group, find_evidence, merge_alike
from skillctl.core.profile.heterogeneity import find_likeness


def flip(chances: list[list[float]], each: int, seed: int = 0) -> np.ndarray:
    """Return outcomes of ``each`` queries with the chances of every agent in each group in turn."""
    rows = np.repeat(np.array(chances), each, axis=0)
    return (np.random.default_rng(seed).random(rows.shape) < rows).astype(float)


def ranges(*ends: int) -> list[Group]:
    """Return groups without parts, of consecutive queries up to each end."""
    return [Group(np.arange(start, end)) for start, end in zip((0, *ends), ends, strict=False)]


def members(groups: tuple[Group, ...]) -> list[list[int]]:
    return [group.members.tolist() for group in groups]


ADDER, POET = [0.9, 0.2], [0.2, 0.9]


def test_groups_on_which_agents_fare_alike_are_merged_and_others_stay() -> None:
    success = flip([ADDER, POET, ADDER], 20)
    merged = merge_alike(ranges(20, 40, 60), success)
    assert members(merged) == [[*range(20), *range(40, 60)], [*range(20, 40)]]


def test_parts_that_are_one_make_their_group_an_innermost_one() -> None:
    success = flip([ADDER, ADDER, POET], 20)
    groups = [Group(np.arange(40), tuple(ranges(20, 40))), Group(np.arange(40, 60))]
    merged = merge_alike(groups, success)
    assert members(merged) == [[*range(40)], [*range(40, 60)]]
    assert not any(group.parts for group in merged)


def test_where_all_are_one_nothing_comes_back() -> None:
    assert merge_alike(ranges(20, 40), flip([[0.5, 0.5], [0.5, 0.5]], 20)) == ()
    assert merge_alike([], flip([[0.5, 0.5]], 20)) == ()


def test_parts_of_the_only_group_take_its_place() -> None:
    success = flip([ADDER, POET], 20)
    merged = merge_alike([Group(np.arange(40), tuple(ranges(20, 40)))], success)
    assert members(merged) == [[*range(20)], [*range(20, 40)]]


def test_the_evidence_asked_for_decides_what_stays_apart() -> None:
    success = flip([[0.5, 0.5], [0.7, 0.4]], 40)
    evidence = find_evidence(ranges(40, 80), success)
    assert 0 < evidence < LEAST_EVIDENCE
    assert merge_alike(ranges(40, 80), success) == ()
    assert len(merge_alike(ranges(40, 80), success, least_evidence=0.9 * evidence)) == 2
    assert merge_alike(ranges(40, 80), success, least_evidence=1.1 * evidence) == ()


def test_the_two_least_alike_innermost_groups_say_how_strong_the_evidence_is() -> None:
    success = flip([ADDER, POET, [0.55, 0.55]], 30)
    groups = [Group(np.arange(60), tuple(ranges(30, 60))), Group(np.arange(60, 90))]
    wins = np.stack([success[:30].sum(axis=0), success[30:60].sum(axis=0)], axis=1)
    assert find_evidence(groups, success) == pytest.approx(-find_likeness(wins, 30 - wins, PRIOR_WEIGHT))
    assert find_evidence(groups[1:], success) == find_evidence([], success) == 0.0


def test_queries_without_a_verdict_do_not_count() -> None:
    success = flip([ADDER, POET], 20)
    success[:, 1] = np.nan
    success[20:, 0] = np.nan
    assert merge_alike(ranges(20, 40), success) == ()


def test_a_poor_agent_that_shines_in_one_group_keeps_it_apart() -> None:
    success = flip([[0.95, 0.05], [0.95, 0.05], [0.95, 1.0]], 20)
    assert members(merge_alike(ranges(20, 40, 60), success)) == [[*range(40)], [*range(40, 60)]]


@given(st.integers(0, 2**16), st.integers(2, 6))
def test_innermost_siblings_are_held_apart_by_very_strong_evidence(seed: int, count: int) -> None:
    success = flip(np.random.default_rng(seed).random((count, 1)).tolist(), 12, seed)  # one agent always matters
    merged = merge_alike(ranges(*range(12, 12 * count + 1, 12)), success)
    assert sorted(chain.from_iterable(members(merged))) in ([], [*range(12 * count)])
    for pair in combinations(merged, 2):
        wins = np.stack([success[group.members].sum(axis=0) for group in pair], axis=1)
        losses = np.array([len(group.members) for group in pair]) - wins
        assert find_likeness(wins, losses, PRIOR_WEIGHT) <= -LEAST_EVIDENCE
