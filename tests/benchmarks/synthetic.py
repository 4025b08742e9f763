"""Synthetic handbooks and queries of any size, the same for the same seed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from skillctl.model.handbook import (
    Agent,
    AgentId,
    Capabilities,
    Competence,
    CostStats,
    Handbook,
    Indicator,
    Mode,
    ModeId,
    Price,
    Profile,
    Skill,
    SkillId,
)
from skillctl.store.handbook_dir import save_handbook

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODE = ModeId("answer")
_CONSONANTS, _VOWELS = "bcdfghjklmnprstvz", "aeiou"
_WORDS = 4_000  # of the vocabulary
_TOPIC_WORDS = 16  # of each skill
_FRAMES = ("what is the {} of {}?", "explain {} and {}", "find {} for {} in {}", "how does {} change {}?")


def make_words(seed: int = 0) -> list[str]:
    """Return distinct pronounceable words."""
    rng = np.random.default_rng(seed)
    words: dict[str, None] = {}
    while len(words) < _WORDS:
        syllables = rng.integers(2, 5)
        words["".join(rng.choice(list(_CONSONANTS)) + rng.choice(list(_VOWELS)) for _ in range(syllables))] = None
    return list(words)


def make_handbook(skills: int, agents: int, seed: int = 0) -> Handbook:
    """Return a handbook of one mode with a two-level tree of skills and a profile of every agent."""
    rng = np.random.default_rng([seed, skills, agents])
    words = make_words()
    made = [_make_skill(number, words, rng) for number in range(skills)]
    return Handbook(
        name="synthetic",
        modes={MODE: Mode(MODE, "Answers questions.")},
        skills={MODE: tuple(made)},
        agents={agent.id: agent for agent in (_make_agent(number, made, rng) for number in range(agents))},
    )


def write_handbook(root: Path, skills: int, agents: int, seed: int = 0) -> Path:
    """Write a synthetic handbook and return its folder."""
    save_handbook(make_handbook(skills, agents, seed), root)
    return root


def make_queries(count: int, handbook: Handbook, seed: int = 1) -> Iterator[str]:
    """Yield short queries of about ten words, half of them with words of one skill."""
    rng = np.random.default_rng([seed, len(handbook.skills[MODE])])
    words = make_words()
    topics = [[term.text for term in skill.indicators] for skill in handbook.skills[MODE]]
    for _ in range(count):
        topic = topics[int(rng.integers(len(topics)))]
        pick = rng.integers(0, len(words), 8)
        filler = [words[place] for place in pick.tolist()]
        subject = topic[int(rng.integers(len(topic)))] if rng.random() < 0.5 else filler[-1]
        frame = _FRAMES[int(rng.integers(len(_FRAMES)))]
        yield f"{frame.format(subject, filler[0], filler[1])} {' '.join(filler[2:7])}"


def write_queries(path: Path, count: int, handbook: Handbook, *, given: bool = False, seed: int = 1) -> Path:
    """Write queries as JSON lines, with weights of three skills each where ``given``."""
    rng = np.random.default_rng([seed, 7])
    ids = [skill.id for skill in handbook.skills[MODE]]
    with path.open("w", encoding="utf-8") as file:
        for number, query in enumerate(make_queries(count, handbook, seed)):
            line: dict[str, object] = {"id": number, "query": query}
            if given:
                chosen = rng.integers(0, len(ids), 3).tolist()
                line["skills"] = {ids[place]: 0.5 / (step + 1) for step, place in enumerate(chosen)}
            file.write(json.dumps(line) + "\n")
    return path


def _make_skill(number: int, words: list[str], rng: np.random.Generator) -> Skill:
    parent = SkillId(f"answer.s{number - number % 10:04d}") if number % 10 else None
    topic = [words[place] for place in rng.integers(0, len(words), _TOPIC_WORDS).tolist()]
    return Skill(
        id=SkillId(f"answer.s{number:04d}"),
        description=f"Knows about {topic[0]}, {topic[1]} and {topic[2]}.",
        parent=parent,
        indicators=tuple(Indicator(word) for word in sorted(set(topic[:10]))),
        examples=tuple(f"what is the {topic[k]} of {topic[k + 1]} {topic[k + 2]}?" for k in range(4)),
    )


def _make_agent(number: int, skills: list[Skill], rng: np.random.Generator) -> Agent:
    names = [MODE, *(skill.id for skill in skills)]
    counts = np.round(rng.gamma(2.0, 10.0, (len(names), 2)) * [1.0, 0.6], 4)
    competence = {
        name: Competence(round(3 + s, 4), round(2 + f, 4), s, f)
        for name, (s, f) in zip(names, counts.tolist(), strict=True)
    }
    cost = float(f"{rng.lognormal(-7, 1.5):.6g}")
    stats = CostStats(cost, cost / 2, 100, 400.0, 200.0, 1.5, 1.0)
    return Agent(
        id=AgentId(f"vendor/agent-{number:03d}"),
        model=f"vendor/agent-{number:03d}",
        modes=(MODE,),
        price=Price(1.0, 2.0),
        capabilities=Capabilities(("text",), 128_000),
        profiles={MODE: Profile(runs=100, cost=stats, competence=competence)},
    )
