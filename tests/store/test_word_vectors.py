from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from skillctl.core.orchestrate.features import WordTable
from skillctl.errors import InputError
from skillctl.store.word_vectors import WordVectors

PROSE = [
    "What is the capital of France and when was it founded",
    "Write a short poem about the sea in winter",
    "The quick brown fox jumps over the lazy dog",
    "Explain how photosynthesis works in simple words.",
    "Compute the area of a triangle whose sides are given?",
]


def cosine(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    product = (left * right).sum(axis=1)
    return np.asarray(product / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1))


def test_the_vector_of_prose_is_that_of_wordllama() -> None:
    wordllama = pytest.importorskip("wordllama")
    folder = str(Path(wordllama.__file__).parent)
    theirs = wordllama.WordLlama.load(cache_dir=folder, disable_download=True).embed(PROSE)
    ours = WordTable(WordVectors()).read(PROSE).semantic
    assert (cosine(ours, theirs) > 0.99).all()


def test_reading_vectors_does_not_import_wordllama() -> None:
    code = (
        "import sys; from skillctl.store.word_vectors import WordVectors\n"
        "WordVectors().embed_words(['word']); print('wordllama' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_every_word_has_a_vector() -> None:
    vectors = WordVectors()
    sums = vectors.embed_words(["hello", "?", "💩", "extraordinarily"])
    assert sums.shape == (4, vectors.dim)
    assert (np.abs(sums).sum(axis=1) > 0).all()


def test_no_words_have_no_vectors() -> None:
    assert WordVectors().embed_words([]).shape == (0, 256)


@pytest.mark.parametrize("content", [b"", b"\x05\x00\x00\x00\x00\x00\x00\x00{}", b"\xff" * 32])
def test_weights_that_cannot_be_read_are_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "l2_supercat_256.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=r"l2_supercat_256.safetensors.*install wordllama"):
        WordVectors(tmp_path)


def test_a_missing_package_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        WordVectors(tmp_path)
