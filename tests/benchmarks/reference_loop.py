"""The reference loop: what a plain implementation of the method does, query by query, in pure Python.

Every skill is scored by how many of its indicators occur in the text, every agent over dictionaries of posteriors
shaped like the handbook's files, all candidates are kept and sorted, and JSON is read and written with the standard
library. Nothing in it is slowed down on purpose, and nothing is made fast.

Run as a program: ``python reference_loop.py TABLE.json QUERIES.jsonl OUT.jsonl``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

_FLOOR = 0.01  # of a skill without a hit, so that no skill is ruled out


def find_skills(query: str, indicators: dict[str, list[str]]) -> dict[str, float]:
    """Return the weight of every skill, by the share of its indicators that occur in the query."""
    scores = {}
    for skill, terms in indicators.items():
        hits = sum(1 for term in terms if term.lower() in query.lower())
        scores[skill] = _FLOOR + hits / len(terms)
    total = sum(scores.values())
    return {skill: score / total for skill, score in scores.items()}


def expect_success(profile: dict[str, Any], weights: dict[str, float]) -> float:
    """Return the weighted mean of an agent's posteriors, with a uniform prior for what was never seen."""
    success = 0.0
    for skill, weight in weights.items():
        entry = profile["competence"].get(skill, {"alpha": 1.0, "beta": 1.0})
        success += weight * entry["alpha"] / (entry["alpha"] + entry["beta"])
    return success


def choose(weights: dict[str, float], agents: dict[str, Any], mode: str, cost_weight: float) -> dict[str, Any]:
    """Return the decision for one query."""
    candidates = []
    for name, agent in agents.items():
        profile = agent["profiles"][mode]
        success = expect_success(profile, weights)
        cost = profile["cost"]["mean_usd"]
        candidates.append(
            {"agent": name, "expected_success": success, "cost": cost, "score": success - cost_weight * cost}
        )
    candidates.sort(key=lambda candidate: candidate["score"], reverse=True)
    best = candidates[0]
    return {
        "mode": mode,
        "skills": weights,
        "agent": best["agent"],
        "score": best["score"],
        "expected_success": best["expected_success"],
        "expected_cost_usd": best["cost"],
        "fallbacks": [candidate["agent"] for candidate in candidates[1:4]],
    }


def route_file(table: dict[str, Any], queries: Path, out: Path) -> None:
    """Route a file line by line."""
    with queries.open(encoding="utf-8") as lines, out.open("w", encoding="utf-8") as sink:
        for line in lines:
            query = json.loads(line)
            weights = query.get("skills") or find_skills(query["query"], table["indicators"])
            decision = choose(weights, table["agents"], table["mode"], table["cost_weight"])
            sink.write(json.dumps({"id": query["id"], **decision}) + "\n")


if __name__ == "__main__":
    route_file(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2]), Path(sys.argv[3]))
