from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from skillctl.core.refine.mode_bench import Standing
from skillctl.core.refine.validation_gate import compare_standings


def make_standing(reward: list[float]) -> Standing:
    values = np.array(reward, dtype=np.float64)
    return cast(
        "Standing", Standing((), None, None, np.empty((0, 1)), np.empty(0, np.int64), values.astype(int), values)
    )  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("after", "kind", "passes"),
    [
        ([1, 1, 1, 0] * 10, "split", True),
        ([1, 0, 1, 0] * 10, "split", True),
        ([1, 1, 1, 0] * 10, "addition", True),
        ([1, 0, 1, 0] * 10, "addition", False),
        ([1, 0, 1, 0] * 9 + [1, 0, 0, 0], "split", False),
        ([1, 0, 1, 0] * 9 + [1, 0, 0, 0], "merge", True),
        ([0, 0, 0, 0] * 10, "merge", False),
    ],
    ids=[
        "better",
        "the same",
        "an addition that is better",
        "an addition that moves nothing",
        "worse by one",
        "a merge within chance",
        "a merge that hurts",
    ],
)
def test_an_edit_passes_where_validation_does_not_get_worse(after: list[float], kind: str, passes: bool) -> None:  # noqa: FBT001
    found = compare_standings(make_standing([1, 0, 1, 0] * 10), make_standing(after), kind, 0)  # type: ignore[arg-type]
    assert found.passes is passes
    assert found.gain
    assert found.gain.low <= found.gain.value <= found.gain.high
    assert found.queries == 40


def test_without_a_validation_query_nothing_passes() -> None:
    found = compare_standings(make_standing([]), make_standing([]), "merge", 0)
    assert found.gain is None
    assert not found.passes
