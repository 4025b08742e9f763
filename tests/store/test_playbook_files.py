"""Playbooks and actions as files of a handbook."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from skillctl.model.handbook import Action, Agent, AgentId, Handbook, Mode, ModeId, Playbook, PlaybookId, Skill, SkillId
from skillctl.store.handbook_dir import find_problems, load_handbook, save_handbook

if TYPE_CHECKING:
    from pathlib import Path

CODE, BOOK = ModeId("code"), PlaybookId("on")
HANDBOOK = Handbook(
    "h",
    modes={
        CODE: Mode(CODE, "Runs code.", Action("code", is_final=False, timeout_s=1.5, memory_mb=64), BOOK),
        ModeId("search"): Mode(ModeId("search"), action=Action("search", corpus="corpus", results=4)),
        ModeId("tool"): Mode(ModeId("tool"), action=Action("command", command=("python", "x.py"))),
    },
    skills={
        CODE: (Skill(SkillId("code.x"), "X.", playbook=BOOK),),
        ModeId("search"): (),
        ModeId("tool"): (),
    },
    agents={AgentId("a"): Agent(AgentId("a"), model="m", tools=("python",), playbook=BOOK, modes=(CODE,))},
    playbooks={BOOK: Playbook(BOOK, "For code.", "Write code.\nBriefly: no talk.", "{query}", ("python",))},
)


def test_actions_and_playbooks_survive_a_round_trip(tmp_path: Path) -> None:
    save_handbook(HANDBOOK, tmp_path)
    assert load_handbook(tmp_path) == HANDBOOK
    assert save_handbook(HANDBOOK, tmp_path) == []


def test_keys_stand_in_the_order_of_the_schema(tmp_path: Path) -> None:
    save_handbook(HANDBOOK, tmp_path)
    lines = (tmp_path / "modes/code.yaml").read_text(encoding="utf-8").splitlines()
    keys = [line.split(":")[0] for line in lines if line[0].isalpha()]
    assert keys == ["mode", "description", "action", "playbook"]
    assert (tmp_path / "playbooks/on.yaml").exists()


def test_the_playbook_of_a_mode_that_nobody_needs_any_more_is_removed(tmp_path: Path) -> None:
    save_handbook(HANDBOOK, tmp_path)
    modes = {mode: replace(one, playbook=None) for mode, one in HANDBOOK.modes.items()}
    skills = {mode: tuple(replace(skill, playbook=None) for skill in own) for mode, own in HANDBOOK.skills.items()}
    agents = {name: replace(agent, playbook=None) for name, agent in HANDBOOK.agents.items()}
    save_handbook(replace(HANDBOOK, modes=modes, skills=skills, agents=agents, playbooks={}), tmp_path)
    assert not list((tmp_path / "playbooks").iterdir())


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("agents/a.yaml", "playbook: 'on'", "playbook: onn", "there is no playbook `onn`: did you mean `on`?"),
        ("skills/code.yaml", "playbook: 'on'", "playbook: off", "there is no playbook `off`"),
        ("modes/code.yaml", "playbook: 'on'", "playbook: off", "there is no playbook `off`"),
        ("modes/search.yaml", "corpus: corpus", "memory_mb: 64", "a search has either `corpus` or `url`"),
        ("modes/tool.yaml", "  command: [python, x.py]\n", "", "an action of kind `command` has `command`"),
        ("modes/code.yaml", "kind: code", "kind: dance", "dance"),
        ("modes/code.yaml", "timeout_s: 1.5", "timeout: 1.5", "timeout_s"),
    ],
)
def test_what_refers_to_nothing_or_says_too_little_is_a_problem(
    tmp_path: Path, file: str, old: str, new: str, message: str
) -> None:
    save_handbook(HANDBOOK, tmp_path)
    path = tmp_path / file
    text = path.read_text(encoding="utf-8").replace('"on"', "'on'")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    problems = find_problems(tmp_path)
    assert [problem.file for problem in problems] == [str(path)]
    assert message in problems[0].message
