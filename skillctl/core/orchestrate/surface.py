"""The surface of a text: length, digits, options, code, formulae, how it opens; read off its words in one pass."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

# In the order of the columns. Each is between 0 and about 1.5 and saturates, so that one long text cannot dominate.
SURFACE_NAMES = (
    "characters", "lines", "digits", "numbers", "upper", "punctuation", "formulae", "dollars", "arithmetic", "code",
    "code_task", "options", "question_mark", "question_start", "lower_start", "imperative", "quantity", "why",
    "who_when", "blank", "you", "quotes", "commas", "word_length", "sentences",
)  # fmt: skip

# What a word adds to its text's counts; the last three are read off the first words alone.
(
    _WORD, _PUNCTUATION, _DIGITS, _UPPER, _NUMBERS, _FORMULA, _DOLLAR, _ARITHMETIC, _CODE, _CODE_MARK, _CODE_TASK,
    _OPTION, _WHO_WHEN, _WHY, _YOU, _QUOTE, _COMMA, _SENTENCE, _QUANTITY, _LETTERS, _BLANK, _ALPHABETIC,
    _QUESTION_START, _IMPERATIVE, _LOWER,
) = range(25)  # fmt: skip
COUNT_COLUMNS = 25
LEADING_WORDS = 3


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


_QUESTION_WORDS = _words("what which who whom whose when where how why is are do does did can in")
_IMPERATIVES = _words(
    "write explain describe list give find calculate compute create generate make tell solve determine prove complete "
    "translate summarize rewrite evaluate simplify suggest provide design compose"
)
_CODE_WORDS = _words(
    "def return import print self assert lambda elif int str void const var public static struct printf none"
)
_CODE_TASKS = _words("function python program code javascript java sql script algorithm api")
_QUANTITIES = _words("many much total altogether each per left remaining cost costs percent average")
_PERSONS_AND_TIMES = _words("who when year where name")
_REASONS = _words("why because explain")
_SPEAKERS = _words("you your i my me")
_FORMULA_MARKS = {"\\": 1.0, "^": 1.0, "{": 0.5, "}": 0.5}


def count_word(word: str) -> list[float]:
    """Return what a word, or a single mark, adds to the counts of its text."""
    counts = [0.0] * COUNT_COLUMNS
    if word[0].isalnum() or word[0] == "_":
        _count_letters(word, counts)
    else:
        counts[_PUNCTUATION] = 1.0
        counts[_FORMULA] = _FORMULA_MARKS.get(word, 0.0)
        counts[_DOLLAR] = float(word == "$")
        counts[_ARITHMETIC] = float(word in "=+*/<>^")
        counts[_CODE_MARK] = float(word in ";`{}[]#()")
        counts[_QUOTE] = float(word in '"“”')
        counts[_COMMA] = float(word == ",")
        counts[_SENTENCE] = float(word in ".!?")
    return counts


def _count_letters(word: str, counts: list[float]) -> None:
    lower = word.lower()
    is_alphabetic = word[0].isalpha()
    core = word.strip("_")
    counts[_WORD] = 1.0
    counts[_DIGITS] = float(sum(map(str.isdigit, word)))
    counts[_UPPER] = float(sum(map(str.isupper, word)))
    counts[_NUMBERS] = float(word[0].isdigit())
    counts[_LETTERS] = float(len(word)) if is_alphabetic else 0.0
    counts[_ALPHABETIC] = float(is_alphabetic)
    counts[_CODE] = float(lower in _CODE_WORDS or "_" in core)
    counts[_CODE_TASK] = float(lower in _CODE_TASKS)
    counts[_OPTION] = float(len(word) == 1 and "A" <= word <= "J")
    counts[_WHO_WHEN] = float(lower in _PERSONS_AND_TIMES)
    counts[_WHY] = float(lower in _REASONS)
    counts[_YOU] = float(lower in _SPEAKERS)
    counts[_QUANTITY] = float(lower in _QUANTITIES)
    counts[_BLANK] = float(not core and len(word) > 1)
    counts[_QUESTION_START] = float(lower in _QUESTION_WORDS)
    counts[_IMPERATIVE] = float(lower in _IMPERATIVES)
    counts[_LOWER] = float(word[0].islower())


def read_surface(texts: Sequence[str], counts: Floats, lead: Floats) -> Floats:
    """Return the surface features of texts, shape (n, 25), in the order of ``SURFACE_NAMES``.

    Args:
        texts: Length n.
        counts: Summed counts of each text's words, shape (n, COUNT_COLUMNS).
        lead: Counts of its first words, zeros where it has fewer, shape (n, LEADING_WORDS, COUNT_COLUMNS).
    """
    total = len(texts)
    length = np.fromiter(map(len, texts), np.float32, total)
    breaks = np.fromiter((text.count("\n") for text in texts), np.float32, total)
    asks = np.fromiter((text.rstrip().endswith("?") for text in texts), np.float32, total)
    chars = np.maximum(length, 1)
    column = counts.T
    words = np.maximum(column[_WORD], 1)
    tokens = np.maximum(column[_WORD] + column[_PUNCTUATION], 1)
    return np.stack(
        [
            np.log(chars) / 3,
            _saturate(np.log1p(breaks), 2.5),
            np.minimum(3 * np.sqrt(column[_DIGITS] / chars), 1.5),
            _saturate(column[_NUMBERS], 4),
            np.minimum(2 * np.sqrt(column[_UPPER] / chars), 1.5),
            1.5 * np.sqrt(column[_PUNCTUATION] / tokens),
            1.5 * _saturate(column[_FORMULA], 3),
            0.8 * _saturate(column[_DOLLAR], 2),
            _saturate(column[_ARITHMETIC], 4),
            1.2 * _saturate(column[_CODE] + column[_CODE_MARK] / 4, 4),
            1.2 * np.minimum(column[_CODE_TASK], 1),
            _saturate(column[_OPTION], 4),
            asks,
            lead[:, 0, _QUESTION_START],
            1.5 * lead[:, 0, _LOWER],
            lead[:, :, _IMPERATIVE].max(axis=1),
            1.2 * _saturate(column[_QUANTITY], 2),
            np.minimum(column[_WHY], 1),
            0.7 * np.minimum(column[_WHO_WHEN], 1),
            np.minimum(column[_BLANK], 1),
            np.minimum(column[_YOU], 1),
            0.7 * np.minimum(column[_QUOTE], 1),
            _saturate(3 * column[_COMMA] / words, 0.6),
            column[_LETTERS] / np.maximum(column[_ALPHABETIC], 1) / 4,
            _saturate(np.log1p(column[_SENTENCE]), 2.5),
        ],
        axis=1,
        dtype=np.float32,
    )


def _saturate(values: Floats, full: float) -> Floats:
    """Return ``values / full``, at most 1."""
    return np.asarray(np.minimum(values / np.float32(full), 1), dtype=np.float32)
