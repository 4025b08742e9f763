"""Cuts of a skill tree."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.orchestrate.orchestration import SkillWeights
from skillctl.core.select.candidates import CutOrchestrator, Tree, move_weights
from skillctl.model.handbook import Skill, SkillId


def make_tree(**parents: str | None) -> Tree:
    skills = [
        Skill(SkillId(name), "does it", parent=SkillId(parent) if parent else None)
        for name, parent in sorted(parents.items())
    ]
    return Tree(skills)


TWO_LEVELS = make_tree(a=None, a1="a", a2="a", b=None, b1="b")


def test_every_cut_is_listed_once_the_mode_alone_first() -> None:
    cuts = [sorted(cut) for cut in TWO_LEVELS.list_cuts()]
    assert cuts == [[], ["a", "b"], ["a", "b", "b1"], ["a", "a1", "a2", "b"], ["a", "a1", "a2", "b", "b1"]]
    assert TWO_LEVELS.count_cuts() == 5


def test_a_mode_without_skills_has_one_cut() -> None:
    assert list(make_tree().list_cuts()) == [frozenset()]
    assert make_tree().count_cuts() == 1


@given(st.lists(st.integers(0, 8), min_size=1, max_size=7))
def test_counting_agrees_with_listing_and_every_kept_skill_has_its_parent(choices: list[int]) -> None:
    parents: dict[str, str | None] = {}
    for number, choice in enumerate(choices):
        above = choice % (number + 1)
        parents[f"s{number}"] = None if above == number else f"s{above}"
    tree = make_tree(**parents)
    cuts = list(tree.list_cuts())
    assert len(cuts) == len(set(cuts)) == tree.count_cuts()
    assert all(parents[skill] is None or parents[skill] in cut for cut in cuts for skill in cut)
    assert tree.finest in cuts


def test_coarsening_takes_the_children_of_one_skill_at_a_time() -> None:
    steps = [sorted(cut) for cut in TWO_LEVELS.coarsen(TWO_LEVELS.finest)]
    assert steps == [["a", "b", "b1"], ["a", "a1", "a2", "b"]]
    assert list(TWO_LEVELS.coarsen(frozenset())) == []


def test_weight_of_what_went_moves_to_the_nearest_kept_ancestor() -> None:
    # Rows: 0 mode, 1 a, 2 a1, 3 a2, 4 b, 5 b1.
    weights = SkillWeights(np.array([0, 3]), np.array([1, 2, 5], np.int32), np.array([0.25, 0.35, 0.4]))
    kept = move_weights(weights, TWO_LEVELS.find_nearest(frozenset({"a", "b"})))
    assert dict(zip(kept.skills.tolist(), kept.weights.tolist(), strict=True)) == {1: 0.6, 4: 0.4}
    alone = move_weights(weights, TWO_LEVELS.find_nearest(frozenset()))
    assert (alone.skills.tolist(), alone.weights.tolist()) == ([0], [1.0])


def test_an_orchestrator_names_only_skills_of_its_cut() -> None:
    class Fine:
        def weigh(self, texts: object) -> SkillWeights:  # noqa: ARG002 - always the same
            return SkillWeights(np.array([0, 1]), np.array([3], np.int32), np.ones(1))

    cut = CutOrchestrator(Fine(), TWO_LEVELS.find_nearest(frozenset({"a", "b"})))
    assert cut.weigh(["text"]).skills.tolist() == [1]
