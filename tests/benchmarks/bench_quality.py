"""Routing quality on logged outcomes: the handbook beside every baseline, trained on n queries, tested on the rest.

    python tests/benchmarks/bench_quality.py --data FOLDER [--seeds 10] [--sizes 50,200,800] [--sets llmrouter,...]

Prints a Markdown table to stdout and its rows as JSON lines to stderr. The handbook is what `discover` and `profile`
make of the training queries in one default configuration, with labels and without; baselines see the same queries.
Headroom is the share of the gap between the best single agent (chosen on the training queries) and the oracle; for two
agents the table has APGR instead (random: 0.5).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.discover.skill_discovery import Candidate, discover_skills
from skillctl.core.discover.weighing import number_tree, spread_out
from skillctl.core.evaluate.baselines import (
    predict_cluster_mean,
    predict_neighbours,
    predict_raw_rate,
    predict_ridge,
)
from skillctl.core.evaluate.metrics import gap_recovered, headroom_captured
from skillctl.core.orchestrate.embedded import EmbeddedOrchestrator
from skillctl.core.orchestrate.features import WordTable
from skillctl.core.orchestrate.skill_index import build_skill_index
from skillctl.core.orchestrate.space import fit_space, project
from skillctl.core.outcomes import Outcomes, agent_means, tabulate_outcomes
from skillctl.core.profile.skill_tree import build_tree, credit_outcomes, tree_posteriors
from skillctl.model.handbook import OrchestratorSettings
from skillctl.store.traces import read_traces
from skillctl.store.word_vectors import WordVectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from skillctl.model.trace import Trace

    Floats = NDArray[np.float64]

VECTORS = WordVectors()
MOST_TEST_QUERIES = 3_000
FIVE = ("mathstral-7B", "Yi-34B", "Phi-3-mini-4k-instruct", "Mixtral-8x7B-v0.1", "c4ai-command-r-v01")
SETS = ("llmrouter", "mmlu_pro", "routellm", "zeroeval", "alpaca_eval", "swe_bench")


class Split(NamedTuple):
    """Training and test outcomes, and the points of their texts in the space of the training texts."""

    train: Outcomes
    test: Outcomes
    points: Floats
    new: Floats
    seed: tuple[int, int]

    def open_rng(self) -> np.random.Generator:
        """Return the generator of one router: what one draws changes nothing for the others."""
        return np.random.default_rng(self.seed)


def load(folder: Path, name: str) -> Outcomes:
    """Return a data set's outcomes, restricted to the pool that its README suggests."""
    traces = list(read_traces(str(folder / f"{name}.jsonl.gz"), on_problem=lambda problem: sys.exit(str(problem))))
    tasks: dict[str, set[str | None]] = {}
    for trace in traces:
        tasks.setdefault(trace.agent, set()).add(trace.task)

    def keep(trace: Trace) -> bool:
        if name == "mmlu_pro":
            return trace.agent in FIVE
        if name == "zeroeval":
            return not trace.agent.startswith("o1") and len(tasks[trace.agent]) == 3
        return True

    return tabulate_outcomes(filter(keep, traces), mode="answer", default_mode="answer")


def split(outcomes: Outcomes, size: int, seed: int) -> Split:
    """Return a random split with ``size`` training queries."""
    rng = np.random.default_rng([seed, size])
    order = rng.permutation(len(outcomes.texts))
    train, test = outcomes.take(order[:size]), outcomes.take(order[size : size + MOST_TEST_QUERIES])
    table = WordTable(VECTORS)
    known, new = table.read(train.texts), table.read(test.texts)
    space = fit_space(known.semantic, known.surface)
    return Split(
        train,
        test,
        project(space, known.semantic, known.surface).points.astype(np.float64),
        project(space, new.semantic, new.surface).points.astype(np.float64),
        (seed, size),
    )


def predict_handbook(part: Split, *, labels: bool) -> Floats:
    """Return the expected success of every agent by discovered skills."""
    train = part.train
    names = sorted({task for task in train.tasks if task}) if labels else []
    places = {name: np.flatnonzero([task == name for task in train.tasks]) for name in names}
    candidates = [Candidate(name, rows) for name, rows in places.items() if len(rows) >= 5]
    found = discover_skills("m", train, VECTORS, part.open_rng(), candidates=candidates if len(candidates) > 1 else ())
    if labels and not found.skills:
        found = discover_skills("m", train, VECTORS, part.open_rng())
    if not found.skills or found.calibration is None:
        return np.tile(agent_means(train.success), (len(part.test.texts), 1))
    settings = OrchestratorSettings(temperature=found.calibration.temperature)
    orchestrator = EmbeddedOrchestrator(build_skill_index(found.skills, VECTORS), lambda: VECTORS, settings)
    weights = spread_out(orchestrator.weigh(train.texts), len(found.skills))
    tree = build_tree(number_tree(found.skills))
    alpha, beta = tree_posteriors(tree, *credit_outcomes(tree, train.success, weights), found.calibration.kappa)
    return spread_out(orchestrator.weigh(part.test.texts), len(found.skills)) @ (alpha / (alpha + beta)).T


def predict_by_label(part: Split) -> Floats:
    """Return raw rates by the true label, which the other routers do not see at the test queries."""
    names = sorted({task or "" for task in (*part.train.tasks, *part.test.tasks)})
    number = {name: place for place, name in enumerate(names)}
    train, test = (np.array([number[task or ""] for task in side.tasks]) for side in (part.train, part.test))
    return predict_raw_rate(part.train.success, train, test)


ROUTERS: dict[str, Callable[[Split], Floats]] = {
    "handbook": lambda part: predict_handbook(part, labels=False),
    "handbook, labels": lambda part: predict_handbook(part, labels=True),
    "kNN 20": lambda part: predict_neighbours(part.points, part.train.success, part.new, k=20),
    "kNN 80": lambda part: predict_neighbours(part.points, part.train.success, part.new, k=80),
    "ridge 3": lambda part: predict_ridge(part.points, part.train.success, part.new, penalty=3.0),
    "ridge 30": lambda part: predict_ridge(part.points, part.train.success, part.new, penalty=30.0),
    "cluster mean": lambda part: predict_cluster_mean(
        part.points, part.train.success, part.new, clusters=10, rng=part.open_rng()
    ),
    "raw rate, true labels": predict_by_label,
}


class Row(NamedTuple):
    """Quality and accuracy over the best single agent, one value a seed."""

    name: str
    size: int
    router: str
    quality: list[float]
    gain: list[float]


def measure(outcomes: Outcomes, name: str, size: int, seeds: int) -> Iterator[Row]:
    """Yield a row for each router."""
    parts = [split(outcomes, size, seed) for seed in range(seeds)]
    for router, predict in ROUTERS.items():
        scores = [score(part, predict(part)) for part in parts]
        yield Row(name, size, router, [quality for quality, _ in scores], [gain for _, gain in scores])


def score(part: Split, expected: Floats) -> tuple[float, float]:
    """Return headroom (APGR for two agents) and the accuracy over the best single agent's."""
    success = np.nan_to_num(part.test.success)
    best = int(agent_means(part.train.success).argmax())
    chosen = success[np.arange(len(success)), expected.argmax(axis=1)]
    gain = float(chosen.mean() - success[:, best].mean())
    if success.shape[1] == 2:
        return gap_recovered(success[:, best], success[:, 1 - best], expected[:, best] - expected[:, 1 - best]), gain
    return headroom_captured(chosen, success[:, best], success.max(axis=1)), gain


def show(rows: list[Row]) -> str:
    """Return the table: mean ± standard error over the seeds, and the mean accuracy over the best single agent."""
    lines = ["| data | n | " + " | ".join(ROUTERS) + " |", "|---|---|" + "---|" * len(ROUTERS)]
    for name, size in dict.fromkeys((row.name, row.size) for row in rows):
        cells = [
            f"{_say(row, np.array(row.quality))} ({100 * np.mean(row.gain):+.1f})"
            for row in rows
            if (row.name, row.size) == (name, size)
        ]
        lines.append(f"| {name} | {size} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _say(row: Row, quality: Floats) -> str:
    error = float(np.nanstd(quality) / np.sqrt(len(quality)))
    if row.name == "routellm":
        return f"{np.nanmean(quality):.3f} ± {error:.3f}"
    return f"{100 * np.nanmean(quality):+.1f} ± {100 * error:.1f} %"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the outcome files")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--sizes", default="50,200,800")
    parser.add_argument("--sets", default=",".join(SETS))
    options = parser.parse_args()
    rows: list[Row] = []
    for name in options.sets.split(","):
        outcomes = load(options.data, name)
        for size in map(int, options.sizes.split(",")):
            if size < 0.7 * len(outcomes.texts):
                for row in measure(outcomes, name, size, options.seeds):
                    rows.append(row)
                    sys.stderr.write(json.dumps(row._asdict()) + "\n")
    sys.stdout.write(show(rows) + "\n")


if __name__ == "__main__":
    main()
