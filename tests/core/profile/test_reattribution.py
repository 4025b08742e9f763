from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.profile.pair_layout import ModeLayout, build_layout
from skillctl.core.profile.reattribution import Reattribution
from skillctl.model.handbook import Handbook, Mode, ModeId, Origin, Skill, SkillId

ANSWER = ModeId("answer")
# A skill that was split; one of its halves was split later, the other holds a finer skill from before.
TREE = {
    "w": (None, None),
    "w.a": ("w", "split"),
    "w.b": ("w", "split"),
    "w.b.c": ("w.b", "discovered"),
    "w.a.x": ("w.a", "split"),
    "w.a.y": ("w.a", "split"),
    "z": (None, None),
    "z.new": ("z", "failure-driven"),
}


def make_layout() -> ModeLayout:
    skills = tuple(
        Skill(SkillId(name), "Does it.", parent and SkillId(parent), origin=Origin(how) if how else None)
        for name, (parent, how) in sorted(TREE.items())
    )
    return build_layout(Handbook("h", modes={ANSWER: Mode(ANSWER)}, skills={ANSWER: skills})).modes[0]


LAYOUT = make_layout()
NUMBER = {key: number for number, key in enumerate(LAYOUT.keys)}


def share(named: dict[str, float], weighed: dict[str, float]) -> dict[str, float]:
    parts = Reattribution(LAYOUT)
    found = parts.share_out(
        {NUMBER[key]: w for key, w in named.items()}, {NUMBER[key]: w for key, w in weighed.items()}
    )
    return {LAYOUT.keys[number]: pytest.approx(weight) for number, weight in found.items()}


def test_the_text_decides_which_half_a_named_skill_was() -> None:
    assert share({"w": 1.0}, {"w": 0.5, "w.b": 0.25, "w.a.x": 0.25}) == {"w.b": 0.5, "w.a.x": 0.5}


def test_a_half_that_was_split_again_passes_its_share_on() -> None:
    weighed = {"w.a": 0.5, "w.a.x": 0.3, "w.a.y": 0.1, "z": 0.1}
    assert share({"w": 1.0}, weighed) == {"w.a.x": 0.75, "w.a.y": 0.25}


def test_finer_skills_from_before_speak_for_their_half_and_get_nothing_themselves() -> None:
    assert share({"w": 1.0}, {"w.b.c": 1.0}) == {"w.b": 1.0}


def test_a_text_that_resembles_no_part_leaves_the_weight_where_it_was() -> None:
    assert share({"w": 0.7, "z": 0.3}, {"answer": 1.0}) == {"w": 0.7, "z": 0.3}


def test_beside_an_added_skill_the_old_one_keeps_what_it_weighs() -> None:
    assert share({"z": 1.0}, {"z": 0.6, "z.new": 0.2, "w": 0.2}) == {"z": 0.75, "z.new": 0.25}


def test_who_names_a_part_knew_of_the_split() -> None:
    parts = Reattribution(LAYOUT)
    both = {NUMBER["w"]: 0.2, NUMBER["w.b"]: 0.8}
    assert not parts.is_needed(both)
    assert not parts.is_needed({NUMBER["w.b.c"]: 1.0})
    assert parts.is_needed({NUMBER["w"]: 1.0})
    assert parts.is_needed({NUMBER["w"]: 1.0, NUMBER["w.b.c"]: 0.0} | {NUMBER["z"]: 1.0})
    assert parts.share_out(both, {NUMBER["w.a"]: 1.0}) == both


weights = st.dictionaries(st.sampled_from(range(len(TREE) + 1)), st.floats(0.001, 1), min_size=1)


@given(weights, weights)
def test_no_weight_is_lost_and_none_leaves_the_named_skills(named: dict[int, float], weighed: dict[int, float]) -> None:
    found = Reattribution(LAYOUT).share_out(named, weighed)
    assert sum(found.values()) == pytest.approx(sum(named.values()))
    for skill in found:
        above = skill
        while above not in named:
            above = LAYOUT.tree.parents[above]
            assert above >= 0
