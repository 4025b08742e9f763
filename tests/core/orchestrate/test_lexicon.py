from __future__ import annotations

import numpy as np
import pytest

from skillctl.core.orchestrate.features import split_words
from skillctl.core.orchestrate.lexicon import MAX_POSTINGS, Lexicon, build_lexicon, expand

SKILLS = ["solve the equation for x", "area of a triangle", "write a poem or a story"]
PHRASES = [(("solve", "for", "x"), 0), (("triangle",), 1), (("a", "poem"), 2), (("poem",), 2), (("poem",), 1)]


@pytest.fixture
def lexicon() -> Lexicon:
    return build_lexicon([split_words(text) for text in SKILLS], PHRASES)


def read(lexicon: Lexicon, *texts: str) -> tuple[np.ndarray, np.ndarray]:
    words = [split_words(text) for text in texts]
    columns = lexicon.find_columns([word for row in words for word in row])
    return columns, np.repeat(np.arange(len(texts)), [len(row) for row in words])


def hits(lexicon: Lexicon, *texts: str) -> list[tuple[int, int, float]]:
    rows, nodes = lexicon.find_hits(*read(lexicon, *texts))
    place, source = expand(lexicon.hit_ptr, nodes)
    found = zip(rows[source], lexicon.hit_skill[place], lexicon.hit_weight[place], strict=True)
    return [(int(row), int(skill), round(float(weight), 4)) for row, skill, weight in found]


def test_the_words_of_a_skill_have_cosine_one_with_it(lexicon: Lexicon) -> None:
    scores = lexicon.score_words(*read(lexicon, *SKILLS), 3)
    assert np.diag(scores) == pytest.approx([1, 1, 1])
    assert scores[0, 1] == 0


def test_tf_idf_follows_its_formula() -> None:
    lexicon = build_lexicon([["red", "red", "car"], ["car", "road"]], [])
    scores = lexicon.score_words(*read(lexicon, "red unseen"), 1)
    red, car, unseen = np.log1p(2 / 1), np.log1p(2 / 2), np.log1p(2)
    skill = np.array([(1 + np.log(2)) * red, car])
    assert scores[0, 0] == pytest.approx(red / np.hypot(red, unseen) * skill[0] / np.linalg.norm(skill))
    assert scores[0, 1] == 0


def test_case_punctuation_and_function_words_do_not_matter(lexicon: Lexicon) -> None:
    plain, loud = (
        lexicon.score_words(*read(lexicon, text), 1) for text in ("triangle area", "The AREA, of a TRIANGLE?!")
    )
    assert plain == pytest.approx(loud)


def test_phrases_hit_as_whole_words_in_a_row(lexicon: Lexicon) -> None:
    assert [hit[:2] for hit in hits(lexicon, "Please SOLVE for x now")] == [(0, 0)]
    assert hits(lexicon, "solve it for x", "triangles", "x for solve", "solve for") == []


def test_a_phrase_does_not_reach_into_the_next_text(lexicon: Lexicon) -> None:
    assert hits(lexicon, "please solve", "for x") == []


def test_a_phrase_of_several_skills_says_less_about_each(lexicon: Lexicon) -> None:
    shared = round(float(np.log1p(3 / 2) / np.log1p(3)), 4)
    assert sorted(hits(lexicon, "a poem, a poem")) == [(0, 1, shared), (0, 2, shared), (0, 2, 1.0)]


def test_a_common_word_keeps_only_the_skills_where_it_weighs_most() -> None:
    texts = [["common"] * (1 + place % 7) + [f"w{place}"] for place in range(300)]
    lexicon = build_lexicon(texts, [])
    column = lexicon.vocabulary["common"]
    assert lexicon.posting_ptr[column + 1] - lexicon.posting_ptr[column] == MAX_POSTINGS


def test_a_lexicon_without_words_or_phrases_scores_nothing() -> None:
    lexicon = build_lexicon([[]], [])
    columns, rows = read(lexicon, "anything at all")
    assert lexicon.score_words(columns, rows, 1).tolist() == [[0.0]]
    assert lexicon.find_hits(columns, rows)[0].tolist() == []
