from __future__ import annotations

import numpy as np
import pytest

from skillctl.core.refine.merging import THRESHOLD, join_descriptions, weigh_unity
from skillctl.model.handbook import Origin, Skill, SkillId

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


def make_skill(description: str, *merged: str) -> Skill:
    origin = Origin("merged", tuple(map(SkillId, merged))) if merged else None
    return Skill(SkillId("answer.one"), description, origin=origin)


def test_a_merged_skill_says_what_its_two_largest_parts_say() -> None:
    sums, odes, maps = "Adds. Also long sums.", "Writes odes.", "Reads “Where is it? Say.” aloud."
    assert join_descriptions([make_skill(sums), make_skill(odes)], (9, 5)) == f"{sums} {odes}"
    both = make_skill(f"{maps} {odes}", "a", "b")
    assert join_descriptions([both, make_skill("Draws.")], (20, 9)) == f"{maps} {odes}"
    assert join_descriptions([both, make_skill("Draws.")], (20, 11)) == f"Draws. {maps}"
    assert join_descriptions([make_skill(odes), both], (20, 10)) == f"{odes} {maps}"
    many = make_skill("One. Two. Three. Four.", "a", "b", "c", "d")
    assert join_descriptions([many, make_skill("Five.")], (40, 5)) == "One. Two."


def test_the_same_words_stand_there_once() -> None:
    assert join_descriptions([make_skill("Adds."), make_skill("Adds.")], (3, 2)) == "Adds."
