from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.orchestrate.skill_weights import Level, join_weights, root_weights, round_weights, weigh_skills

if TYPE_CHECKING:
    from skillctl.core.orchestrate.orchestration import SkillWeights


def rows(weights: SkillWeights) -> list[dict[int, float]]:
    parts = zip(weights.indptr, weights.indptr[1:], strict=False)
    return [dict(zip(weights.skills[a:b].tolist(), weights.weights[a:b].tolist(), strict=True)) for a, b in parts]


def weigh(closeness: list[list[float]], *, temperature: float = 0.1, top_k: int = 8) -> list[dict[int, float]]:
    values = np.array(closeness)
    level = Level(np.arange(values.shape[1]), temperature)
    return rows(weigh_skills(values, np.zeros(len(values), bool), [level], top_k=top_k))


def test_weights_are_the_softmax_of_similarities() -> None:
    (row,) = weigh([[0.3, 0.1, 0.2, 0.0]])
    soft = np.exp([3, 1, 2, 0]) / np.exp([3, 1, 2, 0]).sum()
    assert list(row.values()) == pytest.approx(soft, abs=1e-4)


def test_only_the_nearest_skills_take_part_and_ties_go_to_the_lower() -> None:
    assert list(weigh([[0.1, 0.4, 0.2, 0.2]], top_k=2)[0]) == [2, 3]
    assert list(weigh([[0.2, 0.2, 0.2, 0.2]], top_k=3)[0]) == [1, 2, 3]


def test_a_state_that_resembles_no_skill_has_the_root_alone() -> None:
    level = Level(np.arange(2), 0.01)
    weights = weigh_skills(np.array([[0.1, 0.2], [0.5, 0.0]]), np.array([True, False]), [level], top_k=8)
    assert rows(weights) == [{0: 1.0}, {1: 1.0}]


def test_a_weight_below_two_hundredths_goes_to_the_others() -> None:
    (row,) = weigh([[0.5, 0.5, 0.15, 0.0]])
    assert row == {1: 0.5, 2: 0.5}


def test_every_level_has_the_same_share_and_its_own_temperature() -> None:
    coarse, fine = Level(np.array([0]), 0.1), Level(np.array([1, 2]), 1e-3)
    weights = weigh_skills(np.array([[9.0, 0.0, 0.1]]), np.zeros(1, bool), [coarse, fine], top_k=8)
    assert rows(weights) == [{1: 0.5, 3: 0.5}]


@given(
    st.lists(st.lists(st.floats(-1, 2), min_size=4, max_size=4), min_size=1, max_size=6),
    st.sampled_from([0.001, 0.08, 10.0]),
    st.integers(1, 6),
)
def test_weights_are_positive_multiples_of_a_ten_thousandth_that_sum_to_one(
    similarity: list[list[float]], temperature: float, top_k: int
) -> None:
    values, levels = np.array(similarity), [Level(np.arange(4), temperature), Level(np.arange(2), temperature)]
    weights = weigh_skills(values, np.zeros(len(values), bool), levels, top_k=top_k)
    units = weights.weights * 10_000
    assert units == pytest.approx(np.rint(units), abs=1e-9)
    assert (units > 0).all()
    assert np.add.reduceat(np.rint(units), weights.indptr[:-1]).tolist() == [10_000] * len(similarity)
    alone = [weigh_skills(row[None], np.zeros(1, bool), levels, top_k=top_k) for row in values]
    assert rows(weights) == [rows(weight)[0] for weight in alone]


def test_what_rounding_leaves_goes_to_the_largest_weight() -> None:
    third = np.full(3, 1 / 3)
    weights = round_weights(np.zeros(3, np.int64), np.array([4, 2, 9], np.int32), third, 1)
    assert rows(weights) == [{2: 0.3334, 4: 0.3333, 9: 0.3333}]


def test_equal_entries_add_up_and_vanishing_ones_go() -> None:
    weights = round_weights(
        np.array([0, 0, 0, 1]), np.array([3, 3, 1, 0], np.int32), np.array([0.5, 0.49999, 0.00001, 1.0]), 2
    )
    assert rows(weights) == [{3: 1.0}, {0: 1.0}]


def test_batches_join_row_by_row() -> None:
    one = round_weights(np.array([0, 0]), np.array([1, 2], np.int32), np.array([0.5, 0.5]), 1)
    assert rows(join_weights([root_weights(2), one, root_weights(1)])) == [
        {0: 1.0},
        {0: 1.0},
        {1: 0.5, 2: 0.5},
        {0: 1.0},
    ]
    assert rows(join_weights([])) == []


def test_without_skills_everything_is_the_root() -> None:
    weights = weigh_skills(np.empty((2, 0)), np.zeros(2, bool), [], top_k=8)
    assert rows(weights) == [{0: 1.0}, {0: 1.0}]
