from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.distinct import count_distinct, find_distinct


@given(st.lists(st.integers(-5, 5)))
def test_distinct_values_are_those_of_numpy(values: list[int]) -> None:
    array = np.array(values, np.int64)
    distinct, where, counts = np.unique(array, return_inverse=True, return_counts=True)
    for mine, theirs in zip(
        (*find_distinct(array), *count_distinct(array)), (distinct, where, distinct, counts), strict=True
    ):
        assert mine.tolist() == theirs.tolist()
