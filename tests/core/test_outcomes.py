"""Traces become arrays without losing what they know and do not know."""

from __future__ import annotations

import numpy as np

from skillctl.core.outcomes import remove_means, tabulate_outcomes
from skillctl.model.trace import Trace


def _trace(query_id: str | int, agent: str, *, success: bool | None, **more: object) -> Trace:
    return Trace(f"{query_id!r}-{agent}", query_id, f"text {query_id}", agent, success=success, **more)  # type: ignore[arg-type]


def test_agents_are_in_order_of_id_and_queries_in_order_of_appearance() -> None:
    table = tabulate_outcomes(
        [_trace("b", "zed", success=True), _trace("a", "abe", success=False)], mode="m", default_mode="m"
    )
    assert table.agents == ("abe", "zed")
    assert table.query_ids == ("b", "a")
    np.testing.assert_array_equal(table.success, [[np.nan, 1.0], [0.0, np.nan]])


def test_a_missing_verdict_and_an_outside_error_are_not_failures() -> None:
    traces = [_trace(1, "a", success=None), _trace(2, "a", success=False, error="timeout")]
    table = tabulate_outcomes(traces, mode="m", default_mode="m")
    assert np.isnan(table.success).all()
    assert table.trials.sum() == 0


def test_repeated_trials_are_averaged_and_counted() -> None:
    traces = [_trace(1, "a", success=ok, cost_usd=cost) for ok, cost in [(True, 1.0), (False, 3.0), (True, None)]]
    table = tabulate_outcomes(traces, mode="m", default_mode="m")
    assert table.success[0, 0] == 2 / 3
    assert table.trials[0, 0] == 3
    assert table.cost_usd[0, 0] == 2.0


def test_the_integer_id_and_the_same_digits_as_text_are_two_queries() -> None:
    table = tabulate_outcomes(
        [_trace(1, "a", success=True), _trace("1", "a", success=False)], mode="m", default_mode="m"
    )
    assert table.query_ids == (1, "1")


def test_only_traces_of_the_mode_are_taken_and_the_default_mode_takes_the_unnamed() -> None:
    traces = [_trace(1, "a", success=True), _trace(2, "a", success=True, mode="code")]
    assert tabulate_outcomes(traces, mode="m", default_mode="m").query_ids == (1,)
    assert tabulate_outcomes(traces, mode="code", default_mode="m").query_ids == (2,)
    assert tabulate_outcomes([], mode="m", default_mode="m").success.shape == (0, 0)


def test_taking_rows_keeps_their_order() -> None:
    traces = [_trace(n, "a", success=n % 2 == 0, task=f"t{n}") for n in range(4)]
    taken = tabulate_outcomes(traces, mode="m", default_mode="m").take([3, 0])
    assert (taken.query_ids, taken.tasks) == ((3, 0), ("t3", "t0"))
    np.testing.assert_array_equal(taken.success, [[0.0], [1.0]])


def test_means_are_removed_along_each_axis_and_unknown_values_are_zero() -> None:
    values = np.array([[1.0, 3.0, np.nan], [5.0, np.nan, 1.0]])
    known = ~np.isnan(values)
    assert remove_means(values, known, axes=(1,)).tolist() == [[-1.0, 1.0, 0.0], [2.0, 0.0, -2.0]]
    assert remove_means(values, known, axes=(1, 0)).tolist() == [[-1.5, 0.0, 0.0], [1.5, 0.0, 0.0]]
