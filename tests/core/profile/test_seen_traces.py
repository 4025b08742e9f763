from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.profile.seen_traces import SeenTraces

_BATCHES = st.lists(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2)), max_size=12), max_size=12)


@given(_BATCHES)
def test_a_trace_is_admitted_once_and_other_verdicts_are_conflicts(batches: list[list[tuple[int, int]]]) -> None:
    seen, held = SeenTraces(), dict[int, int]()
    for batch in batches:
        hashes = np.array([key << 2 for key, _ in batch], dtype=np.uint64) | np.uint64(1 << 63)
        admission = seen.admit(hashes, np.array([verdict for _, verdict in batch], dtype=np.int8))
        is_first, conflicts = [], 0
        for key, verdict in batch:
            is_first.append(key not in held)
            conflicts += held.setdefault(key, verdict) != verdict
        assert admission.is_first.tolist() == is_first
        assert admission.conflicts == conflicts


def test_memory_is_eight_bytes_a_trace() -> None:
    seen = SeenTraces()
    rng = np.random.default_rng(1)
    for _ in range(50):
        hashes = rng.integers(0, 2**63, size=1000, dtype=np.uint64)
        assert seen.admit(hashes, np.zeros(1000, dtype=np.int8)).is_first.all()
    assert sum(level.nbytes for level in seen._levels) == 8 * 50_000  # noqa: SLF001 - what it costs is the point
