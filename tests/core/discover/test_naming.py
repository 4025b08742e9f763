"""Names come from what tells a group from the rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.discover.naming import find_telling_terms, log_odds_z, slugify


def test_the_z_score_agrees_with_the_formula_worked_out_by_hand() -> None:
    # Group: 8 of 10; rest: 2 of 10; prior 1 and 1: (9/3) against (3/9), variance 1/9 + 1/3.
    z = log_odds_z(np.array([8.0, 2.0]), np.array([2.0, 8.0]), np.array([1.0, 1.0]))
    assert z[0] == pytest.approx((np.log(3) - np.log(1 / 3)) / np.sqrt(1 / 9 + 1 / 3))
    assert z[1] == pytest.approx(-z[0])


def test_a_group_is_named_by_the_terms_that_the_rest_lacks() -> None:
    maths = [f"Solve the equation for unknown number {n}" for n in range(30)]
    cities = [f"Which country has the capital city number {n}" for n in range(30)]
    first, second = find_telling_terms(maths + cities, [range(30), range(30, 60)])
    assert {"solve", "equation", "unknown"} <= {term.term for term in first}
    assert {"capital", "city", "country"} <= {term.term for term in second}
    assert "number" not in {term.term for term in first + second}


def test_one_long_text_does_not_name_its_group() -> None:
    texts = ["zebra " * 500 + "apple banana", *["apple banana cherry"] * 20, *["other words here"] * 20]
    (terms,) = find_telling_terms(texts, [range(21)])
    assert "zebra" not in {term.term for term in terms}


def test_groups_without_difference_or_without_words_have_no_name() -> None:
    assert find_telling_terms(["same words"] * 10, [range(5)]) == [[]]
    assert find_telling_terms(["12", "34"], [[0], [1]]) == [[], []]
    assert find_telling_terms([], []) == []
    assert find_telling_terms(["add 1", "add 2"], [[0], [1]]) == [[], []]


@given(st.lists(st.text(max_size=30), max_size=5))
def test_a_slug_is_a_safe_id_part(words: list[str]) -> None:
    slug = slugify(words)
    assert slug.replace("-", "a").isascii()
    assert slug.replace("-", "a").isalnum()
    assert slug == slug.lower()
    assert 0 < len(slug) <= 40
    assert not slug.startswith("-")


def test_slugs_keep_whole_words_and_fold_accents() -> None:
    assert slugify(["Équation", "solve x²"]) == "equation-solve-x2"
    assert slugify(["a" * 30, "b" * 30]) == "a" * 30
    assert slugify(["!!!"]) == "skill"
