"""Logged outcomes beside expectations."""

from __future__ import annotations

import numpy as np

from skillctl.core.evaluate.replay import align_outcomes, count_log, fill_costs, find_heaviest
from skillctl.core.orchestrate.orchestration import SkillWeights
from skillctl.core.outcomes import Outcomes
from skillctl.model.trace import Trace

NO = np.nan


def test_outcomes_are_aligned_to_the_handbooks_agents() -> None:
    cells = np.array([[1.0, 0.0]])
    outcomes = Outcomes(("q",), ("text",), (None,), ("b", "x"), cells, np.ones((1, 2)), cells)
    aligned = align_outcomes(outcomes, ["a", "b"])
    np.testing.assert_array_equal(aligned.success, [[NO, 1.0]])
    np.testing.assert_array_equal(aligned.trials, [[0.0, 1.0]])


def test_an_unknown_cost_of_a_run_reads_as_the_agents_mean_and_stays_unknown_without_any() -> None:
    np.testing.assert_array_equal(fill_costs(np.array([[1.0, NO], [3.0, NO], [NO, NO]])), [[1, NO], [3, NO], [2, NO]])


def test_the_heaviest_skill_is_the_first_of_equals() -> None:
    weights = SkillWeights(np.array([0, 2, 4]), np.array([4, 2, 1, 3], np.int32), np.array([0.5, 0.5, 0.25, 0.75]))
    assert find_heaviest(weights).tolist() == [2, 3]


def test_traces_that_cannot_be_replayed_are_counted_by_reason() -> None:
    def trace(agent: str, mode: str | None = None, *, success: bool | None = True) -> Trace:
        return Trace("t", "q", "text", agent, mode, success)

    counts = count_log(
        [trace("a"), trace("a", success=None), trace("new"), trace("a", "odd")],
        2,
        {"answer": frozenset({"a", "b"})},
        "answer",
    )
    assert counts.traces == 6
    assert counts.no_verdict == 1
    assert counts.unknown_agents == {"new": 1}
    assert counts.unknown_modes == {"odd": 1}
    assert counts.absent_agents == ("b",)
