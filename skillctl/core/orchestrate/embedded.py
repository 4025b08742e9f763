"""The embedded orchestrator: semantic, lexical and surface evidence, without a key or the network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.distinct import find_distinct
from skillctl.core.orchestrate.features import MAX_CHARS, WordEmbedder, WordTable
from skillctl.core.orchestrate.indicators import match_patterns
from skillctl.core.orchestrate.lexicon import expand
from skillctl.core.orchestrate.skill_index import SkillIndex, find_semantic_directions
from skillctl.core.orchestrate.skill_weights import Level, join_weights, root_weights, weigh_skills
from skillctl.core.orchestrate.space import POINT_STEPS, Points, project, to_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from skillctl.core.orchestrate.orchestration import SkillWeights
    from skillctl.core.route.routing_table import OrchestratorNumbers
    from skillctl.model.handbook import OrchestratorSettings

# In squared distance, a text is closer to a skill by these parts of the lexical cosine and of the hits.
LEXICAL_WEIGHT = 0.5
HIT_WEIGHT = 0.5

# Of the softmax on a level, relative to the squared distance between a text and its skill there.
DEFAULT_TEMPERATURE = 0.25
DEFAULT_TOP_K = 8
DEFAULT_MIN_SIMILARITY = 0.15

_BATCH = 2048  # texts at a time, so that a batch of any size takes bounded memory
_BATCH_CELLS = 4_000_000  # similarities at a time
_BATCH_CHARS = 4_000_000  # characters at a time, after long texts are cut


class EmbeddedOrchestrator:
    """Weighs the skills of one mode by how much their texts resemble a state.

    Args:
        index: The skills.
        open_embedder: Opens the word vectors, when the first text is weighed.
        settings: Global numbers; what is ``None`` has its default here.
        table: Words that are known already, where several orchestrators weigh the same texts.
    """

    def __init__(
        self,
        index: SkillIndex,
        open_embedder: Callable[[], WordEmbedder],
        settings: OrchestratorSettings | OrchestratorNumbers,
        *,
        table: WordTable | None = None,
    ) -> None:
        self._index = index
        self._open_embedder = open_embedder
        self._settings = settings
        self._patterns = [re.compile(pattern) for pattern, _ in index.patterns]
        self._pattern_skill = np.array([skill for _, skill in index.patterns], np.int64)
        self._norms = (index.vectors**2).sum(axis=0)
        self._directions = find_semantic_directions(index)
        self._table = table
        self._columns = np.empty(0, np.int32)
        self._generation = -1

    def weigh(self, texts: Sequence[str]) -> SkillWeights:
        """Return the weights for each text; a row depends on its text alone, never on the batch."""
        temperature = self._settings.temperature
        return self.weigh_at(texts, [DEFAULT_TEMPERATURE if temperature is None else temperature])[0]

    def weigh_at(self, texts: Sequence[str], temperatures: Sequence[float]) -> list[SkillWeights]:
        """Return the weights under each of several temperatures."""
        skills = self._index.lexicon.skills
        if not skills:
            return [root_weights(len(texts)) for _ in temperatures]
        parts = []
        for batch in _split(texts, max(1, min(_BATCH, _BATCH_CELLS // skills))):
            closeness, similarity = self.find_closeness(batch)
            parts.append([self._weigh_closeness(closeness, similarity, value) for value in temperatures])
        return [join_weights([part[place] for part in parts]) for place in range(len(temperatures))]

    def find_closeness(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return how close texts are to skills, shape (n, K), and their similarity to the closest one, shape (n,).

        Closeness is the negative squared distance in the space of the skills plus the lexical evidence. Similarity
        is the semantic cosine plus the lexical evidence: it is small for a text that resembles no skill, of which
        one is the closest nevertheless.
        """
        if self._table is None:
            self._table = WordTable(self._open_embedder())
        features = self._table.read(texts)
        found = project(self._index.space, features.semantic, features.surface)
        columns = self._find_columns(self._table)[features.word_ids]
        rows = np.repeat(np.arange(len(texts)), np.diff(features.indptr))
        evidence = self._index.lexicon.score_words(columns, rows, len(texts))
        evidence *= LEXICAL_WEIGHT
        self._add_hits(evidence, texts, columns, rows)
        closeness = self._find_nearness(found)
        closeness += evidence.astype(np.float32)
        closest = closeness.argmax(axis=1)
        similarity = self._find_cosine(found, closest) + evidence[np.arange(len(texts)), closest]
        similarity[np.diff(features.indptr) == 0] = -np.inf  # a text without words resembles nothing
        return closeness, similarity

    def _find_nearness(self, found: Points) -> NDArray[np.float32]:
        """Return negative squared distances; the product is exact, and each step after it touches one cell alone."""
        nearness: NDArray[np.float32] = found.points @ self._index.vectors
        nearness *= np.float32(2)
        nearness -= (found.points * found.points).sum(axis=1, keepdims=True)
        nearness -= self._norms
        nearness /= POINT_STEPS**2
        return nearness

    def _find_cosine(self, found: Points, skills: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the cosine between each text's semantic vector and its skill's, as far as the axes hold it."""
        part = to_unit(found.points[:, : self._directions.shape[1]])
        cosine = (part * self._directions[skills]).sum(axis=1)
        return np.asarray(found.captured * cosine, dtype=np.float64)

    def _weigh_closeness(
        self, closeness: NDArray[np.float32], similarity: NDArray[np.float64], temperature: float
    ) -> SkillWeights:
        settings, index = self._settings, self._index
        least = DEFAULT_MIN_SIMILARITY if settings.min_similarity is None else settings.min_similarity
        levels = [
            Level(index.level_skills[start:end], temperature * spread)
            for start, end, spread in zip(index.level_ptr, index.level_ptr[1:], index.level_spread, strict=False)
        ]
        top_k = DEFAULT_TOP_K if settings.top_k is None else settings.top_k
        return weigh_skills(closeness, similarity < least, levels, top_k=top_k)

    def _find_columns(self, table: WordTable) -> NDArray[np.int32]:
        """Return the lexical column of each word of the table, looking up only words that are new."""
        if self._generation != table.generation:
            self._columns, self._generation = np.empty(0, np.int32), table.generation
        if len(self._columns) < len(table):
            new = self._index.lexicon.find_columns(table.words_from(len(self._columns)))
            self._columns = np.concatenate([self._columns, new])
        return self._columns

    def _add_hits(
        self,
        evidence: NDArray[np.float64],
        texts: Sequence[str],
        columns: NDArray[np.int32],
        rows: NDArray[np.int64],
    ) -> None:
        """Add ``HIT_WEIGHT * (1 - exp(-h))``, h the summed specificity of a skill's distinct hits."""
        lexicon = self._index.lexicon
        row, node = lexicon.find_hits(columns, rows)
        place, source = expand(lexicon.hit_ptr, node)
        hits = match_patterns(self._patterns, texts)
        pattern_rows, patterns = np.array(hits, np.int64).reshape(-1, 2).T
        cells = np.concatenate([row[source], pattern_rows]) * lexicon.skills
        cells += np.concatenate([lexicon.hit_skill[place], self._pattern_skill[patterns]])
        weights = np.concatenate([lexicon.hit_weight[place], np.ones(len(hits))])
        touched, where = find_distinct(cells)
        evidence.reshape(-1)[touched] += HIT_WEIGHT * -np.expm1(-np.bincount(where, weights, len(touched)))


def _split(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Yield the texts in batches of at most ``size``, and of bounded length together."""
    start, chars = 0, 0
    for place, text in enumerate(texts):
        length = min(len(text), MAX_CHARS)
        if place - start == size or (chars + length > _BATCH_CHARS and place > start):
            yield texts[start:place]
            start, chars = place, 0
        chars += length
    if start < len(texts):
        yield texts[start:]
