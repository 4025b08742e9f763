from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from routing_handbooks import SKILLS

from skillctl.core.orchestrate.embedded import HIT_WEIGHT, EmbeddedOrchestrator
from skillctl.core.orchestrate.features import WordTable
from skillctl.core.orchestrate.skill_index import build_skill_index, find_levels
from skillctl.core.orchestrate.space import project
from skillctl.model.handbook import Indicator, OrchestratorSettings, Skill, SkillId
from skillctl.store.word_vectors import WordVectors

if TYPE_CHECKING:
    from skillctl.core.orchestrate.orchestration import SkillWeights

VECTORS = WordVectors()
INDEX = build_skill_index(SKILLS, VECTORS)
MATH, GEOMETRY, WRITING = 1, 2, 3

WORDS = st.sampled_from(
    ["Solve", "for", "x", "a", "poem", "triangle", "story", "?", "3 + 4", "\n", "naïve", "日本", "."]
)
TEXTS = st.lists(st.one_of(st.lists(WORDS, max_size=30).map(" ".join), st.text(max_size=60)), min_size=1, max_size=8)


def orchestrator(*skills: Skill, settings: OrchestratorSettings | None = None) -> EmbeddedOrchestrator:
    index = build_skill_index(skills, VECTORS) if skills else INDEX
    return EmbeddedOrchestrator(index, lambda: VECTORS, settings or OrchestratorSettings())


def rows(weights: SkillWeights) -> list[dict[int, float]]:
    parts = zip(weights.indptr, weights.indptr[1:], strict=False)
    return [dict(zip(weights.skills[a:b].tolist(), weights.weights[a:b].tolist(), strict=True)) for a, b in parts]


@pytest.mark.parametrize(
    ("text", "skill"),
    [
        ("Solve 5x - 1 = 9 for x.", MATH),
        ("12 * 7", MATH),
        ("Please write a short poem on autumn leaves.", WRITING),
        ("Tell me about a knight and a dragon, as a story", WRITING),
    ],
)
def test_a_state_needs_the_skill_that_it_resembles(text: str, skill: int) -> None:
    (row,) = rows(orchestrator().weigh([text]))
    assert max(row, key=row.__getitem__) == skill


def test_a_fine_skill_is_told_from_the_coarser_one() -> None:
    closeness, _ = orchestrator().find_closeness(["How large is a triangle with two sides of 5 cm?"])
    assert closeness[0].argmax() == GEOMETRY - 1


def test_a_fine_skill_gives_a_share_to_the_coarser_one_above() -> None:
    (row,) = rows(orchestrator(settings=OrchestratorSettings(top_k=1)).weigh(["What is the area of a triangle?"]))
    assert row == {MATH: 0.5, GEOMETRY: 0.5}


@settings(max_examples=40, deadline=None)
@given(TEXTS)
def test_a_row_depends_on_its_text_alone(texts: list[str]) -> None:
    together = rows(orchestrator().weigh(texts))
    separate = orchestrator()
    assert together == [rows(separate.weigh([text]))[0] for text in texts]
    assert together == rows(orchestrator().weigh(texts[::-1]))[::-1]


def test_the_size_of_the_batch_changes_nothing() -> None:
    texts = [f"Write {n} poems about the number {n * n}" if n % 3 else f"{n} + {n} = ?" for n in range(3000)]
    whole = orchestrator().find_closeness(texts)
    one = orchestrator()
    parts = [one.find_closeness(texts[start : start + 7]) for start in range(0, 3000, 7)]
    for together, separate in zip(whole, zip(*parts, strict=True), strict=True):
        assert together.tobytes() == np.concatenate(separate).tobytes()


def test_long_texts_are_weighed_in_smaller_batches() -> None:
    long = [f"Solve {n}x = 12 for x. " * 1000 for n in range(450)]  # nine million characters, cut or not
    made = orchestrator()
    weights = made.weigh([*long, "a poem"])
    assert rows(weights)[0] == rows(made.weigh(long[:1]))[0]
    assert rows(weights)[-1] == rows(made.weigh(["a poem"]))[0]


def test_points_are_whole_numbers_whose_products_are_exact_in_single_precision() -> None:
    texts = [*(text for skill in SKILLS for text in skill.examples), "", "?" * 999, "1 + 2 = 3 " * 99, "日本"]
    features = WordTable(VECTORS).read(texts)
    points = project(INDEX.space, features.semantic, features.surface).points
    for vectors in (points, INDEX.vectors.T, INDEX.space.axes.T):
        assert (np.rint(vectors) == vectors).all()
        assert (np.sqrt((vectors.astype(float) ** 2).sum(axis=1)) < 2**12).all()


def test_a_level_is_a_cut_through_the_tree_of_skills() -> None:
    tree = [Skill(SkillId(name), name, parent=SkillId(above) if above else None) for name, above in
            [("a", ""), ("a.b", "a"), ("a.b.c", "a.b"), ("d", "")]]  # fmt: skip
    assert find_levels(tree) == [[0, 3], [1, 3], [2, 3]]
    assert find_levels([]) == []


@pytest.mark.parametrize("text", ["", "   \n", "qwerty uiop", "…"])
def test_a_state_that_resembles_nothing_falls_back_to_the_mode(text: str) -> None:
    assert rows(orchestrator().weigh([text])) == [{0: 1.0}]


def test_settings_replace_the_defaults() -> None:
    text = ["Write a poem that solves an equation about a triangle."]
    sharp, flat = (
        rows(orchestrator(settings=OrchestratorSettings(temperature=t)).weigh(text))[0] for t in (0.01, 100.0)
    )
    assert max(sharp.values()) > max(flat.values())
    assert rows(orchestrator(settings=OrchestratorSettings(min_similarity=5.0)).weigh(text)) == [{0: 1.0}]


def test_a_hand_written_skill_works_without_examples_or_indicators() -> None:
    cooking = Skill(SkillId("cooking"), "Recipes: how to cook and bake meals, cakes and bread.")
    travel = Skill(SkillId("travel"), "Plans journeys by train and plane, hotels and sights.")
    (row,) = rows(orchestrator(cooking, travel).weigh(["How do I bake a chocolate cake?"]))
    assert max(row, key=row.__getitem__) == 1


def test_a_coarse_skill_without_examples_lies_among_those_of_the_finer_ones() -> None:
    sums = ("Compute 12 + 7.", "What is 5 + 90?", "Add 3 and 4.")
    areas = ("How large is a circle of radius 3?", "What is the area of a square with side 2?", "How wide is it?")
    adding = Skill(SkillId("math.add"), "Adds.", parent=SkillId("math"), examples=sums)
    geometry = Skill(SkillId("math.area"), "Finds areas.", parent=SkillId("math"), examples=areas)
    other = Skill(
        SkillId("poems"), "Writes poems.", examples=("Write a poem on snow.", "A verse, please.", "Rhyme it.")
    )
    bare = Skill(SkillId("math"), "All that has to do with numbers.")
    vectors, shown = (
        build_skill_index((math, adding, geometry, other), VECTORS).vectors
        for math in (bare, replace(bare, examples=(*sums, *areas)))
    )
    assert np.abs(vectors[:, 0] - (vectors[:, 1] + vectors[:, 2]) / 2).max() <= 1  # each a mean of whole numbers
    assert not np.array_equal(vectors, shown)  # examples of its own are texts of the handbook and shape the space


def test_a_regular_expression_counts_as_a_hit_and_a_faulty_one_as_none() -> None:
    plain = Skill(SkillId("ids"), "Reads identifiers.")
    text = ["Where is ticket ABC-123 kept?"]
    found = replace(plain, indicators=(Indicator(r"\b[A-Z]{3}-\d+", is_regex=True),))
    broken = replace(plain, indicators=(Indicator(r"(((", is_regex=True), Indicator(r"(a+)+$", is_regex=True)))
    base, hit, fault = (orchestrator(skill).find_closeness(text)[0][0, 0] for skill in (plain, found, broken))
    assert hit - base == pytest.approx(HIT_WEIGHT * (1 - np.exp(-1)))
    assert fault == base


def test_without_skills_everything_is_the_root() -> None:
    index = build_skill_index((), VECTORS)
    empty = EmbeddedOrchestrator(index, lambda: VECTORS, OrchestratorSettings())
    assert rows(empty.weigh(["a", "b"])) == [{0: 1.0}, {0: 1.0}]
    assert rows(empty.weigh([])) == []
