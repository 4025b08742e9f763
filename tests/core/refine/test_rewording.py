from __future__ import annotations

from skillctl.core.discover.proposals import Proposal as Words
from skillctl.core.refine.refinement import Part, Proposal
from skillctl.core.refine.rewording import reword_edit
from skillctl.model.handbook import Indicator, ModeId, Origin, Skill, SkillId

TEXTS = ["the sum of 1", "a rhyme on 2", "the sum of 3", "a rhyme on 4", "the city"]
ORIGIN = Origin("split", (SkillId("answer.w"),), ("1",))


def make_split() -> Proposal:
    """Return a split of a skill with a child, which is below the first half afterwards."""
    first = Skill(
        SkillId("answer.w.a"), "Old.", SkillId("answer.w"), (Indicator("old"),), ("the sum of 1",), origin=ORIGIN
    )
    second = Skill(SkillId("answer.w.b"), "Old too.", SkillId("answer.w"), origin=ORIGIN)
    child = Skill(SkillId("answer.w.c"), "Child.", first.id)
    source = Skill(SkillId("answer.w"), "Source.")
    parts = tuple(Part(one.id, (1,), {}, ()) for one in (first, second))
    edited = (source, first, second, child)
    return Proposal("split", ModeId("answer"), (source.id,), 9.0, 3.0, parts, edited, (first.id, second.id), "text")


def test_ids_descriptions_and_indicators_are_replaced_wherever_they_stand() -> None:
    words = Words("Adding: numbers!", "Adds numbers.", ("sum", "pigeon", "the"), ())
    edit = reword_edit(make_split(), (words, None), TEXTS, {"answer.w.adding-numbers"})
    assert edit
    assert edit.made == ("answer.w.adding-numbers-2", "answer.w.b")
    assert [part.skill for part in edit.parts] == list(edit.made)
    skills = {skill.id: skill for skill in edit.edited}
    first = skills[edit.made[0]]
    assert (first.description, first.parent, first.origin, first.examples) == (
        "Adds numbers.", "answer.w", ORIGIN, ("the sum of 1",)
    )  # fmt: skip
    assert first.indicators == (Indicator("sum"), Indicator("old"))
    assert skills[SkillId("answer.w.c")].parent == first.id
    assert skills[SkillId("answer.w.b")].description == "Old too."
    assert list(skills) == sorted(skills)


def test_an_id_comes_from_letters_and_digits_of_the_name_alone() -> None:
    edit = reword_edit(make_split(), (Words("../../Ünïcode / $(rm)", "Says it.", (), ()), None), TEXTS, ())
    assert edit
    assert edit.made[0] == "answer.w.unicode-rm"


def test_without_words_there_is_nothing_to_reword() -> None:
    assert reword_edit(make_split(), (None, None), TEXTS, ()) is None
    assert reword_edit(make_split(), (), TEXTS, ()) is None
