"""A new agent with few planned queries beside one with many random ones, replayed on logged outcomes.

    python tests/benchmarks/bench_agents.py --data mmlu_pro.jsonl.gz

Each agent of a pool is new in turn. All other agents of the file are known from a training set, the new one from N of
its queries; the choice is among the pool. The skills are the tasks of the file. What counts is the success of the
choices on the rest of the queries. `shrinkage` leaves out what the other agents say about the new one.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.agents.planning import plan_queries
from skillctl.core.orchestrate.orchestration import SkillWeights
from skillctl.core.outcomes import Outcomes, tabulate_outcomes
from skillctl.core.profile.beliefs import mean
from skillctl.core.profile.newcomers import learn_prior, update_prior
from skillctl.core.profile.skill_tree import build_tree, fit_kappa, pool_credit, tree_posteriors
from skillctl.store.traces import read_traces

if TYPE_CHECKING:
    from numpy.typing import NDArray

POOL = ("mathstral-7B", "Yi-34B", "Phi-3-mini-4k-instruct", "Mixtral-8x7B-v0.1", "c4ai-command-r-v01")
TRAIN, SEEDS = 800, 10
VARIANTS = (
    ("planned", 20, "handbook"),
    ("random", 20, "handbook"),
    ("planned", 20, "shrinkage"),
    ("random", 20, "shrinkage"),
    ("random", 50, "shrinkage"),
    ("random", 200, "shrinkage"),
    ("random", TRAIN, "shrinkage"),
)
BASE = ("random", 200, "shrinkage")
Variant = tuple[str, int, str]


class Setting(NamedTuple):
    """Outcomes of all agents, the columns of the pool, and the skill that each query needs (0 is the root)."""

    success: NDArray[np.float64]
    pool: NDArray[np.int64]
    skill: NDArray[np.int64]
    skills: int


class Counts(NamedTuple):
    """Successes and failures, each of shape (agents, skills)."""

    wins: NDArray[np.float64]
    losses: NDArray[np.float64]


def count(setting: Setting, rows: NDArray[np.int64]) -> Counts:
    """Return the outcomes of all agents on some rows, by skill."""
    shape = (setting.success.shape[1], setting.skills)
    wins, losses = np.zeros(shape), np.zeros(shape)
    np.add.at(wins.T, setting.skill[rows], setting.success[rows])
    np.add.at(losses.T, setting.skill[rows], 1.0 - setting.success[rows])
    return Counts(wins, losses)


def shrink(counts: Counts) -> NDArray[np.float64]:
    """Return posterior means, shape (agents, skills)."""
    tree = build_tree([-1] + [0] * (counts.wins.shape[1] - 1))
    wins, losses = pool_credit(tree, counts.wins), pool_credit(tree, counts.losses)
    return mean(*tree_posteriors(tree, wins, losses, fit_kappa(tree, wins, losses)))


def measure(setting: Setting, seed: int) -> dict[Variant, list[float]]:
    """Return the success of the choices on the test queries, for each new agent of the pool."""
    order = np.random.default_rng(1000 + seed).permutation(len(setting.success))
    rows, test = order[:TRAIN], order[TRAIN:]
    counts = count(setting, rows)
    known = shrink(counts)
    scores: dict[Variant, list[float]] = {variant: [] for variant in VARIANTS}
    for new in setting.pool.tolist():
        others = np.delete(known, new, axis=0)[:, 1:]
        prior = learn_prior(others)
        rival = known[[agent for agent in setting.pool if agent != new], 1:].max(axis=0)
        skill = setting.skill[rows].astype(np.int32)
        weights = SkillWeights(np.arange(len(rows) + 1), skill, np.ones(len(rows)))
        planned = plan_queries(weights, prior, rival, 20)
        drawn = np.random.default_rng(seed).permutation(len(rows))
        for variant in VARIANTS:
            asked = rows[planned if variant[0] == "planned" else drawn[: variant[1]]]
            own = count(setting, asked)
            means = known.copy()
            if variant[2] == "handbook":
                means[new, 1:] = update_prior(prior, own.wins[new, 1:], own.losses[new, 1:]).success()
            else:
                both = Counts(counts.wins.copy(), counts.losses.copy())
                both.wins[new], both.losses[new] = own.wins[new], own.losses[new]
                means = shrink(both)
            chosen = setting.pool[means[setting.pool][:, setting.skill[test]].argmax(axis=0)]
            scores[variant].append(float(setting.success[test, chosen].mean()))
    return scores


def load(path: str) -> Setting:
    """Return the outcomes of the queries that all agents answered."""
    traces = read_traces(path, on_problem=lambda _: None)
    outcomes: Outcomes = tabulate_outcomes(traces, mode="answer", default_mode="answer")
    pool = np.array([outcomes.agents.index(agent) for agent in POOL])
    kept = ~np.isnan(outcomes.success).any(axis=1)
    tasks = sorted({str(task) for task in outcomes.tasks})
    skill = np.array([1 + tasks.index(str(task)) for task in outcomes.tasks])
    return Setting(outcomes.success[kept], pool, skill[kept], len(tasks) + 1)


def main() -> None:
    """Print one row for each variant: success, and the paired difference to 200 random queries."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    setting = load(parser.parse_args().data)
    runs = [measure(setting, seed) for seed in range(SEEDS)]
    base = np.array([run[BASE] for run in runs])
    for variant in VARIANTS:
        success = np.array([run[variant] for run in runs])
        gap = (success - base).mean(axis=1)
        half = 2.262 * gap.std(ddof=1) / np.sqrt(SEEDS)  # t of 9 degrees of freedom, 95 %
        row = {
            "queries": f"{variant[1]} {variant[0]}",
            "posterior": variant[2],
            "success": round(float(success.mean()), 4),
            "minus_200_random": round(float(gap.mean()), 4),
            "interval_95": [round(float(gap.mean() - half), 4), round(float(gap.mean() + half), 4)],
        }
        print(json.dumps(row))  # noqa: T201 - the result


if __name__ == "__main__":
    main()
