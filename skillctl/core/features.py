"""What is read off a text: words, their summed vectors, and its surface (length, digits, options, code, ...)."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# A longer text is cut to its head and tail: what is asked for stands at one of the ends.
MAX_CHARS = 20_000
HEAD_CHARS = 12_000
# The table of distinct words starts anew beyond this size (about 75 MB); vectors do not depend on its state.
MAX_WORDS = 65_536

_WORD = re.compile(r"\w{1,40}|[^\w\s]")  # longer runs (base64, hashes) fall into pieces: the table stays small
_OPTION = re.compile(r"^\s*\(?[A-J][).:]\s", re.MULTILINE)
# Word vectors are rounded to multiples of 2**-8, so that sums below 2**16 are exact in single precision, in whatever
# order they are added. (A token's largest component is 8; a text would need 8,192 such tokens to get there.)
VECTOR_STEPS = np.float32(256)
_SPARSE_PRODUCT_FROM = 20_000  # words in a batch from which importing scipy.sparse (0.15 s) pays

_WHICH = frozenset({"what", "which"})
_WHO = frozenset({"who", "whose", "whom", "when", "where"})
_HOW = frozenset({"how", "why"})
_TASK_VERBS = frozenset(
    _WORD.findall(
        "write explain describe list give find calculate compute create generate make tell solve determine prove "
        "complete translate summarize fix implement convert sort count"
    )
)
_CODE_WORDS = frozenset(
    _WORD.findall(
        "def return import class function print assert void int self none true false lambda const var elif public"
    )
)
_YOU = frozenset({"you", "your", "i", "my", "me"})

# Columns behind the vector in a word's row.
_TOKENS, _LETTERS, _ALPHA, _NUMBERS, _DIGITS, _UPPER, _PUNCT, _MATH, _CODE_MARKS = range(9)
_QUESTION, _QUOTES, _NON_ASCII, _IS_WHICH, _IS_WHO, _IS_HOW, _IS_VERB, _IS_CODE, _IS_YOU = range(9, 18)
COUNT_COLUMNS = 18

SURFACE_NAMES = (
    "characters", "words", "word_length", "lines", "digits", "numbers", "upper", "punctuation", "math", "code_marks",
    "code_words", "options", "question_mark", "which", "who", "how", "task_verbs", "quotes", "non_ascii", "you",
)  # fmt: skip


class WordEmbedder(Protocol):
    """Gives each word the sum of its token vectors, and the number of its tokens."""

    dim: int

    def embed_words(self, words: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return sums of shape (n, dim) and token counts of shape (n,)."""
        ...


class TextFeatures(NamedTuple):
    """Features of n texts.

    Attributes:
        semantic: Mean token vector, shape (n, dim).
        surface: Raw surface features in the order of ``SURFACE_NAMES``, shape (n, 20).
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
        counts = sums[:, dim:]
        semantic = np.divide(sums[:, :dim], np.maximum(counts[:, [_TOKENS]], 1), dtype=np.float32)
        return TextFeatures(semantic, _surface(texts, counts, indptr), word_ids, indptr)

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
        sums, tokens = self._embedder.embed_words(new)
        rows[:, :dim] = np.rint(sums * VECTOR_STEPS) / VECTOR_STEPS
        rows[:, dim:] = [_count_word(word) for word in new]
        rows[:, dim + _TOKENS] = tokens
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


def _count_word(word: str) -> list[float]:
    lower = word.lower()
    alpha = word[0].isalpha()
    return [
        0.0,
        float(len(word)) if alpha else 0.0,
        float(alpha),
        float(word[0].isdigit()),
        float(sum(map(str.isdigit, word))),
        float(sum(map(str.isupper, word))),
        float(not (word[0].isalnum() or word[0] == "_")),
        float(word in "=+*/^<>%\\"),
        float(word in "{}[]();`#"),
        float(word == "?"),
        float(word in "\"'"),
        float(sum(ord(mark) > 127 for mark in word)),  # noqa: PLR2004 - the end of ASCII
        float(lower in _WHICH),
        float(lower in _WHO),
        float(lower in _HOW),
        float(lower in _TASK_VERBS),
        float(lower in _CODE_WORDS),
        float(lower in _YOU),
    ]


def _surface(texts: Sequence[str], counts: NDArray[np.float32], indptr: NDArray[np.int64]) -> NDArray[np.float32]:
    chars = np.fromiter(map(len, texts), np.float32, len(texts))
    lines = np.fromiter((text.count("\n") for text in texts), np.float32, len(texts))
    options = np.zeros(len(texts), np.float32)
    for row in np.flatnonzero(lines).tolist():
        options[row] = len(set(_OPTION.findall(texts[row])))
    words = np.diff(indptr).astype(np.float32)
    per_char, per_word = 1 / np.maximum(chars, 1), 1 / np.maximum(words, 1)
    column = counts.T
    return np.stack(
        [
            np.log1p(chars),
            np.log1p(words),
            column[_LETTERS] / np.maximum(column[_ALPHA], 1),
            np.log1p(lines),
            np.sqrt(column[_DIGITS] * per_char),
            np.log1p(column[_NUMBERS]),
            np.sqrt(column[_UPPER] * per_char),
            np.sqrt(column[_PUNCT] * per_word),
            np.log1p(column[_MATH]),
            np.log1p(column[_CODE_MARKS]),
            np.log1p(column[_IS_CODE]),
            np.log1p(options),
            *(np.minimum(column[mark], 1) for mark in (_QUESTION, _IS_WHICH, _IS_WHO, _IS_HOW, _IS_VERB, _QUOTES)),
            np.log1p(column[_NON_ASCII]),
            np.minimum(column[_IS_YOU], 1),
        ],
        axis=1,
    )
