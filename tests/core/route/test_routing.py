from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from routing_handbooks import ANSWER, CHEAP, STRONG, make_agent, make_handbook
from scipy.special import betainc

from skillctl.core.orchestrate.skill_weights import root_weights, round_weights
from skillctl.core.route.routing import (
    Batch,
    choose_agents,
    count_failures,
    find_flip,
    find_interval,
    lower_after_failures,
    spread,
    spread_chosen,
)
from skillctl.core.route.routing_table import ModeTable, compile_table, expect_cost
from skillctl.model.handbook import AgentId, CostStats, Price, Profile

if TYPE_CHECKING:
    from skillctl.core.orchestrate.orchestration import SkillWeights
    from skillctl.model.handbook import Agent


def table(*agents: Agent) -> ModeTable:
    return compile_table(make_handbook(*agents), {}).modes[ANSWER]


def random_table(seed: int, rows: int, agents: int) -> ModeTable:
    rng = np.random.default_rng(seed)
    alpha, beta = rng.integers(1, 4, (2, rows, agents)).astype(float)
    cost = rng.choice([0.0, 0.1, 0.2, np.nan], agents)
    return ModeTable(
        mode="m",
        skills=tuple(f"s{row}" for row in range(rows)),
        works=np.ones(agents, bool),
        alpha=alpha,
        beta=beta,
        low=alpha / (alpha + beta) / 2,
        high=np.sqrt(alpha / (alpha + beta)),
        evidence=rng.integers(0, 3, (rows, agents)).astype(float),
        cost=cost,
        index_key="",
    )


def random_weights(seed: int, count: int, skills: int) -> SkillWeights:
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(skills), count)
    rows = np.repeat(np.arange(count), skills)
    return round_weights(rows, np.tile(np.arange(skills, dtype=np.int32), count), weights.ravel(), count)


def rank_one(table: ModeTable, weights: dict[int, float], gates: np.ndarray, cost_weight: float) -> list[int]:
    """Rank the agents for one state, one by one: the rule in plain words."""
    left = [agent for agent in range(len(table.cost)) if not gates[agent]]
    if cost_weight and all(np.isnan(table.cost[agent]) for agent in left):
        cost_weight = 0.0

    def score(agent: int) -> float:
        value = sum(weight * table.mean[row, agent] for row, weight in weights.items())
        return float(value - (cost_weight * table.cost[agent] if cost_weight else 0.0))

    def preference(agent: int) -> tuple[float, float, int]:
        unknown_last = np.inf if np.isnan(table.cost[agent]) else table.cost[agent]
        evidence = sum(weight * table.evidence[row, agent] for row, weight in weights.items())
        return unknown_last, -round(evidence, 9), agent

    ranked: list[int] = []
    while left:
        best = max(map(score, left))
        ranked.append(min((agent for agent in left if score(agent) >= best - 1e-12), key=preference))
        left.remove(ranked[-1])
    return (ranked + [-1] * 4)[:4]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 6), st.sampled_from([0.0, 0.5, 3.0]))
def test_batches_choose_what_the_formula_says(seed: int, skills: int, agents: int, cost_weight: float) -> None:
    made, weights = random_table(seed, skills, agents), random_weights(seed, 5, skills)
    gates = np.random.default_rng(seed).choice([0, 0, 0, 3], (5, agents)).astype(np.int8)
    if cost_weight:
        priced = ((gates == 0) & ~np.isnan(made.cost)).any(axis=1)
        gates[priced[:, None] & (gates == 0) & np.isnan(made.cost)] = 7
    choice = choose_agents(made, Batch(weights, gates, np.full(5, cost_weight)))
    for row in range(5):
        part = slice(weights.indptr[row], weights.indptr[row + 1])
        own = dict(zip(weights.skills[part].tolist(), weights.weights[part].tolist(), strict=True))
        assert choice.ranked[row].tolist() == rank_one(made, own, gates[row], cost_weight)


@given(st.integers(0, 2**32), st.integers(1, 5))
def test_spreading_is_a_matrix_product(seed: int, skills: int) -> None:
    values = np.random.default_rng(seed).normal(size=(skills, 3))
    weights = random_weights(seed, 7, skills)
    dense = np.zeros((7, skills))
    dense[np.repeat(np.arange(7), np.diff(weights.indptr)), weights.skills] = weights.weights
    assert spread(weights, values) == pytest.approx(dense @ values)
    chosen = np.arange(7) % 3
    assert spread_chosen(weights, values, chosen) == pytest.approx((dense @ values)[np.arange(7), chosen])


def test_spreading_in_chunks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=(6, 5))
    weights = random_weights(0, 50, 6)
    whole = spread(weights, values)
    monkeypatch.setattr("skillctl.core.route.routing._CHUNK", 10)
    assert spread(weights, values).tobytes() == whole.tobytes()


def test_the_interval_of_one_skill_is_exact() -> None:
    low, high = find_interval(table(), root_weights(1))
    # The root of `strong` has 80 successes and 20 failures under a uniform prior.
    assert betainc(81, 21, low[0, 1]) == pytest.approx(0.05)
    assert betainc(81, 21, high[0, 1]) == pytest.approx(0.95)


def test_a_skill_without_an_entry_reads_as_its_parent() -> None:
    made = table()
    math, geometry = made.skills.index("answer.math"), made.skills.index("answer.math.geometry")
    assert made.alpha[geometry].tolist() == made.alpha[math].tolist() == [21, 46]
    assert made.evidence[geometry].tolist() == [50, 50]


def test_an_agent_without_a_profile_reads_as_the_mean_of_the_others_without_evidence() -> None:
    made = table(CHEAP, STRONG, make_agent("unseen"))
    mean = (51 / 102 + 81 / 102) / 2
    assert made.mean[:, 2] == pytest.approx(np.full(4, mean))
    assert made.evidence[:, 2].tolist() == [0, 0, 0, 0]
    assert np.isnan(made.cost[2])


def test_without_any_profile_every_agent_is_even() -> None:
    made = table(make_agent("a"), make_agent("b"))
    assert made.mean.tolist() == [[0.5, 0.5]] * 4


@pytest.mark.parametrize(
    ("stats", "price", "expected"),
    [
        (CostStats(mean_usd=0.5), Price(1, 1), 0.5),
        (CostStats(mean_usd=0.0), None, 0.0),
        (CostStats(prompt_tokens=1e6, completion_tokens=5e5), Price(2, 4), 4.0),
        (CostStats(prompt_tokens=1e6, completion_tokens=5e5), None, None),
        (CostStats(prompt_tokens=1e6), Price(2, 4), None),
        (CostStats(prompt_tokens=1e6), Price(2, 0), 2.0),
        (CostStats(), Price(0, 0), 0.0),
        (CostStats(prompt_tokens=1e6, completion_tokens=1), Price(2, None), None),
    ],
    ids=["runs", "free", "price", "no price", "no tokens", "free answers", "all free", "half a price"],
)
def test_an_unknown_cost_stays_unknown(stats: CostStats, price: Price | None, expected: float | None) -> None:
    agent = replace(make_agent("a"), price=price, profiles={ANSWER: Profile(cost=stats)})
    assert expect_cost(agent, ANSWER) == expected


def test_failures_in_the_same_state_lower_the_chance() -> None:
    failures = count_failures([["a", "a", "nobody"], [], ["b"]], ["a", "b"])
    assert failures is not None
    assert failures.tolist() == [[2, 0], [0, 0], [0, 1]]
    lowered = lower_after_failures(np.full((3, 2), 0.6), failures)
    assert lowered == pytest.approx(np.array([[0.2, 0.6], [0.6, 0.6], [0.6, 0.3]]))
    assert count_failures([[], []], ["a"]) is None


def test_the_nearest_flip_is_where_two_scores_cross() -> None:
    value, cost = np.array([0.9, 0.7, 0.2, -np.inf]), np.array([0.4, 0.2, 0.1, 0.0])
    assert find_flip(value, cost, 0, 0.0) == pytest.approx(1.0)
    assert find_flip(value, cost, 1, 1.5) == pytest.approx(1.0)
    assert find_flip(value, np.array([0.4, np.nan, 0.5, 0.0]), 0, 0.0) is None


def test_thompson_needs_a_generator() -> None:
    batch = Batch(root_weights(1), np.zeros((1, 2), np.int8), np.zeros(1))
    with pytest.raises(ValueError, match="generator"):
        choose_agents(table(), batch, policy="thompson")


def test_a_table_without_agents_leaves_every_state_without_a_choice() -> None:
    empty = compile_table(replace(make_handbook(), agents={}), {}).modes[ANSWER]
    choice = choose_agents(empty, Batch(root_weights(2), np.zeros((2, 0), np.int8), np.zeros(2)))
    assert choice.ranked.tolist() == [[-1] * 4] * 2


def test_agents_stand_in_order_of_id() -> None:
    handbook = make_handbook()
    shuffled = replace(handbook, agents={AgentId(name): handbook.agents[AgentId(name)] for name in ("strong", "cheap")})
    assert [agent.id for agent in compile_table(shuffled, {}).agents] == ["cheap", "strong"]
