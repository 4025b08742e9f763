"""Traces with a planted structure: an agent that adds and one that writes poems."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

CHANCES = {"adder": (0.95, 0.1), "poet": (0.1, 0.95)}
SUBJECTS = ("rain", "love", "stars")


def write_planted_traces(path: Path, count: int, *, with_steps: bool = False) -> Path:
    """Write the attempts of both agents at ``count`` sums and poems in turn, from a fixed seed."""
    rng = np.random.default_rng(1)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            kind = number % 2
            poem = f"Write a poem about {SUBJECTS[number % len(SUBJECTS)]} {number}."
            text = poem if kind else f"Add {number} and {number * 7}."
            for agent, chance in CHANCES.items():
                line = {"query_id": number, "query": text, "task": ["sums", "poems"][kind], "agent": agent,
                        "success": bool(rng.random() < chance[kind])}  # fmt: skip
                if with_steps:
                    line["steps"] = [{"mode": mode, "agent": agent} for mode in ("look", "answer")]
                file.write(json.dumps(line) + "\n")
    return path
