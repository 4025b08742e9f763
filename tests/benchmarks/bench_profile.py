"""Lines a second and peak memory of ``skillctl profile`` on a large gzip'd log, beside a plain Python loop.

Each measurement is a process of its own, start-up included.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from measure import SKILLCTL, Run, run_alternately

GOAL = 40_000  # lines a second
AGENTS = 20
SKILLS = 20
SEED = 7
_WORDS = 4000  # vocabulary of the generated queries

_REFERENCE = """
import gzip, json, sys
counts, costs = {}, {}
with gzip.open(sys.argv[1], "rt", encoding="utf-8") as file:
    for line in file:
        trace = json.loads(line)
        key = (trace["agent"], trace.get("mode", "answer"))
        cell = counts.setdefault(key, [0, 0])
        cell[0 if trace["success"] else 1] += 1
        cost = costs.setdefault(key, [0, 0.0])
        cost[0] += 1
        cost[1] += trace["cost_usd"]
print(len(counts))
"""


def make_log(path: Path, lines: int, queries: int) -> None:
    """Write traces of ``AGENTS`` agents over distinct queries, each (agent, query) once, in a seeded order."""
    rng = np.random.default_rng(SEED)
    words = [f"word{number}" for number in range(_WORDS)]
    texts = [" ".join(words[word] for word in rng.integers(0, _WORDS, size=25)) for _ in range(queries)]
    with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as file:
        for number in range(lines):
            query, agent = number % queries, (number // queries) % AGENTS
            trace = {
                "query_id": f"q{query}",
                "query": texts[query],
                "agent": f"agent-{agent:02d}",
                "success": bool(rng.random() < 0.3 + 0.02 * agent),
                "cost_usd": round(float(rng.gamma(2.0)) * 1e-3, 6),
                "prompt_tokens": int(rng.integers(50, 500)),
                "completion_tokens": int(rng.integers(20, 300)),
                "latency_s": round(float(rng.gamma(2.0)), 3),
                "answer": f"answer {number}",
            }
            file.write(json.dumps(trace) + "\n")


def make_handbook(root: Path, skills: int) -> None:
    """Make a handbook of the log's agents, with hand-written skills that name words of its queries."""
    subprocess.run([*SKILLCTL, "init", str(root)], check=True, capture_output=True)
    for agent in range(AGENTS):
        name = f"agent-{agent:02d}"
        (root / "agents" / f"{name}.yaml").parent.mkdir(exist_ok=True)
        (root / "agents" / f"{name}.yaml").write_text(f"agent: {name}\nmodes: [answer]\n", encoding="utf-8")
    if skills:
        entries = "".join(
            f"- id: answer.s{skill:02d}\n  description: Deals with word{skill * 7} and word{skill * 11}.\n"
            f"  indicators: [word{skill * 13}, word{skill * 17}]\n"
            for skill in range(skills)
        )
        (root / "skills" / "answer.yaml").parent.mkdir(exist_ok=True)
        (root / "skills" / "answer.yaml").write_text(f"mode: answer\nskills:\n{entries}", encoding="utf-8")


def _measure(folder: Path, lines: int, queries: int, repeats: int) -> dict[str, Any]:
    """Return what a log of so many lines costs, beside the reference loop."""
    log = folder / f"traces-{lines}.jsonl.gz"
    make_log(log, lines, queries)
    commands: dict[str, list[str]] = {"reference": [sys.executable, "-c", _REFERENCE, str(log)]}
    for name, skills in (("without_skills", 0), (f"with_{SKILLS}_skills", SKILLS)):
        root = folder / f"{name}-{lines}"
        make_handbook(root, skills)
        commands[name] = [*SKILLCTL, "profile", str(root), "--traces", str(log)]
    runs = run_alternately(commands, folder / "cache", repeats)
    return {
        "lines": lines,
        "queries": queries,
        **{name: _describe(run, lines, runs["reference"]) for name, run in runs.items()},
    }


def _describe(run: Run, lines: int, reference: Run) -> dict[str, float]:
    return {
        "lines_per_s": round(lines / run.wall_s),
        "lines_per_cpu_s": round(lines / run.cpu_s),
        "ratio_to_reference": round(reference.cpu_s / run.cpu_s, 2),
        "peak_mb": round(run.peak_mb, 1),
    }


def run(*, quick: bool) -> dict[str, Any]:
    """Measure a log and one of a tenth of its lines over the same queries: memory must not grow with lines."""
    lines, queries, repeats = (20_000, 1_000, 1) if quick else (1_000_000, 50_000, 1)
    with tempfile.TemporaryDirectory() as folder:
        reports = [_measure(Path(folder), count, queries, repeats) for count in (lines // 10, lines)]
    growth = reports[1]["without_skills"]["peak_mb"] / reports[0]["without_skills"]["peak_mb"]
    return {"goal_lines_per_s": GOAL, "logs": reports, "memory_growth_10x_lines": round(growth, 2)}
