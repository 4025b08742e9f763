from __future__ import annotations

import numpy as np
import pytest

from skillctl.core.merging import THRESHOLD, weigh_unity

TIMES = 100


def share_merged(runs: int, agents: int, apart: float) -> float:
    """Return how often two skills are taken for one where the first agent's chances in them are so far apart."""
    rng = np.random.default_rng(runs + agents)
    merged = 0
    for _ in range(TIMES):
        chances = rng.uniform(0.1, 0.9, agents)
        others = chances.copy()
        others[0] += apart if chances[0] < 0.5 else -apart
        wins = np.stack([rng.binomial(runs, chances), rng.binomial(runs, others)], axis=1).astype(np.float64)
        merged += weigh_unity(wins, runs - wins) > THRESHOLD
    return merged / TIMES


@pytest.mark.parametrize(("runs", "agents", "least"), [(50, 4, 0.5), (100, 4, 0.7), (250, 4, 0.9), (100, 8, 0.9)])
def test_most_twins_are_merged(runs: int, agents: int, least: float) -> None:
    assert share_merged(runs, agents, 0.0) >= least


@pytest.mark.parametrize(("runs", "agents", "most"), [(50, 4, 0.1), (100, 4, 0.05), (250, 4, 0.0), (100, 8, 0.15)])
def test_skills_that_one_agent_tells_apart_mostly_stay(runs: int, agents: int, most: float) -> None:
    assert share_merged(runs, agents, 0.3) <= most
