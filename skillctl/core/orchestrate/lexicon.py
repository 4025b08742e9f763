"""Lexical evidence: tf-idf cosine over the words of the skills' texts, and hits of indicator phrases.

All of it is inverted: a text touches only the words, phrases and skills that share a word with it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.distinct import count_distinct
from skillctl.core.orchestrate.features import split_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

# A word keeps the skills for which it weighs most: what a common word costs does not grow with the skills.
MAX_POSTINGS = 48
UNKNOWN, IGNORED = -1, -2  # columns of words that no skill uses, and of words that say nothing

_STOP_WORDS = frozenset(
    split_words(
        "a an and are as at be by can do does for from has have i if in is it its me my of on or that the their then "
        "there these this those to was were which will with you your s t"
    )
)


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Words and phrases of the skills of one mode; skill k is the k-th row of the texts it was built from.

    Attributes:
        vocabulary: Column of each lower-case word.
        idf: Inverse document frequency of each column, 0 for words of phrases alone.
        unknown_idf: Of a word that no skill uses.
        posting_ptr: Column c has the postings ``posting_ptr[c]:posting_ptr[c + 1]``.
        posting_skill: Skills.
        posting_weight: tf-idf, each skill's scaled to length 1.
        edges: Sorted keys ``node * len(vocabulary) + column`` of the trie of phrases; node 0 is its root.
        targets: Node that each edge leads to.
        hit_ptr: Node n says the skills ``hit_skill[hit_ptr[n]:hit_ptr[n + 1]]``.
        hit_skill: Skills.
        hit_weight: How specific the phrase is, 1 for a phrase of one skill alone.
        depth: Words of the longest phrase.
        skills: Number of skills.
    """

    vocabulary: Mapping[str, int]
    idf: NDArray[np.float64]
    unknown_idf: float
    posting_ptr: NDArray[np.int64]
    posting_skill: NDArray[np.int32]
    posting_weight: NDArray[np.float64]
    edges: NDArray[np.int64]
    targets: NDArray[np.int32]
    hit_ptr: NDArray[np.int64]
    hit_skill: NDArray[np.int32]
    hit_weight: NDArray[np.float64]
    depth: int
    skills: int

    def find_columns(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the column of each word as it is written in a text."""
        lower = [word.lower() for word in words]
        return np.fromiter(
            (self.vocabulary.get(word, UNKNOWN if says_something(word) else IGNORED) for word in lower),
            np.int32,
            len(lower),
        )

    def score_words(self, columns: NDArray[np.int32], rows: NDArray[np.int64], count: int) -> NDArray[np.float64]:
        """Return the tf-idf cosine of ``count`` texts with every skill, shape (count, skills).

        Args:
            columns: Of all words of all texts.
            rows: The text of each word.
            count: Number of texts.
        """
        known = columns >= 0
        width = max(len(self.idf), 1)
        keys, times = count_distinct(rows[known] * width + columns[known])
        row, column = keys // width, keys % width
        weight = (1 + np.log(times)) * self.idf[column]
        unknown = np.bincount(rows[columns == UNKNOWN], minlength=count) * self.unknown_idf**2
        norm = np.sqrt(np.bincount(row, weight * weight, minlength=count) + unknown)
        place, source = expand(self.posting_ptr, column)
        flat = row[source] * self.skills + self.posting_skill[place]
        sums = np.bincount(flat, weight[source] * self.posting_weight[place], minlength=count * self.skills)
        return sums.reshape(count, self.skills) / np.maximum(norm, np.finfo(float).tiny)[:, None]

    def find_hits(self, columns: NDArray[np.int32], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """Return (texts, nodes) of all distinct phrases that occur in the texts, as whole words in a row."""
        width = max(len(self.idf), 1)
        start = np.flatnonzero(columns >= 0)
        node = np.zeros(len(start), np.int64)
        found = []
        for step in range(self.depth):
            inside = start + step < len(columns)
            start, node = start[inside], node[inside]
            here = start + step
            same = (rows[here] == rows[start]) & (columns[here] >= 0)
            start, node, here = start[same], node[same], here[same]
            keys = node * width + columns[here]
            edge = np.minimum(np.searchsorted(self.edges, keys), len(self.edges) - 1)
            follows = self.edges[edge] == keys
            start, node = start[follows], self.targets[edge[follows]].astype(np.int64)
            ends = self.hit_ptr[node + 1] > self.hit_ptr[node]
            found.append(rows[start[ends]] * len(self.hit_ptr) + node[ends])
        keys, _ = count_distinct(np.concatenate([np.empty(0, np.int64), *found]))
        return keys // len(self.hit_ptr), keys % len(self.hit_ptr)


def says_something(word: str) -> bool:
    """Return whether a lower-case word is more than punctuation or a function word."""
    return word[0].isalnum() and word not in _STOP_WORDS


def expand(ptr: NDArray[np.int64], segments: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of all entries of the given segments in order, and the segment's own index for each."""
    lengths = ptr[segments + 1] - ptr[segments]
    source = np.repeat(np.arange(len(segments)), lengths)
    offset = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return ptr[segments][source] + offset, source


def build_lexicon(texts: Sequence[Sequence[str]], phrases: Sequence[tuple[tuple[str, ...], int]]) -> Lexicon:
    """Build the lexicon of skills.

    idf(w) = log(1 + K / df(w)) over the K skills, as each skill is one document; tf = 1 + log(count).

    Args:
        texts: The lower-case words of each skill's description, indicators and examples.
        phrases: Indicator phrases as lower-case words, with the number of their skill.
    """
    counts = [Counter(filter(says_something, words)) for words in texts]
    frequency = Counter(word for document in counts for word in document)
    spoken = sorted(frequency)
    silent = sorted({word for words, _ in phrases for word in words} - set(spoken))
    vocabulary = {word: column for column, word in enumerate([*spoken, *silent])}
    total = len(texts)
    idf = np.zeros(len(vocabulary))
    idf[: len(spoken)] = np.log1p(total / np.array([frequency[word] for word in spoken], float))
    ptr, skill, weight = _build_postings(counts, vocabulary, idf)
    edges, targets, hits, depth = _build_trie(phrases, vocabulary)
    hit_ptr = np.cumsum([0, *map(len, hits)])
    specificity = [np.log1p(total / max(len(skills), 1)) / np.log1p(max(total, 1)) for skills in hits]
    return Lexicon(
        vocabulary=vocabulary,
        idf=idf,
        unknown_idf=float(np.log1p(total)),
        posting_ptr=ptr,
        posting_skill=skill,
        posting_weight=weight,
        edges=edges,
        targets=targets,
        hit_ptr=hit_ptr.astype(np.int64),
        hit_skill=np.array([place for skills in hits for place in skills], np.int32),
        hit_weight=np.repeat(specificity, np.diff(hit_ptr)),
        depth=depth,
        skills=total,
    )


def _build_postings(
    counts: Sequence[Counter[str]], vocabulary: Mapping[str, int], idf: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    postings: list[list[tuple[float, int]]] = [[] for _ in vocabulary]
    for skill, document in enumerate(counts):
        words = sorted(document)
        columns = np.array([vocabulary[word] for word in words], np.int64)
        weights = (1 + np.log([document[word] for word in words])) * idf[columns]
        weights /= max(float(np.sqrt((weights * weights).sum())), np.finfo(float).tiny)
        for column, weight in zip(columns, weights, strict=True):
            postings[column].append((-float(weight), skill))
    kept = [sorted(sorted(entries)[:MAX_POSTINGS], key=lambda entry: entry[1]) for entries in postings]
    flat = [entry for entries in kept for entry in entries]
    return (
        np.cumsum([0, *map(len, kept)]).astype(np.int64),
        np.array([skill for _, skill in flat], np.int32),
        np.array([-weight for weight, _ in flat], float),
    )


def _build_trie(
    phrases: Sequence[tuple[tuple[str, ...], int]], vocabulary: Mapping[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int32], list[list[int]], int]:
    width = max(len(vocabulary), 1)
    edges: dict[int, int] = {}
    skills: dict[int, set[int]] = defaultdict(set)
    for words, skill in phrases:
        node = 0
        for word in words:
            node = edges.setdefault(node * width + vocabulary[word], len(edges) + 1)
        skills[node].add(skill)
    keys = sorted(edges)
    hits = [sorted(skills[node]) for node in range(len(edges) + 1)]
    targets = np.array([edges[key] for key in keys], np.int32)
    depth = max((len(words) for words, _ in phrases), default=0)
    return np.array(keys, np.int64), targets, hits, depth
