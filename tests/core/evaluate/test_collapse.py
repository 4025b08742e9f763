"""Concentration of calls against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from skillctl.core.evaluate.collapse import measure_collapse


def test_one_agent_that_gets_everything_is_a_full_collapse() -> None:
    found = measure_collapse(np.array([[0.0, 1.0]]), 2)
    assert {name: values[0] for name, values in found.items()} == {
        "top1_share": 1.0, "entropy": 0.0, "effective_agents": 1.0, "hhi": 1.0,
    }  # fmt: skip


def test_even_calls_count_as_many_agents_as_there_are() -> None:
    found = measure_collapse(np.full((1, 4), 0.25), 4)
    assert found["entropy"][0] == pytest.approx(1.0)
    assert found["effective_agents"][0] == pytest.approx(4.0)
    assert found["hhi"][0] == pytest.approx(0.25)


def test_three_quarters_to_one_of_two() -> None:
    # H = -(0.75 ln 0.75 + 0.25 ln 0.25) = 0.562335; by ln 2 = 0.811278.
    found = measure_collapse(np.array([[0.75, 0.25]]), 2)
    assert found["entropy"][0] == pytest.approx(0.811278, abs=1e-6)
    assert found["hhi"][0] == pytest.approx(0.625)


def test_entropy_is_undefined_for_a_single_agent() -> None:
    assert np.isnan(measure_collapse(np.ones((1, 1)), 1)["entropy"][0])
