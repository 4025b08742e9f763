from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.profile.run_moments import METRICS, RunMoments

_RUNS = st.lists(st.tuples(st.integers(0, 2), st.none() | st.floats(0, 1000)), max_size=30)


@given(runs=_RUNS, cuts=st.lists(st.integers(0, 30), max_size=4))
def test_batches_merge_to_the_mean_and_variance_of_the_whole(
    runs: list[tuple[int, float | None]], cuts: list[int]
) -> None:
    moments = RunMoments(3)
    edges = [0, *sorted(min(cut, len(runs)) for cut in cuts), len(runs)]
    for start, end in pairwise(edges):
        part = runs[start:end]
        values = np.full((len(part), len(METRICS)), np.nan)
        values[:, 0] = np.array([value for _, value in part], dtype=float)
        moments.add(np.array([pair for pair, _ in part], dtype=np.int64), values)
    for pair in range(3):
        known = [value for owner, value in runs if owner == pair and value is not None]
        assert moments.count[pair, 0] == len(known)
        if known:
            assert moments.mean[pair, 0] == pytest.approx(np.mean(known))
            assert moments.squares[pair, 0] == pytest.approx(np.var(known) * len(known), abs=1e-6)
    assert not moments.count[:, 1:].any()
