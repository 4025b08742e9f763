"""Discovery replaces what an earlier one found, and what refinement made of that; what people wrote stays."""

from __future__ import annotations

import pytest

from skillctl.core.discover.discovered import is_written, keep_written
from skillctl.model.handbook import Handbook, ModeId, Origin, Skill, SkillId

MODE = ModeId("answer")


def _skill(name: str, how: str | None = None, parent: str | None = None) -> Skill:
    return Skill(
        SkillId(name),
        "A skill.",
        parent=None if parent is None else SkillId(parent),
        origin=None if how is None else Origin(how),
    )


def _keep(*skills: Skill) -> list[str]:
    return [skill.id for skill in keep_written(Handbook("h", skills={MODE: skills}), MODE)]


@pytest.mark.parametrize("how", ["discovered", "split", "merged", "failure-driven"])
def test_what_was_found_goes_and_what_was_made_of_it(how: str) -> None:
    assert _keep(_skill("answer.a", "discovered"), _skill("answer.a.b", how, "answer.a"), _skill("answer.c", how)) == []


@pytest.mark.parametrize("how", [None, "hand-written", "merged from hand-written"])
def test_what_people_wrote_stays_with_what_is_above_it(how: str | None) -> None:
    found = _skill("answer.a", "discovered")
    assert _keep(found, _skill("answer.a.b", how, "answer.a"), _skill("answer.a.c", "split", "answer.a")) == [
        "answer.a",
        "answer.a.b",
    ]


@pytest.mark.parametrize("how", ["split", "merged", "failure-driven"])
def test_what_refinement_made_of_a_written_skill_stays_with_it(how: str) -> None:
    skills = (_skill("answer.a"), _skill("answer.a.b", how, "answer.a"), _skill("answer.a.b.c", how, "answer.a.b"))
    assert _keep(*skills) == ["answer.a", "answer.a.b", "answer.a.b.c"]
    assert [is_written(skill) for skill in skills] == [True, False, False]
