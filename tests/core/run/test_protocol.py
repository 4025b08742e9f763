from __future__ import annotations

from dataclasses import replace

import pytest

from skillctl.core.run.protocol import ProtocolChecker
from skillctl.model.handbook import Action, Agent, AgentId, Handbook, Mode, ModeId, Skill, SkillId
from skillctl.model.trace import Step, Trace

ANSWER, SEARCH = ModeId("answer"), ModeId("search")
HANDBOOK = Handbook(
    "h",
    modes={ANSWER: Mode(ANSWER), SEARCH: Mode(SEARCH, action=Action("search", corpus="c"))},
    skills={ANSWER: (Skill(SkillId("answer.x"), "X."),), SEARCH: ()},
    agents={
        AgentId("a"): Agent(AgentId("a"), modes=(ANSWER,)),
        AgentId("s"): Agent(AgentId("s"), modes=(SEARCH,)),
    },
)
LOOKED, ANSWERED = Step("search", "s"), Step("answer", "a")
GOOD = Trace("t", "q", "?", "a", "answer", success=True, answer="42", steps=(LOOKED, ANSWERED))


def breaches(trace: Trace, max_turns: int | None = 3) -> list[str]:
    return [f"{b.path}: {b.message}" for b in ProtocolChecker(HANDBOOK, max_turns=max_turns).find_breaches(trace)]


def test_a_conversation_of_the_loop_breaks_no_rule() -> None:
    assert breaches(GOOD) == []
    assert breaches(replace(GOOD, steps=())) == []
    assert breaches(replace(GOOD, skills={"answer": 0.5, "answer.x": 0.5})) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"agent": "z"}, "$.agent: the handbook has no agent 'z'"),
        ({"mode": "fly"}, "$.mode: the handbook has no mode 'fly'"),
        ({"agent": "s"}, "$.agent: agent 's' does not work in mode 'answer'"),
        ({"skills": {"answer.y": 1.0}}, "$.skills: the mode 'answer' has no skill 'answer.y'"),
        ({"steps": (Step("fly", "s"), ANSWERED)}, "$.steps[0].mode: the handbook has no mode 'fly'"),
        ({"steps": (Step("search"), ANSWERED)}, "$.steps[0]: the step names no agent"),
        ({"steps": (Step(None, "s"), ANSWERED)}, "$.steps[0]: the step names no mode"),
        ({"steps": (Step("answer", "s"),)}, "$.steps[0].agent: agent 's' does not work in mode 'answer'"),
        ({"steps": (LOOKED,)}, "$.answer: there is an answer, but no step in a mode that gives one"),
        ({"steps": (ANSWERED, ANSWERED)}, "$.steps[0]: the conversation went on after a final answer"),
        ({"steps": (ANSWERED, LOOKED)}, "$.steps[0]: the conversation went on after its final answer"),
        ({"steps": (LOOKED, LOOKED, LOOKED, ANSWERED)}, "$.steps: 4 steps are more than the limit of 3"),
        ({"answer": None}, "$.answer: it succeeded without an answer"),
    ],
)
def test_each_rule_is_reported_with_its_place(change: dict[str, object], message: str) -> None:
    assert breaches(replace(GOOD, **change)) == [message]  # type: ignore[arg-type]


def test_refused_answers_and_outside_failures_may_come_before_the_final_one() -> None:
    refused, failed = replace(ANSWERED, success=False), replace(ANSWERED, error="timeout")
    assert breaches(replace(GOOD, steps=(LOOKED, refused, failed, ANSWERED))) == []
