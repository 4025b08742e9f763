from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.profile.beliefs import mean
from skillctl.core.profile.skill_tree import (
    DEFAULT_KAPPA,
    KAPPA_GRID,
    build_tree,
    fit_kappa,
    pool_credit,
    tree_posteriors,
)

# 0 is the root, 1 and 2 stand below it, 3 and 4 below 1.
_TREE = build_tree([-1, 0, 0, 1, 1])


def test_a_coarse_skill_pools_what_is_below_it_and_the_root_everything() -> None:
    direct = np.array([[0.5, 0.0, 0.25, 1.0, 0.125]])
    assert pool_credit(_TREE, direct).tolist() == [[1.875, 1.125, 0.25, 1.0, 0.125]]


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(*(st.integers(0, k) for k in range(n)))))
def test_the_root_of_any_tree_gets_every_credit_once(parents: tuple[int, ...]) -> None:
    tree = build_tree([-1, *parents])
    direct = np.arange(1.0, len(parents) + 2)
    assert pool_credit(tree, direct)[0] == direct.sum()


def test_parents_may_have_larger_numbers_than_their_children() -> None:
    tree = build_tree([-1, 2, 0])
    assert pool_credit(tree, np.array([0.0, 1.0, 0.0])).tolist() == [1.0, 1.0, 1.0]


def test_posteriors_are_prior_plus_evidence_at_every_level() -> None:
    wins = pool_credit(_TREE, np.array([[0.0, 0.0, 3.0, 5.0, 1.0], [0.0, 0.0, 2.0, 2.0, 0.5]]))
    losses = pool_credit(_TREE, np.array([[0.0, 0.0, 1.0, 1.0, 2.0], [0.0, 0.0, 2.0, 4.0, 0.5]]))
    alpha, beta = tree_posteriors(_TREE, wins, losses, 6.0)
    assert (alpha - wins)[:, 0].tolist() == [1.0, 1.0]
    assert (alpha - wins + beta - losses)[:, 1:] == pytest.approx(np.full((2, 4), 6.0))
    assert np.all(alpha >= wins)


def test_a_tree_without_evidence_reads_as_one_half_everywhere() -> None:
    assert mean(*tree_posteriors(_TREE, np.zeros((1, 5)), np.zeros((1, 5)), 6.0)).tolist() == [[0.5] * 5]


@given(extra=st.floats(0.1, 30.0))
def test_another_success_never_lowers_the_chance_in_its_skill(extra: float) -> None:
    wins, losses = np.array([[0.0, 0.0, 3.0, 5.0, 1.0]]), np.array([[0.0, 0.0, 1.0, 1.0, 2.0]])
    more = wins + np.array([[0.0, 0.0, 0.0, extra, 0.0]])
    before, after = (
        mean(*tree_posteriors(_TREE, pool_credit(_TREE, s), pool_credit(_TREE, losses), 6.0)) for s in (wins, more)
    )
    assert after[0, 3] > before[0, 3]


def test_one_success_in_a_skill_does_not_beat_nineteen_of_twenty() -> None:
    tree = build_tree([-1, 0, 0])
    wins = pool_credit(tree, np.array([[0.0, 1.0, 10.0], [0.0, 19.0, 10.0]]))
    losses = pool_credit(tree, np.array([[0.0, 0.0, 10.0], [0.0, 1.0, 10.0]]))
    chances = mean(*tree_posteriors(tree, wins, losses, 6.0))
    assert chances[0, 1] < chances[1, 1]


def test_with_little_evidence_kappa_keeps_its_default() -> None:
    assert fit_kappa(_TREE, np.ones((2, 5)), np.ones((2, 5))) == DEFAULT_KAPPA
    assert fit_kappa(build_tree([-1]), np.full((50, 1), 9.0), np.full((50, 1), 9.0)) == DEFAULT_KAPPA


def _simulate(kappa: float) -> float:
    rng = np.random.default_rng(11)
    tree = build_tree([-1] + [0] * 20)
    ability = rng.beta(5.0, 5.0, size=(30, 1))
    chance = rng.beta(kappa * ability, kappa * (1 - ability), size=(30, 20))
    n = np.full((30, 20), 60)
    wins = rng.binomial(n, chance).astype(float)
    pad = np.zeros((30, 1))
    s, f = np.hstack([pad, wins]), np.hstack([pad, n - wins])
    return fit_kappa(tree, pool_credit(tree, s), pool_credit(tree, f))


def test_kappa_stops_at_the_end_of_its_grid_where_skills_make_no_difference() -> None:
    assert _simulate(1000.0) == KAPPA_GRID[-1]


def test_evidence_that_is_spread_over_skills_keeps_the_default() -> None:
    counts = np.full((6, 5), 40.25)
    assert fit_kappa(_TREE, counts, counts) == DEFAULT_KAPPA


@pytest.mark.parametrize("kappa", [3.0, 8.0, 24.0])
def test_kappa_recovers_how_much_agents_differ_between_skills(kappa: float) -> None:
    assert _simulate(kappa) in {value for value in KAPPA_GRID if kappa / 1.7 < value < kappa * 1.7}
