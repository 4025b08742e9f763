"""Small handbooks for tests of routing."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    Profile,
    Settings,
    Skill,
    SkillId,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

ANSWER = ModeId("answer")

SKILLS = (
    Skill(
        SkillId("answer.math"),
        "Solves mathematical problems with numbers and equations.",
        indicators=(Indicator("equation"), Indicator("solve for x"), Indicator(r"\d\s*[-+*/]\s*\d", is_regex=True)),
        examples=("What is 3 * 4 + 5?", "Solve 3x + 5 = 20 for x."),
    ),
    Skill(
        SkillId("answer.math.geometry"),
        "Computes areas, angles and volumes of shapes.",
        parent=SkillId("answer.math"),
        indicators=(Indicator("triangle"), Indicator("circle")),
        examples=("What is the area of a triangle with sides 3, 4 and 5?",),
    ),
    Skill(
        SkillId("answer.writing"),
        "Writes poems, stories and letters.",
        indicators=(Indicator("poem"), Indicator("story")),
        examples=("Write a poem about spring in the mountains.", "Tell me a story about a brave fox."),
    ),
)


def make_agent(
    name: str,
    competence: dict[str, tuple[float, float]] | None = None,
    *,
    cost: float | None = 0.001,
    modes: Sequence[ModeId] = (ANSWER,),
    tools: tuple[str, ...] = (),
    capabilities: Capabilities | None = None,
) -> Agent:
    """Return an agent with successes and failures by skill, under a uniform prior."""
    entries = {
        skill: Competence(1 + successes, 1 + failures, successes, failures)
        for skill, (successes, failures) in (competence or {}).items()
    }
    profile = Profile(runs=10, cost=CostStats(mean_usd=cost, runs=10 if cost is not None else 0), competence=entries)
    return Agent(
        id=AgentId(name),
        model=f"vendor/{name}",
        modes=tuple(modes),
        tools=tools,
        capabilities=capabilities or Capabilities(),
        profiles={ANSWER: profile} if entries else {},
    )


STRONG = make_agent("strong", {"answer": (80, 20), "answer.math": (45, 5), "answer.writing": (35, 15)}, cost=0.01)
CHEAP = make_agent("cheap", {"answer": (50, 50), "answer.math": (20, 30), "answer.writing": (40, 10)}, cost=0.0001)


def make_handbook(*agents: Agent, cost_weight: float = 0.0, skills: tuple[Skill, ...] = SKILLS) -> Handbook:
    """Return a handbook of one mode with the given agents."""
    chosen = agents or (CHEAP, STRONG)
    return Handbook(
        name="small",
        settings=Settings(cost_weight=cost_weight),
        modes={ANSWER: Mode(ANSWER, "Answers.")},
        skills={ANSWER: skills},
        agents={agent.id: agent for agent in sorted(chosen, key=lambda agent: agent.id)},
    )
