"""What is read off a text: its words, their summed vectors, and its surface."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from skillctl.core.orchestrate.surface import COUNT_COLUMNS, LEADING_WORDS, count_word, read_surface

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# A longer text is cut to its head and tail: what is asked for stands at one of the ends.
MAX_CHARS = 20_000
HEAD_CHARS = 12_000
# The table of distinct words starts anew beyond this size (about 75 MB); vectors do not depend on its state.
MAX_WORDS = 65_536

_WORD = re.compile(r"\w{1,40}|[^\w\s]")  # longer runs (base64, hashes) fall into pieces: the table stays small
# Word vectors are rounded to multiples of 2**-8, so that sums below 2**16 are exact in single precision, in whatever
# order they are added. (A token's largest component is 8; a text would need 8,192 such tokens to get there.)
VECTOR_STEPS = np.float32(256)
_SPARSE_PRODUCT_FROM = 20_000  # words in a batch from which importing scipy.sparse (0.15 s) pays


class WordEmbedder(Protocol):
    """Gives each word the sum of its token vectors."""

    dim: int

    def embed_words(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return sums of shape (n, dim)."""
        ...


class TextFeatures(NamedTuple):
    """Features of n texts.

    Attributes:
        semantic: Summed word vectors, shape (n, dim). Telling words have long vectors, so the sum is weighted by
            how much each word says.
        surface: Surface features in the order of `skillctl.core.orchestrate.surface.SURFACE_NAMES`, shape (n, 25).
        word_ids: All words of all texts as numbers of the word table that made them.
        indptr: Text i has the words ``word_ids[indptr[i]:indptr[i + 1]]``.
    """

    semantic: NDArray[np.float32]
    surface: NDArray[np.float32]
    word_ids: NDArray[np.int32]
    indptr: NDArray[np.int64]


def cut_text(text: str, limit: int = MAX_CHARS, head: int = HEAD_CHARS) -> str:
    """Return a text of at most ``limit`` characters and one line break: the head and the tail of a longer one."""
    return text if len(text) <= limit else f"{text[:head]}\n{text[head - limit :]}"


def split_words(text: str) -> list[str]:
    """Return the words and single punctuation marks of a text, in order, as they are written."""
    return _WORD.findall(text)


class _Numbering(dict[str, int]):
    """Numbers words in the order of their first occurrence."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class WordTable:
    """Remembers what each distinct word contributes, so that only new words are embedded.

    Args:
        embedder: Computes the vectors of new words.
        max_words: The table is emptied before a batch when it holds more.
    """

    def __init__(self, embedder: WordEmbedder, max_words: int = MAX_WORDS) -> None:
        self._embedder = embedder
        self._max_words = max_words
        self._numbers = _Numbering()
        self._rows = np.empty((0, embedder.dim + COUNT_COLUMNS), np.float32)
        self._filled = 0
        self.generation = 0  # grows whenever numbers lose their meaning

    def words_from(self, start: int) -> list[str]:
        """Return the words numbered ``start`` and above, in order."""
        return list(self._numbers)[start:]

    def __len__(self) -> int:
        """Return how many distinct words are known."""
        return len(self._numbers)

    def read(self, texts: Sequence[str]) -> TextFeatures:
        """Return the features of texts; a row depends on its text alone."""
        if len(self._numbers) > self._max_words:
            self._numbers.clear()
            self._filled = 0
            self.generation += 1
        texts = [cut_text(text) for text in texts]
        words = [split_words(text) for text in texts]
        indptr = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, words), np.int64, len(words)), out=indptr[1:])
        flat = map(self._numbers.__getitem__, chain.from_iterable(words))
        word_ids = np.fromiter(flat, np.int32, int(indptr[-1]))
        self._embed_new()
        sums = sum_rows(self._rows[: self._filled], word_ids, indptr)
        dim = self._embedder.dim
        surface = read_surface(texts, sums[:, dim:], self._read_leads(word_ids, indptr))
        return TextFeatures(sums[:, :dim], surface, word_ids, indptr)

    def _read_leads(self, word_ids: NDArray[np.int32], indptr: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the counts of each text's first words, zeros where it has fewer."""
        place = indptr[:-1, None] + np.arange(LEADING_WORDS)
        is_word = place < indptr[1:, None]
        leads = np.zeros((*place.shape, COUNT_COLUMNS), np.float32)
        leads[is_word] = self._rows[word_ids[place[is_word]], self._embedder.dim :]
        return leads

    def _embed_new(self) -> None:
        new = self.words_from(self._filled) if len(self._numbers) > self._filled else []
        if not new:
            return
        end = self._filled + len(new)
        if end > len(self._rows):
            grown = np.empty((max(end, 2 * len(self._rows), 1024), self._rows.shape[1]), np.float32)
            grown[: self._filled] = self._rows[: self._filled]
            self._rows = grown
        dim = self._embedder.dim
        rows = self._rows[self._filled : end]
        rows[:, :dim] = np.rint(self._embedder.embed_words(new) * VECTOR_STEPS) / VECTOR_STEPS
        rows[:, dim:] = [count_word(word) for word in new]
        self._filled = end


def sum_rows(
    rows: NDArray[np.float32], ids: NDArray[np.int32], indptr: NDArray[np.int64], *, chunk: int = 8192
) -> NDArray[np.float32]:
    """Return the sum of ``rows[ids]`` within each segment of ``indptr``.

    A large batch goes through a sparse product, a small one does without SciPy's import; as the sums are exact
    (see ``VECTOR_STEPS``), they are the same to the last bit.
    """
    count = len(indptr) - 1
    if len(ids) >= _SPARSE_PRODUCT_FROM:
        from scipy.sparse import csr_array

        ones = np.ones(len(ids), np.float32)
        product: NDArray[np.float32] = csr_array((ones, ids, indptr), shape=(count, len(rows))) @ rows
        return product
    sums = np.zeros((count, rows.shape[1]), np.float32)
    filled = np.flatnonzero(np.diff(indptr))
    first = 0
    while first < len(filled):
        limit = indptr[filled[first]] + chunk
        last = max(first + 1, int(np.searchsorted(indptr[filled + 1], limit, side="right")))
        start, stop = indptr[filled[first]], indptr[filled[last - 1] + 1]
        part = filled[first:last]
        sums[part] = np.add.reduceat(rows[ids[start:stop]], indptr[part] - start, axis=0)
        first = last
    return sums
