"""The reference loop: what a plain implementation of the method does, query by query, in pure Python.

Skills are found by looking for each indicator in the text, every agent is scored over dictionaries of posteriors
with all of its candidates kept for the explanation, and JSON is read and written with the standard library.

Run as a program: ``python reference_loop.py TABLE.json QUERIES.jsonl OUT.jsonl``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class AgentProfile:
    """One agent's posteriors by skill, and its expected cost."""

    name: str
    cost: float
    alpha: dict[str, float] = field(default_factory=dict)
    beta: dict[str, float] = field(default_factory=dict)

    def competence(self, skill: str) -> float:
        """Return the posterior mean, with a uniform prior for what was never seen."""
        alpha, beta = self.alpha.get(skill, 1.0), self.beta.get(skill, 1.0)
        return alpha / (alpha + beta)


def find_skills(query: str, indicators: dict[str, list[str]]) -> dict[str, float]:
    """Return weights by the number of indicators that occur in the query, all skills alike where none does."""
    hits = {}
    for skill, terms in indicators.items():
        count = sum(1 for term in terms if term.lower() in query.lower())
        if count:
            hits[skill] = float(count)
    if not hits:
        hits = dict.fromkeys(indicators, 1.0)
    total = sum(hits.values())
    return {skill: count / total for skill, count in hits.items()}


def choose(weights: dict[str, float], agents: list[AgentProfile], cost_weight: float) -> dict[str, Any]:
    """Return the decision for one query."""
    candidates = []
    for agent in agents:
        success = sum(weight * agent.competence(skill) for skill, weight in weights.items())
        score = success - cost_weight * agent.cost
        candidates.append({"agent": agent.name, "expected_success": success, "cost": agent.cost, "score": score})
    candidates.sort(key=lambda candidate: -candidate["score"])
    best = candidates[0]
    return {
        "skills": weights,
        "agent": best["agent"],
        "score": best["score"],
        "expected_success": best["expected_success"],
        "expected_cost_usd": best["cost"],
        "fallbacks": [candidate["agent"] for candidate in candidates[1:4]],
    }


def route_file(table: dict[str, Any], queries: Path, out: Path) -> None:
    """Route a file line by line."""
    agents = [AgentProfile(a["name"], a["cost"], a["alpha"], a["beta"]) for a in table["agents"]]
    with queries.open(encoding="utf-8") as lines, out.open("w", encoding="utf-8") as sink:
        for line in lines:
            query = json.loads(line)
            weights = query.get("skills") or find_skills(query["query"], table["indicators"])
            decision = {"id": query["id"], **choose(weights, agents, table["cost_weight"])}
            sink.write(json.dumps(decision) + "\n")


if __name__ == "__main__":
    route_file(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2]), Path(sys.argv[3]))
