"""Words for a group of texts: what it looks like and what it speaks of."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.orchestrate.surface import SURFACE_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from skillctl.core.discover.naming import TellingTerm

# A difference of 0.8 standard deviations is "large" (Cohen, 1988): a reader sees it.
_LARGE = 0.8
_MAJORITY = 0.5
_TERMS_IN_A_SENTENCE = 4
_TELLING_TERMS = 2  # "questions about many" gives no reader an idea of them
_QUOTED_CHARACTERS = 70
_QUESTION_WORDS = frozenset({"how", "what", "when", "where", "which", "who", "whose", "why"})


class SurfaceWord(NamedTuple):
    """A word that holds when a surface feature of a group is far from the rest, in direction ``sign``.

    Where being different is not enough, its mean is ``least``, too: single letters look like options.
    """

    feature: str
    sign: int
    before: str = ""
    after: str = ""
    least: float = -np.inf


# In the order in which they stand in a sentence.
_SURFACE_WORDS = (
    SurfaceWord("characters", +1, before="long"),
    SurfaceWord("characters", -1, before="short"),
    SurfaceWord("options", +1, before="multiple-choice", least=0.7),
    SurfaceWord("code", +1, after="code"),
    SurfaceWord("formulae", +1, after="formulae"),
    SurfaceWord("numbers", +1, after="many numbers"),
    SurfaceWord("lines", +1, after="many lines"),
    SurfaceWord("quotes", +1, after="quotations"),
)


def describe_group(
    surface: NDArray[np.float32],
    members: NDArray[np.int64],
    terms: Sequence[TellingTerm],
    *,
    subject: str = "",
    example: str = "",
) -> str:
    """Return one sentence that describes some of the texts against all of them.

    Args:
        surface: Shape (n, features), of all texts, in the order of ``SURFACE_NAMES``.
        members: Indices of the group.
        terms: Telling terms of the group, best first.
        subject: Put first, such as a label that people gave the group.
        example: The most central text, quoted where the terms say little.
    """
    features = join_words([word.after for word in _surface_words(surface, members) if word.after])
    topics = [term.term for term in terms if term.term not in _QUESTION_WORDS][:_TERMS_IN_A_SENTENCE]
    about = join_words(topics)
    sentence = name_kind(surface, members)
    sentence += (f" with {features}" if features else "") + (f" about {about}" if about else "")
    if example.strip() and len(topics) < _TELLING_TERMS:
        sentence += f" such as “{shorten(example, _QUOTED_CHARACTERS, placeholder=' …')}”"
    return f"{subject}: {sentence}." if subject else f"{sentence[0].upper()}{sentence[1:]}."


def name_kind(surface: NDArray[np.float32], members: NDArray[np.int64]) -> str:
    """Return what some of the texts are, against all of them, such as ``short questions``."""
    question = SURFACE_NAMES.index("question_mark")
    noun = "questions" if surface[members, question].mean() > _MAJORITY else "tasks"
    return " ".join([*(word.before for word in _surface_words(surface, members) if word.before), noun])


def join_words(words: Sequence[str]) -> str:
    """Return ``a``, ``a and b`` or ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _surface_words(surface: NDArray[np.float32], members: NDArray[np.int64]) -> list[SurfaceWord]:
    spread = surface.std(axis=0)
    level = surface[members].mean(axis=0)
    difference = (level - surface.mean(axis=0)) / np.where(spread > 0, spread, np.inf)
    places = [SURFACE_NAMES.index(word.feature) for word in _SURFACE_WORDS]
    return [
        word
        for word, place in zip(_SURFACE_WORDS, places, strict=True)
        if word.sign * difference[place] >= _LARGE and level[place] >= word.least
    ]
