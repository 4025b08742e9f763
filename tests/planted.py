"""A planted world for command-line tests: two fine skills, three agents with prices, and logs of all of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

# Chance of success of each agent in the two skills, and its cost.
AGENTS = {"adder": ((0.95, 0.1), 0.01), "poet": ((0.1, 0.95), 0.02), "<all> & round": ((0.6, 0.6), 0.05)}
FINE = ("words.add", "words.rhyme")
SKILLS = """\
mode: answer
skills:
- {id: words, description: Works with words and numbers.}
- {id: words.add, parent: words, description: Adds numbers., indicators: [sum, plus]}
- {id: words.rhyme, parent: words, description: Finds rhymes., indicators: [rhyme, verse]}
"""


def make_traces(count: int, seed: int, *, confusion: float = 0.0, first: int = 0) -> list[dict[str, Any]]:
    """Return the runs of all agents; ``skills`` names the wrong fine skill with a chance of ``confusion``."""
    rng = np.random.default_rng(seed)
    lines = []
    for number in range(first, first + count):
        skill = int(rng.integers(2))
        named = 1 - skill if rng.random() < confusion else skill
        text = f"what is the sum of {number} plus 7?" if skill == 0 else f"find a rhyme for verse {number}"
        for agent, (chances, cost) in AGENTS.items():
            lines.append(
                {
                    "query_id": f"q{number}", "query": text, "task": ("sums", "rhymes")[skill], "agent": agent,
                    "success": bool(rng.random() < chances[skill]), "cost_usd": cost, "skills": {FINE[named]: 1.0},
                }
            )  # fmt: skip
    return lines


def write_traces(path: Path, traces: Iterable[dict[str, Any]]) -> Path:
    """Write traces as JSON lines."""
    path.write_text("".join(json.dumps(trace) + "\n" for trace in traces), encoding="utf-8")
    return path


def make_handbook(root: Path, run: Callable[..., Any]) -> Path:
    """Make a handbook of the planted world, profiled on 60 queries; the training log lies beside it."""
    log = write_traces(root / "train.jsonl", make_traces(60, seed=1))
    handbook = root / "book"
    assert run("init", handbook, "--agents-from", log).exit_code == 0
    (handbook / "skills").mkdir(exist_ok=True)
    (handbook / "skills" / "answer.yaml").write_text(SKILLS, encoding="utf-8")
    assert run("-q", "profile", handbook, "--traces", log).exit_code == 0
    return handbook
