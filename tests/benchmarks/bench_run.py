"""The handbook's loop beside every fixed agent, with the real models of a pool on loopback.

    python tests/benchmarks/bench_run.py --handbook handbooks/run-demo --work /tmp/run-demo

Learns from the training queries (each model on each path of modes), then runs the test queries under every policy, and
prints one row each: success with its interval, mean cost, and the paired difference of the handbook's loop to it. A run
that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skillctl.core.run.run_summary import wilson_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODELS = ("smol", "qc05", "qc15")
LIBRARY = "library"
PATHS = ("answer", "code", "search,answer", "search,code")
BASELINES = ("random", "cheapest", "strongest")
LEADER = "qc15"  # the same handbook, with a language model that names the modes, or the skills
DRAWS, SEED = 4000, 0


class Run(NamedTuple):
    """One run of the loop: a name, and its options."""

    name: str
    options: tuple[str, ...]


def fixed_runs(model: str) -> list[Run]:
    """Return the runs in which one model takes fixed paths."""
    return [
        Run(
            f"{model} {path.replace(',', '-')}",
            ("--path", path, "--agent", model, *(("--agent", LIBRARY) if "search" in path else ())),
        )
        for path in PATHS
    ]


def skillctl(*args: str | Path) -> None:
    """Run skillctl; lines that failed outside are left to a second run."""
    command = [sys.executable, "-m", "skillctl", "-q", *map(str, args)]
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    if done.returncode not in {0, 1}:
        message = f"{' '.join(command)} ended with {done.returncode}"
        raise SystemExit(message)


def run_all(book: Path, queries: Path, runs: list[Run], folder: Path) -> None:
    """Do runs one after the other."""
    for run in runs:
        out = folder / f"{run.name.replace(' ', '-')}.jsonl"
        options = ("--concurrency", "2", "--agent-concurrency", "1", "--timeout", "300", *run.options)
        skillctl("run", book, "--queries", queries, "--out", out, "--retry-errors", *options)


def run_models(book: Path, queries: Path, folder: Path) -> None:
    """Do the fixed runs, the models side by side."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(len(MODELS)) as pool:
        jobs = [pool.submit(run_all, book, queries, fixed_runs(model), folder) for model in MODELS]
        for job in jobs:
            job.result()


def read_log(path: Path) -> dict[str, dict[str, Any]]:
    """Return the last trace of each query."""
    return {trace["query_id"]: trace for trace in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


def measure(log: dict[str, dict[str, Any]], queries: list[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return success and cost of each query; what failed outside is an error of the benchmark."""
    traces = [log[query] for query in queries]
    broken = [trace["query_id"] for trace in traces if trace.get("error")]
    if broken:
        message = f"failed outside: {', '.join(broken)}; run the benchmark again"
        raise SystemExit(message)
    return np.array([float(t["success"]) for t in traces]), np.array([t["cost_usd"] for t in traces])


def interval(values: NDArray[np.float64], rng: np.random.Generator) -> list[float]:
    """Return the 95 % percentile bootstrap interval of a mean."""
    draws = values[rng.integers(0, len(values), (DRAWS, len(values)))].mean(axis=1)
    return [float(f"{end:.4g}") for end in np.quantile(draws, [0.025, 0.975])]


def report(folder: Path, queries: list[str], names: list[str]) -> list[dict[str, Any]]:
    """Return a row for each run."""
    logs = {name: read_log(folder / f"{name.replace(' ', '-')}.jsonl") for name in names}
    results = {name: measure(log, queries) for name, log in logs.items()}
    won, cost = results["handbook"]
    rows = []
    for name, (success, spent) in results.items():
        rng = np.random.default_rng(SEED)
        share = wilson_interval(int(success.sum()), len(success))
        two = [len({step["mode"] for step in logs[name][query]["steps"]}) > 1 for query in queries]
        rows.append(
            {
                "run": name,
                "success": round(share.value, 3),
                "interval_95": [round(share.low, 3), round(share.high, 3)],
                "mean_cost_usd": float(f"{spent.mean():.3g}"),
                "two_modes": round(float(np.mean(two)), 3),
                "handbook_minus_this": {
                    "success": round(float((won - success).mean()), 3),
                    "interval_95": interval(won - success, rng),
                    "cost_usd": float(f"{(cost - spent).mean():.3g}"),
                    "cost_interval_95": interval(cost - spent, rng),
                },
            }
        )
    return rows


def main() -> None:
    """Learn, run everything, print the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--handbook", type=Path, default=Path("handbooks/run-demo"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--skills-by-model", action="store_true", help="a run with several calls a state as well: slow")
    args = parser.parse_args()
    work: Path = args.work
    train, test = args.handbook / "data/train.jsonl", args.handbook / "data/test.jsonl"
    fresh, learned = work / "fresh", work / "learned"
    for book in (fresh, learned):
        if not book.exists():
            shutil.copytree(args.handbook, book)
    run_models(fresh, train, work / "train")
    logs = [part for path in sorted((work / "train").glob("*.jsonl")) for part in ("--traces", path)]
    skillctl("profile", learned, *logs, "--calibrate")
    run_models(learned, test, work / "test")
    others = [Run("handbook", ()), *(Run(policy, ("--policy", policy)) for policy in BASELINES)]
    others.append(Run(f"modes by {LEADER}", ("--mode-chooser", LEADER)))
    if args.skills_by_model:
        others.append(Run(f"skills by {LEADER}", ("--orchestrator", LEADER)))
    run_all(learned, test, others, work / "test")
    queries = [json.loads(line)["id"] for line in test.read_text(encoding="utf-8").splitlines()]
    names = [run.name for run in [*others, *(run for model in MODELS for run in fixed_runs(model))]]
    for row in report(work / "test", queries, names):
        print(json.dumps(row))  # noqa: T201 - the result


if __name__ == "__main__":
    main()
