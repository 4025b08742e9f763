from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.skill_weights import join_weights, root_weights, round_weights, weigh_skills

if TYPE_CHECKING:
    from skillctl.core.orchestration import SkillWeights

FLAT = np.arange(1, 5, dtype=np.int32)[:, None], np.ones((4, 1))


def rows(weights: SkillWeights) -> list[dict[int, float]]:
    parts = zip(weights.indptr, weights.indptr[1:], strict=False)
    return [dict(zip(weights.skills[a:b].tolist(), weights.weights[a:b].tolist(), strict=True)) for a, b in parts]


def weigh(similarity: list[list[float]], **settings: float) -> list[dict[int, float]]:
    chosen = {"temperature": 0.1, "top_k": 8, "min_similarity": 0.0, **settings}
    return rows(weigh_skills(np.array(similarity), *FLAT, **chosen))  # type: ignore[arg-type]


def test_weights_are_the_softmax_of_similarities() -> None:
    (row,) = weigh([[0.3, 0.1, 0.2, 0.0]])
    soft = np.exp([3, 1, 2, 0]) / np.exp([3, 1, 2, 0]).sum()
    assert list(row.values()) == pytest.approx(soft, abs=1e-4)


def test_only_the_nearest_skills_take_part_and_ties_go_to_the_lower() -> None:
    assert list(weigh([[0.1, 0.4, 0.2, 0.2]], top_k=2)[0]) == [2, 3]
    assert list(weigh([[0.2, 0.2, 0.2, 0.2]], top_k=3)[0]) == [1, 2, 3]


def test_a_state_that_resembles_no_skill_has_the_root_alone() -> None:
    assert weigh([[0.1, 0.2, 0.1, 0.0], [0.5, 0, 0, 0]], min_similarity=0.3, temperature=0.01) == [{0: 1.0}, {1: 1.0}]


def test_a_weight_below_two_hundredths_goes_to_the_others() -> None:
    (row,) = weigh([[0.5, 0.5, 0.15, 0.0]])
    assert row == {1: 0.5, 2: 0.5}


def test_a_share_of_each_weight_goes_up_its_path() -> None:
    paths = np.array([[1, 1], [2, 1]], np.int32)
    shares = np.array([[1.0, 0.0], [0.6, 0.4]])
    weights = weigh_skills(np.array([[0.0, 9.0]]), paths, shares, temperature=0.1, top_k=8, min_similarity=0.0)
    assert rows(weights) == [{1: 0.4, 2: 0.6}]


@given(
    st.lists(st.lists(st.floats(-1, 2), min_size=4, max_size=4), min_size=1, max_size=6),
    st.sampled_from([0.001, 0.08, 10.0]),
    st.integers(1, 6),
)
def test_weights_are_positive_multiples_of_a_ten_thousandth_that_sum_to_one(
    similarity: list[list[float]], temperature: float, top_k: int
) -> None:
    weights = weigh_skills(np.array(similarity), *FLAT, temperature=temperature, top_k=top_k, min_similarity=-0.5)
    units = weights.weights * 10_000
    assert units == pytest.approx(np.rint(units), abs=1e-9)
    assert (units > 0).all()
    assert np.add.reduceat(np.rint(units), weights.indptr[:-1]).tolist() == [10_000] * len(similarity)
    assert rows(weights) == [
        rows(weigh_skills(np.array([row]), *FLAT, temperature=temperature, top_k=top_k, min_similarity=-0.5))[0]
        for row in similarity
    ]


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
    empty = np.empty((2, 0))
    weights = weigh_skills(
        empty, np.empty((0, 1), np.int32), np.empty((0, 1)), temperature=1, top_k=8, min_similarity=0
    )
    assert rows(weights) == [{0: 1.0}, {0: 1.0}]
