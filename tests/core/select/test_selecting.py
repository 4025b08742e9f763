"""Selection: planted orchestrators, rules, fronts and failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_candidates import TWO_LEVELS, make_tree

from skillctl.core.evaluate.replay import ModeLog
from skillctl.core.orchestrate.orchestration import SkillWeights
from skillctl.core.outcomes import Outcomes
from skillctl.core.route.routing_table import AgentFacts, ModeTable
from skillctl.core.select.selecting import (
    MOST_CANDIDATES,
    Arena,
    Replayed,
    Scored,
    build_arena,
    choose_candidate,
    find_front,
    list_skills,
    run_contest,
)
from skillctl.errors import OutsideError

if TYPE_CHECKING:
    from skillctl.core.select.candidates import Cut, Tree

# Rows: the mode, a, a1, a2. Agent 0 masters a1, agent 1 masters a2, agent 2 is fair at both.
TREE = make_tree(a=None, a1="a", a2="a")
MEANS = np.array([[0.45, 0.45, 0.6], [0.45, 0.45, 0.6], [0.9, 0.05, 0.6], [0.05, 0.9, 0.6]])
AGENTS = tuple(AgentFacts(name, None, (), None, None) for name in "xyz")


def _arena(named: np.ndarray, success: np.ndarray, cost_weight: float = 0.0) -> Arena:
    count = len(named)
    table = ModeTable(
        mode="answer",
        skills=("answer", *TREE.skills),
        works=np.ones(3, bool),
        alpha=MEANS * 20,
        beta=(1 - MEANS) * 20,
        low=MEANS,
        high=MEANS,
        evidence=np.full(MEANS.shape, 20.0),
        cost=np.array([1.0, 1.0, 1.0]),
        index_key="",
    )
    outcomes = Outcomes(
        tuple(range(count)), ("text",) * count, (None,) * count, ("x", "y", "z"), success, np.ones(success.shape),
        np.ones(success.shape),
    )  # fmt: skip
    weights = SkillWeights(np.arange(count + 1), named.astype(np.int32), np.ones(count))
    arena = build_arena(ModeLog(table, outcomes, weights, MEANS), AGENTS, TREE, cost_weight)
    assert arena is not None
    return arena


def _plant(confusion: float) -> Arena:
    """Queries need a1 or a2; the orchestrator names the wrong one of them with this chance."""
    rng = np.random.default_rng(7)
    needed = rng.integers(2, 4, 400)
    success = (rng.random((400, 3)) < MEANS[needed]).astype(float)
    named = np.where(rng.random(400) < confusion, 5 - needed, needed)
    return _arena(named, success)


@pytest.mark.parametrize(("confusion", "kept"), [(0.0, ("a", "a1", "a2")), (0.5, ())])
def test_fine_skills_serve_an_orchestrator_that_tells_them_apart_and_coarse_ones_one_that_does_not(
    confusion: float, kept: tuple[str, ...]
) -> None:
    arena = _plant(confusion)
    contest = run_contest([TREE], lambda _, cut: arena.replay(cut), 0.0)
    choice = choose_candidate(contest.scored, "lambda", 0.0)
    assert choice is not None
    assert list_skills(choice) == kept


def test_the_result_does_not_depend_on_the_number_of_jobs() -> None:
    arena = _plant(0.2)
    one, many = (run_contest([TREE], lambda _, cut: arena.replay(cut), 0.0, jobs=jobs) for jobs in (1, 4))
    assert [(c.cuts, c.accuracy) for c in one.scored] == [(c.cuts, c.accuracy) for c in many.scored]


def test_a_candidate_that_crashed_is_named_and_never_scored() -> None:
    def replay(_: int, cut: Cut) -> Replayed:
        if "a1" in cut:
            message = "no answer within 60 s"
            raise OutsideError(message, code="timeout")
        return Replayed(np.ones(4), np.full(4, 0.1))

    contest = run_contest([TWO_LEVELS], replay, 0.0)
    assert [sorted(cuts[0]) for cuts, _ in contest.failed] == [["a", "a1", "a2", "b"], ["a", "a1", "a2", "b", "b1"]]
    assert {reason for _, reason in contest.failed} == {"no answer within 60 s"}
    assert all("a1" not in candidate.cuts[0] for candidate in contest.scored)


def test_modes_are_combined_and_each_cut_is_replayed_once() -> None:
    calls: list[tuple[int, Cut]] = []

    def replay(mode: int, cut: Cut) -> Replayed:
        calls.append((mode, cut))
        return Replayed(np.full(2, float(len(cut))), np.zeros(2))

    contest = run_contest([TWO_LEVELS, TREE], replay, 0.0)
    assert len(contest.scored) == 5 * 3
    assert len(calls) == len(set(calls)) == 5 + 3
    assert max(candidate.accuracy for candidate in contest.scored) == (5 + 3) / 2


def _wide_tree() -> Tree:
    """Ten coarse skills with two fine ones each: 1,025 cuts."""
    parents: dict[str, str | None] = {f"c{k}": None for k in range(10)}
    return make_tree(**parents, **{f"c{k}.{part}": f"c{k}" for k in range(10) for part in "xy"})


def test_beyond_the_limit_a_greedy_path_finds_the_planted_cut() -> None:
    tree = _wide_tree()
    assert tree.count_cuts() > MOST_CANDIDATES
    wanted = frozenset([*(f"c{k}" for k in range(10)), "c3.x", "c3.y", "c7.x", "c7.y"])

    def replay(_: int, cut: Cut) -> Replayed:
        return Replayed(np.full(3, 1 - len(cut ^ wanted) / 100), np.zeros(3))

    contest = run_contest([tree], replay, 0.0)
    assert len(contest.scored) <= MOST_CANDIDATES
    choice = choose_candidate(contest.scored, "lambda", 0.0)
    assert choice is not None
    assert choice.cuts[0] == wanted


def _scored(accuracy: float, cost: float, size: int, success: list[float] | None = None) -> Scored:
    outcome = np.array(success if success is not None else [accuracy] * 4)
    names = frozenset(f"s{k}" for k in range(size))
    return Scored((names,), Replayed(outcome, np.full(len(outcome), cost)), accuracy, cost, accuracy)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12))
def test_the_front_is_what_no_candidate_strictly_dominates(points: list[tuple[int, int]]) -> None:
    scored = [_scored(accuracy / 4, float(cost), size) for size, (accuracy, cost) in enumerate(points)]
    front = {(candidate.accuracy, candidate.mean_cost) for candidate in find_front(scored)}
    undominated = {
        (a.accuracy, a.mean_cost)
        for a in scored
        if not any(
            b.accuracy >= a.accuracy
            and b.mean_cost <= a.mean_cost
            and (b.accuracy > a.accuracy or b.mean_cost < a.mean_cost)
            for b in scored
        )
    }
    assert front == undominated


def test_of_equal_candidates_the_simplest_is_on_the_front() -> None:
    assert [candidate.size for candidate in find_front([_scored(0.5, 1.0, 3), _scored(0.5, 1.0, 1)])] == [1]


def test_without_known_costs_the_front_is_the_most_accurate() -> None:
    front = find_front([_scored(0.5, np.nan, 1), _scored(0.7, np.nan, 2)])
    assert [candidate.accuracy for candidate in front] == [0.7]


def test_within_one_standard_error_the_simplest_is_chosen() -> None:
    best = _scored(0.75, 1.0, 5, [1, 1, 1, 0])
    # One query differs: mean 0.25, standard error of the difference 0.25. A second one: 0.5 against 0.289.
    near, far = _scored(0.5, 1.0, 1, [1, 1, 0, 0]), _scored(0.25, 1.0, 0, [1, 0, 0, 0])
    chosen = choose_candidate([best, near, far], "one-se", 0.0)
    assert chosen is near


def test_a_ceiling_takes_the_most_accurate_that_is_cheap_enough_or_nothing() -> None:
    candidates = [_scored(0.9, 3.0, 2), _scored(0.7, 1.0, 1), _scored(0.8, np.nan, 3)]
    assert choose_candidate(candidates, "ceiling", 0.0, ceiling=2.0) is candidates[1]
    assert choose_candidate(candidates, "ceiling", 0.0, ceiling=0.5) is None


def test_queries_with_a_verdict_of_one_agent_alone_decide_nothing() -> None:
    success = np.array([[1.0, np.nan, np.nan], [1.0, 0.0, 1.0]])
    assert len(_arena(np.array([2, 2]), success).success) == 1
