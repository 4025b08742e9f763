"""Names for groups of texts: the terms that tell a group from the rest."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

_TERM = re.compile(r"[^\W\d_]{3,24}")
_MAX_CHARACTERS = 20_000
# Function words tell the style of a text, seldom an ability; question words are kept, as they do.
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "about above after all also and any are been but can could did does down each for from had has have her him his"
        " into its may more most not off one only onto our out over she should some such than that the their them then"
        " there these they this those through too two under until upon very was were while will with would you your",
    )
)
# Below this z-score a term is as likely to be chance (two-sided 5 %, as in Monroe et al.).
MIN_Z = 1.96
# A term that occurs in fewer of the group's texts names one text, not the group.
_MIN_SHARE = 0.15


class TellingTerm(NamedTuple):
    """A term of a group with its z-score and the share of the group's texts that hold it."""

    term: str
    z: float
    share: float


def log_odds_z(
    counts: NDArray[np.float64], rest: NDArray[np.float64], prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return z-scores of log-odds ratios with an informative Dirichlet prior.

    Monroe, Colaresi and Quinn, "Fightin' Words", Political Analysis 16 (2008), equations 16, 20 and 22.

    Args:
        counts: Shape (v,), term counts in the group.
        rest: Shape (v,), term counts outside of it.
        prior: Shape (v,), positive pseudo-counts, proportional to the terms' background frequency.

    Returns:
        Shape (v,); positive where a term is more at home in the group.
    """
    a = counts + prior
    b = rest + prior
    total_a = counts.sum() + prior.sum()
    total_b = rest.sum() + prior.sum()
    delta = np.log(a / (total_a - a)) - np.log(b / (total_b - b))
    return np.asarray(delta / np.sqrt(1.0 / a + 1.0 / b), dtype=np.float64)


def terms_of(text: str) -> set[str]:
    """Return the distinct terms of a text: words of 3 to 24 letters, case folded, without function words."""
    return set(_TERM.findall(text[:_MAX_CHARACTERS].casefold())) - _FUNCTION_WORDS


def find_telling_terms(
    texts: Sequence[str], groups: Sequence[Collection[int]], *, limit: int = 8, min_z: float = MIN_Z
) -> list[list[TellingTerm]]:
    """Return, for each group of texts, its most telling terms, best first.

    Terms count once a text, so that a long text does not name its group alone. The prior is the
    background frequency scaled to one pseudo-text per hundred texts, at least ten.

    Args:
        texts: All texts.
        groups: Indices into ``texts``.
        limit: At most so many terms a group.
        min_z: Terms with a smaller z-score say nothing.
    """
    documents = [terms_of(text) for text in texts]
    background: Counter[str] = Counter()
    for document in documents:
        background.update(document)
    # A term in a single text can tell nothing; sorting fixes the order of equal scores.
    vocabulary = sorted(term for term, count in background.items() if count > 1)
    if len(vocabulary) < 2:  # noqa: PLR2004 - odds take an alternative
        return [[] for _ in groups]
    number = {term: index for index, term in enumerate(vocabulary)}
    total = np.array([background[term] for term in vocabulary], dtype=np.float64)
    prior = total / total.sum() * max(10.0, len(texts) / 100)
    return [_telling(documents, group, vocabulary, number, total, prior, min_z)[:limit] for group in groups]


def _telling(  # noqa: PLR0917 - one step of the function above, with what all groups share
    documents: list[set[str]],
    group: Collection[int],
    vocabulary: list[str],
    number: dict[str, int],
    total: NDArray[np.float64],
    prior: NDArray[np.float64],
    min_z: float,
) -> list[TellingTerm]:
    counts = np.zeros(len(vocabulary))
    for index in group:
        counts[[number[term] for term in documents[index] if term in number]] += 1
    z = log_odds_z(counts, total - counts, prior)
    share = counts / max(1, len(group))
    order = np.lexsort((np.arange(len(vocabulary)), -np.round(z, 9)))
    kept = [k for k in order if z[k] >= min_z and share[k] >= _MIN_SHARE]
    return [TellingTerm(vocabulary[k], float(z[k]), float(share[k])) for k in kept]


def slugify(words: Sequence[str], *, limit: int = 40) -> str:
    """Return a readable id part from words: ASCII letters, digits and hyphens, never empty."""
    folded = unicodedata.normalize("NFKD", " ".join(words).casefold())
    parts = re.findall(r"[a-z0-9]+", folded.encode("ascii", "ignore").decode())
    slug = ""
    for part in parts:
        longer = f"{slug}-{part}" if slug else part
        if len(longer) > limit and slug:
            break
        slug = longer[:limit]
    return slug or "skill"
