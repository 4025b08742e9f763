"""Contrastive pairs: one success and one failure on a query, spread over queries, labels and agents."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.discover.contrast import Contrast, choose_contrasts, find_trajectories, key_of
from skillctl.core.outcomes import Outcomes, tabulate_outcomes
from skillctl.model.trace import Step, Trace


def make_outcomes(success: list[list[float]], tasks: list[str | None] | None = None) -> Outcomes:
    table = np.array(success, dtype=float)
    count, agents = table.shape
    return Outcomes(
        tuple(range(count)),
        tuple(f"query {row}" for row in range(count)),
        tuple(tasks or [None] * count),
        tuple(f"a{column}" for column in range(agents)),
        table,
        (~np.isnan(table)).astype(float),
        np.full(table.shape, np.nan),
    )


def choose(outcomes: Outcomes, limit: int, seed: int = 0) -> list[Contrast]:
    return choose_contrasts(outcomes, limit, np.random.default_rng(seed))


verdicts = st.sampled_from([0.0, 1.0, 0.5, float("nan")])
tables = st.integers(1, 4).flatmap(
    lambda agents: st.lists(st.lists(verdicts, min_size=agents, max_size=agents), min_size=1, max_size=8)
)


@given(tables, st.integers(1, 30))
def test_each_pair_is_a_success_beside_a_failure_and_stands_once(table: list[list[float]], limit: int) -> None:
    outcomes = make_outcomes(table)
    pairs = choose(outcomes, limit)
    assert len(set(pairs)) == len(pairs) <= limit
    assert all(outcomes.success[row, won] > 0.5 > outcomes.success[row, lost] for row, won, lost in pairs)


@given(tables)
def test_no_query_gives_a_second_pair_before_every_query_gave_one(table: list[list[float]]) -> None:
    outcomes = make_outcomes(table)
    possible = {row for row, _, _ in choose(outcomes, 1000)}
    pairs = choose(outcomes, len(possible))
    assert {row for row, _, _ in pairs} == possible


def test_agents_take_turns() -> None:
    outcomes = make_outcomes([[1, 1, 1, 0, 0, 0]] * 18)
    pairs = choose(outcomes, 18)
    assert set(Counter((won, lost) for _, won, lost in pairs).values()) == {2}


def test_labels_take_turns_and_the_first_queries_are_not_preferred() -> None:
    tasks = ["common"] * 90 + ["rare"] * 10
    pairs = choose(make_outcomes([[1, 0]] * 100, [*tasks]), 20)
    assert Counter(tasks[row] for row, _, _ in pairs) == {"common": 10, "rare": 10}
    assert max(row for row, _, _ in pairs if row < 90) > 40


def test_agents_that_never_differ_give_no_pair() -> None:
    assert choose(make_outcomes([[1, 1], [0, 0], [float("nan"), 1]]), 5) == []


def test_trajectories_are_those_with_the_verdict_that_the_pair_is_about() -> None:
    traces = [
        Trace("t0", "q", "text", "good", success=False, answer="a slip"),
        Trace("t1", "q", "text", "good", success=True, answer="right"),
        Trace("t2", "q", "text", "good", success=True, answer="right again"),
        Trace("t3", "q", "text", "bad", success=False, answer="wrong", steps=(Step(action="look", observation="x"),)),
        Trace("t4", "q", "text", "bad", success=False, mode="other", answer="elsewhere"),
    ]
    outcomes = tabulate_outcomes(traces[1:], mode="answer", default_mode="answer")
    (pair,) = choose(outcomes, 3)
    found = find_trajectories(traces, outcomes, [pair], mode="answer", default_mode="answer")
    assert found[key_of(outcomes, pair.row, pair.winner)] == "right"
    assert found[key_of(outcomes, pair.row, pair.loser)] == "1. look => x\nwrong"
