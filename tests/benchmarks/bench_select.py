"""Time of replaying all cuts of a skill tree, beside one bare evaluation for each distinct matrix product."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from skillctl.core.evaluate.replay import ModeLog
from skillctl.core.orchestrate.skill_weights import round_weights
from skillctl.core.outcomes import Outcomes
from skillctl.core.route.routing_table import AgentFacts, ModeTable
from skillctl.core.select.candidates import Tree
from skillctl.core.select.selecting import Arena, build_arena, find_front, run_contest
from skillctl.model.handbook import Skill, SkillId

if TYPE_CHECKING:
    from collections.abc import Callable

GOAL = 2.0  # times the bare evaluations
AGENTS = 6
GROUPS, FINE = 8, 4  # 1 + 2**8 = 257 cuts of 40 skills
ACTIVE = 8  # skills of a query
COST_WEIGHT = 1.0


def make_world(queries: int) -> World:
    """Return random outcomes of all agents, and random weights on all skills."""
    rng = np.random.default_rng(3)
    coarse = [Skill(SkillId(f"s{group}"), "coarse") for group in range(GROUPS)]
    fine = [
        Skill(SkillId(f"s{group}.{part}"), "fine", SkillId(f"s{group}"))
        for group in range(GROUPS)
        for part in range(FINE)
    ]
    skills = sorted([*coarse, *fine], key=lambda skill: skill.id)
    rows = len(skills) + 1
    alpha, beta = rng.uniform(1, 20, (2, rows, AGENTS))
    table = ModeTable(
        mode="answer",
        skills=("answer", *(skill.id for skill in skills)),
        works=np.ones(AGENTS, bool),
        alpha=alpha,
        beta=beta,
        low=alpha,
        high=beta,
        evidence=alpha + beta,
        cost=rng.uniform(0.001, 0.1, AGENTS),
        index_key="",
    )
    names = tuple(f"agent-{number}" for number in range(AGENTS))
    shape = (queries, AGENTS)
    outcomes = Outcomes(
        tuple(range(queries)), ("query",) * queries, (None,) * queries, names,
        rng.integers(0, 2, shape).astype(float), np.ones(shape), rng.uniform(0.001, 0.1, shape),
    )  # fmt: skip
    chosen = rng.integers(0, rows, queries * ACTIVE).astype(np.int32)
    shares = rng.dirichlet(np.ones(ACTIVE), queries).ravel()
    weights = round_weights(np.repeat(np.arange(queries), ACTIVE), chosen, shares, queries)
    facts = tuple(AgentFacts(name, None, (), None, None) for name in names)
    log, tree = ModeLog(table, outcomes, weights, np.zeros((rows, AGENTS))), Tree(skills)
    arena = build_arena(log, facts, tree, COST_WEIGHT)
    assert arena is not None
    return World(arena, log, tree)


class World(NamedTuple):
    """An arena, and what it was made from."""

    arena: Arena
    log: ModeLog
    tree: Tree


def _replay_all(arena: Arena) -> None:
    contest = run_contest([arena.tree], lambda _, cut: arena.replay(cut), COST_WEIGHT)
    find_front(contest.scored)


def _evaluate_bare(world: World) -> None:
    """Do what no implementation can leave out: one product, one choice and two means for each cut."""
    table, outcomes, weights = world.log.table, world.log.outcomes, world.log.weights
    shape = (len(outcomes.texts), len(table.skills))
    matrix = csr_array((weights.weights, weights.skills, weights.indptr), shape=shape)
    rows, means, spend = np.arange(shape[0]), table.mean, COST_WEIGHT * table.cost
    for cut in world.tree.list_cuts():
        chosen = (matrix @ means[world.tree.find_nearest(cut)] - spend).argmax(axis=1)
        outcomes.success[rows, chosen].mean()
        outcomes.cost_usd[rows, chosen].mean()


def _time(action: Callable[[], None], repeats: int) -> float:
    best = np.inf
    for _ in range(repeats):
        started = time.process_time()
        action()
        best = min(best, time.process_time() - started)
    return float(best)


def run(*, quick: bool) -> dict[str, Any]:
    """Measure processor time, the best of several runs."""
    queries, repeats = (100, 1) if quick else (1000, 5)
    world = make_world(queries)
    bare = _time(lambda: _evaluate_bare(world), repeats)
    own = _time(lambda: _replay_all(world.arena), repeats)
    return {
        "goal_ratio_at_most": GOAL,
        "candidates": world.tree.count_cuts(),
        "queries": queries,
        "bare_evaluations_s": round(bare, 4),
        "select_s": round(own, 4),
        "ratio": round(own / bare, 2),
    }
