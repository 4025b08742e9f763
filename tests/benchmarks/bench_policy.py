"""The handbook beside a policy learned by group-relative policy optimisation, on the same logged outcomes.

    python tests/benchmarks/bench_policy.py --data llmrouter.jsonl.gz

Both see the same skills (the file's tasks, described by up to eight training queries each, recognised by the embedded
orchestrator) and the outcomes of all agents on n training queries; both are tested on all other queries.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from skillctl.core.evaluate.policy_learning import PolicyTraining, predict_policy, train_policy
from skillctl.core.outcomes import Outcomes, agent_means, tabulate_outcomes
from skillctl.core.profile.beliefs import mean
from skillctl.core.profile.skill_tree import build_tree, credit_outcomes, fit_kappa, tree_posteriors
from skillctl.model.handbook import Handbook, Mode, ModeId, Skill, SkillId
from skillctl.store.orchestrators import open_orchestrator
from skillctl.store.traces import read_traces

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIZES, SEEDS, EXAMPLES = (50, 200, 800), 5, 8
MODE = ModeId("answer")


def weigh(outcomes: Outcomes, train: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the skill weights of all queries (skill 0 is the root), without the root's column, and the seconds."""
    started = time.perf_counter()
    examples: dict[str, list[str]] = {}
    for row in train.tolist():
        examples.setdefault(str(outcomes.tasks[row]), []).append(outcomes.texts[row])
    skills = tuple(
        Skill(SkillId(f"answer.{task}"), f"Queries of {task}.", examples=tuple(texts[:EXAMPLES]))
        for task, texts in sorted(examples.items())
    )
    handbook = Handbook("bench", modes={MODE: Mode(MODE)}, skills={MODE: skills})
    orchestrator = open_orchestrator(handbook, MODE)
    sparse = orchestrator.weigh(outcomes.texts)
    seconds = time.perf_counter() - started
    dense = np.zeros((len(outcomes.texts), len(skills) + 1))
    np.add.at(dense, (np.repeat(np.arange(len(dense)), np.diff(sparse.indptr)), sparse.skills), sparse.weights)
    return dense, dense[train], seconds


def learn_handbook(weights: NDArray[np.float64], success: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return posterior means, shape (skills, agents)."""
    tree = build_tree([-1] + [0] * (weights.shape[1] - 1))
    wins, losses = credit_outcomes(tree, success, weights)
    return mean(*tree_posteriors(tree, wins, losses, fit_kappa(tree, wins, losses))).T


def describe(chosen: NDArray[np.int64], success: NDArray[np.float64]) -> dict[str, Any]:
    """Return accuracy, the share of the most called agent, and the effective number of agents exp(H)."""
    share = np.bincount(chosen, minlength=success.shape[1]) / len(chosen)
    entropy = -float((share[share > 0] * np.log(share[share > 0])).sum())
    return {
        "accuracy": float(success[np.arange(len(chosen)), chosen].mean()),
        "top_share": float(share.max()),
        "effective_agents": float(np.exp(entropy)),
    }


def measure(outcomes: Outcomes, n: int, seed: int) -> dict[str, dict[str, Any]]:
    """Return what each router does after n training queries."""
    rng = np.random.default_rng([seed, n])
    order = rng.permutation(len(outcomes.success))
    train, test = order[:n], order[n:]
    success = outcomes.success[test]
    dense, known, seconds = weigh(outcomes, train)
    best = int(agent_means(outcomes.success[train]).argmax())
    rows = {"best single": {**describe(np.full(len(test), best), success), "training_s": 0.0}}
    started = time.perf_counter()
    means = learn_handbook(known, outcomes.success[train])
    took = time.perf_counter() - started
    rows["handbook"] = {**describe((dense[test] @ means).argmax(axis=1), success), "training_s": took}
    for name, how in (("policy", PolicyTraining()), ("policy + entropy", PolicyTraining(entropy=0.02))):
        started = time.perf_counter()
        theta = train_policy(known, outcomes.success[train], rng, how)
        took = time.perf_counter() - started
        rows[name] = {**describe(predict_policy(theta, dense[test]).argmax(axis=1), success), "training_s": took}
    rows["oracle"] = {**describe(success.argmax(axis=1), success), "training_s": 0.0}
    for row in rows.values():
        row["embedding_s"] = seconds
    return rows


def load(path: str) -> Outcomes:
    """Return the outcomes of the queries that all agents answered."""
    traces = read_traces(path, on_problem=lambda _: None)
    outcomes = tabulate_outcomes(traces, mode="answer", default_mode="answer")
    return outcomes.take(np.flatnonzero(~np.isnan(outcomes.success).any(axis=1)))


def main() -> None:
    """Print one row for each size and router: means over the seeds, and the interval of accuracy over best single."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    outcomes = load(parser.parse_args().data)
    for n in SIZES:
        runs = [measure(outcomes, n, seed) for seed in range(SEEDS)]
        for name in runs[0]:
            values = {key: float(np.mean([run[name][key] for run in runs])) for key in runs[0][name]}
            gap = np.array([run[name]["accuracy"] - run["best single"]["accuracy"] for run in runs])
            half = 2.776 * gap.std(ddof=1) / np.sqrt(SEEDS)  # t of 4 degrees of freedom, 95 %
            interval = [round(float(gap.mean() - half), 4), round(float(gap.mean() + half), 4)]
            row = {"queries": n, "router": name, **{key: round(value, 4) for key, value in values.items()}}
            print(json.dumps({**row, "over_best_single_95": interval}))  # noqa: T201 - the result


if __name__ == "__main__":
    main()
