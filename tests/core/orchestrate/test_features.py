from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillctl.core.orchestrate.features import MAX_CHARS, VECTOR_STEPS, WordTable, cut_text, split_words, sum_rows
from skillctl.core.orchestrate.surface import SURFACE_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

TEXTS = st.lists(st.text(max_size=80), min_size=1, max_size=12)


class LetterEmbedder:
    """Each letter is a token; a word's vector is the sum of its letters' one-hot vectors."""

    dim = 4

    def __init__(self) -> None:
        self.seen: list[str] = []

    def embed_words(self, words: Sequence[str]) -> NDArray[np.float32]:
        self.seen.extend(words)
        sums = np.zeros((len(words), self.dim), np.float32)
        for row, word in enumerate(words):
            for letter in word:
                sums[row, ord(letter) % self.dim] += 0.25
        return sums


def surface(text: str) -> dict[str, float]:
    features = WordTable(LetterEmbedder()).read([text])
    return dict(zip(SURFACE_NAMES, features.surface[0].tolist(), strict=True))


def test_words_are_runs_of_letters_and_digits_and_single_marks() -> None:
    assert split_words("It's 3x+5, naïve_id\n日本?") == [
        "It", "'", "s", "3x", "+", "5", ",", "naïve_id", "日本", "?",
    ]  # fmt: skip


def test_an_endless_word_falls_into_pieces() -> None:
    assert max(map(len, split_words("a" * 1000))) == 40


def test_a_text_vector_is_the_sum_of_its_words() -> None:
    features = WordTable(LetterEmbedder()).read(["abc d", ""])
    assert features.semantic[0] == pytest.approx(np.full(4, 0.25))
    assert features.semantic[1].tolist() == [0, 0, 0, 0]


@settings(max_examples=40, deadline=None)
@given(TEXTS)
def test_a_row_depends_on_its_text_alone(texts: list[str]) -> None:
    together = WordTable(LetterEmbedder()).read(texts)
    small = WordTable(LetterEmbedder(), max_words=3)  # starts anew all the time
    for row, text in enumerate(texts):
        alone = small.read([text])
        assert together.semantic[row].tobytes() == alone.semantic[0].tobytes()
        assert together.surface[row].tobytes() == alone.surface[0].tobytes()


def test_a_word_is_embedded_once() -> None:
    embedder = LetterEmbedder()
    table = WordTable(embedder)
    table.read(["one two one", "two"])
    table.read(["one three"])
    assert embedder.seen == ["one", "two", "three"]


def test_the_table_starts_anew_beyond_its_size() -> None:
    table = WordTable(LetterEmbedder(), max_words=2)
    table.read(["one two three"])
    assert (len(table), table.generation) == (3, 0)
    table.read(["one"])
    assert (len(table), table.generation) == (1, 1)


def test_sparse_and_dense_sums_agree_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    rows = np.rint(rng.normal(size=(500, 7)) * 256).astype(np.float32) / VECTOR_STEPS
    indptr = np.cumsum([0, *rng.integers(0, 40, 1500)])
    ids = rng.integers(0, 500, indptr[-1]).astype(np.int32)
    assert len(ids) > 20_000
    large = sum_rows(rows, ids, indptr)
    for start in (0, 700, 1400):
        part = slice(start, start + 50)
        inner = ids[indptr[start] : indptr[start + 50]]
        small = sum_rows(rows, inner, indptr[start : start + 51] - indptr[start], chunk=64)
        assert large[part].tobytes() == small.tobytes()


def test_a_long_text_is_cut_to_its_head_and_tail() -> None:
    text = "a" * 30_000 + "b" * 30_000
    cut = cut_text(text)
    assert len(cut) == MAX_CHARS + 1
    assert cut.startswith("a" * 12_000 + "\nb")
    assert cut_text("short") == "short"


def test_the_surface_tells_kinds_of_text_apart() -> None:
    choice = surface("Which one?\nA. red\nB. green\nC. blue\nD. grey")
    assert (choice["options"], choice["question_start"], choice["code"]) == (1, 1, 0)
    assert surface("Is it far?")["question_mark"] == 1
    code = surface("def f(x):\n    return x[0] + 1")
    assert code["code"] > 0.5
    assert code["lower_start"] > 0
    assert code["question_start"] == 0
    assert surface("Compute 12 * 34 = ?")["numbers"] == 0.5
    assert surface("Compute 12 * 34 = ?")["imperative"] == 1
    assert surface(r"Let $x^2 = \frac{1}{2}$")["formulae"] == 1.5
    assert set(surface("").values()) == {0.0}


def test_no_text_however_long_leaves_the_range_of_the_surface() -> None:
    odd = ["1" * 5000, "?" * 5000, "\n" * 5000, "A B C D E F G H I J " * 500, "{^}" * 3000]
    assert all(0 <= value <= 4 for text in odd for value in surface(text).values())
