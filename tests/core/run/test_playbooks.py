from __future__ import annotations

from dataclasses import replace

import pytest

from skillctl.core.run.conversation import Conversation, Decision, Turn
from skillctl.core.run.playbooks import BUILT_IN, build_messages, choose_playbook, find_code
from skillctl.model.handbook import (
    Action,
    Agent,
    AgentId,
    Handbook,
    Mode,
    ModeId,
    Playbook,
    PlaybookId,
    Skill,
    SkillId,
)

CODE, ANSWER = ModeId("code"), ModeId("answer")
BOOKS = {PlaybookId(name): Playbook(PlaybookId(name)) for name in ("mine", "fine", "coarse", "mode")}
SKILLS = (
    Skill(SkillId("code.math"), "Calculates.", playbook=PlaybookId("coarse")),
    Skill(SkillId("code.math.dates"), "Dates.", parent=SkillId("code.math")),
    Skill(SkillId("code.math.sums"), "Sums.", parent=SkillId("code.math"), playbook=PlaybookId("fine")),
    Skill(SkillId("code.plain"), "Anything."),
)
HANDBOOK = Handbook(
    "h",
    modes={CODE: Mode(CODE, action=Action("code"), playbook=PlaybookId("mode")), ANSWER: Mode(ANSWER)},
    skills={CODE: SKILLS, ANSWER: ()},
    playbooks=BOOKS,
)
AGENT = Agent(AgentId("a"), model="m", modes=(CODE, ANSWER))
ASK = Conversation("q", "What is 6 * 7?", ({"role": "user", "content": "What is 6 * 7?"},))


@pytest.mark.parametrize(
    ("skills", "expected"),
    [
        ({"code.math.sums": 0.6, "code.math": 0.4}, "fine"),
        ({"code.math.dates": 0.6, "code.math.sums": 0.4}, "coarse"),
        ({"code.math": 1.0}, "coarse"),
        ({"code.plain": 1.0}, "mode"),
        ({"code": 1.0}, "mode"),
        ({}, "mode"),
    ],
)
def test_the_heaviest_skill_or_its_nearest_ancestor_says_how(skills: dict[str, float], expected: str) -> None:
    assert choose_playbook(HANDBOOK, AGENT, Decision("code", "a", skills)).id == expected


def test_a_playbook_whose_tools_the_agent_lacks_is_passed_over() -> None:
    fine = replace(BOOKS[PlaybookId("fine")], tools=("python",))
    book = replace(HANDBOOK, playbooks={**BOOKS, fine.id: fine})
    decision = Decision("code", "a", {"code.math.sums": 1.0})
    assert choose_playbook(book, AGENT, decision).id == "coarse"
    assert choose_playbook(book, replace(AGENT, tools=("python",)), decision).id == "fine"


def test_an_agent_with_a_playbook_of_its_own_follows_that() -> None:
    agent = replace(AGENT, playbook=PlaybookId("mine"))
    assert choose_playbook(HANDBOOK, agent, Decision("code", "a", {"code.math.sums": 1.0})).id == "mine"


def test_a_mode_without_an_action_answers() -> None:
    assert choose_playbook(HANDBOOK, AGENT, Decision("answer", "a")) is BUILT_IN["answer"]


def test_a_plain_first_step_sends_the_querys_own_messages() -> None:
    assert build_messages(BUILT_IN["answer"], ASK) is ASK.messages


def test_what_was_found_stands_before_the_query() -> None:
    turn = Turn(Decision("search", "s"), observation="A table of products.", succeeded=True)
    messages = build_messages(Playbook(PlaybookId("p"), instructions="Be brief."), ASK.with_turn(turn))
    assert messages == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "[search] A table of products.\n\nWhat is 6 * 7?"},
    )


def test_a_template_is_filled_once_and_other_braces_stay() -> None:
    book = Playbook(PlaybookId("p"), input='{"q": "{query}", "seen": "{observations}"} {other}')
    sly = replace(ASK, text="{observations}")
    (message,) = build_messages(book, sly)
    assert message["content"] == '{"q": "{observations}", "seen": ""} {other}'


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("```python\nprint(1)\n```", "print(1)\n"),
        ("Sure!\n```py\nx = 1\n```\nor better\n```\nprint(2)\n```\nDone.", "print(2)\n"),
        ("```python\nprint(3)", "print(3)"),
        ("<think>```python\nbad\n```</think>print(4)", "print(4)"),
        ("x = 5\nprint(x)", "x = 5\nprint(x)"),
        ("42", None),
        ("forty two", None),
        ("", None),
        ("The answer is 42.", None),
    ],
)
def test_the_program_in_a_reply_is_found(reply: str, code: str | None) -> None:
    assert find_code(reply) == code
