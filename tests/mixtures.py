"""Planted worlds for refinement: kinds of questions, each easy for some agents and hard for others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from conftest import Run

OPPOSED = {"adder": (0.95, 0.1), "poet": (0.1, 0.95), "both": (0.6, 0.6)}
ALIKE = {"adder": (0.9, 0.9), "poet": (0.3, 0.3), "both": (0.6, 0.6)}
TEXTS = {
    "sums": "what is the sum of the numbers {} and {} and how large is the total?",
    "rhymes": "write a short poem with rhymes about the moon, verse {} of {}",
    "cities": "which country has the capital city number {} of {} on the map of europe?",
    "code": "def function_{}(x):\n    return x + {}  # repair this python code",
}


def make_mixture(
    kinds: Sequence[str], chances: dict[str, Sequence[float]], count: int, seed: int, *, first: int = 0
) -> list[dict[str, Any]]:
    """Return runs of all agents on queries of some kinds in turn; ``chances`` has one success rate for each kind."""
    rng = np.random.default_rng(seed)
    lines = []
    for number in range(first, first + count):
        kind = number % len(kinds)
        text = TEXTS[kinds[kind]].format(number, int(rng.integers(1000)))
        lines += [
            {"query_id": f"q{number}", "query": text, "agent": agent, "success": bool(rng.random() < rates[kind])}
            for agent, rates in chances.items()
        ]
    return lines


def write_lines(path: Path, lines: list[dict[str, Any]]) -> Path:
    """Write traces as JSON lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def describe_kind(skill: str, *kinds: str, parent: str | None = None) -> str:
    """Return a skill in YAML with four example queries of each kind."""
    examples = [TEXTS[kind].format(5000 + number, number) for kind in kinds for number in range(4)]
    above = f"\n  parent: {parent}" if parent else ""
    texts = "".join(f"\n  - {json.dumps(text)}" for text in examples)
    return f"- id: {skill}{above}\n  description: Works on {' and '.join(kinds)}.\n  examples:{texts}\n"


def make_book(root: Path, run: Run, skills: str, chances: dict[str, Any], count: int = 120) -> tuple[Path, list[Any]]:
    """Make a handbook with these skills, profiled; return it with the options that name both logs."""
    kinds = ("sums", "rhymes")
    training = write_lines(root / "train.jsonl", make_mixture(kinds, chances, count, 1))
    validation = write_lines(root / "validation.jsonl", make_mixture(kinds, chances, 80, 2, first=1000))
    book = root / "book"
    assert run("init", book, "--agents-from", training).exit_code == 0
    (book / "skills").mkdir(exist_ok=True)
    (book / "skills" / "answer.yaml").write_text(f"mode: answer\nskills:\n{skills}", encoding="utf-8")
    assert run("-q", "profile", book, "--traces", training).exit_code == 0
    return book, ["--traces", training, "--validation", validation]


def read_book(book: Path) -> dict[str, bytes]:
    """Return all files of a handbook."""
    return {str(path.relative_to(book)): path.read_bytes() for path in sorted(book.rglob("*.yaml"))}
