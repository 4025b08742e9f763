"""Skills in numbers: their tree, and how much texts weigh on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.orchestrate.embedded import EmbeddedOrchestrator
from skillctl.core.orchestrate.skill_index import build_skill_index
from skillctl.model.handbook import OrchestratorSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from skillctl.core.orchestrate.features import WordEmbedder, WordTable
    from skillctl.core.orchestrate.orchestration import SkillWeights
    from skillctl.model.handbook import Skill

    Floats = NDArray[np.float64]


def number_tree(skills: Sequence[Skill]) -> list[int]:
    """Return the number of each skill's parent, 0 for the root, behind the root's own -1."""
    numbers = {skill.id: number for number, skill in enumerate(skills, start=1)}
    return [-1, *(0 if skill.parent is None else numbers[skill.parent] for skill in skills)]


def spread_out(weights: SkillWeights, skills: int) -> Floats:
    """Return sparse weights as an array of shape (n, skills + 1)."""
    count = len(weights.indptr) - 1
    table = np.zeros((count, skills + 1))
    table[np.repeat(np.arange(count), np.diff(weights.indptr)), weights.skills] = weights.weights
    return table


def weigh_all(
    skills: Sequence[Skill],
    texts: Sequence[str],
    embedder: WordEmbedder,
    temperatures: Sequence[float],
    *,
    table: WordTable | None = None,
) -> dict[float, Floats]:
    """Return the weights of texts on skills and the root under each temperature, shape (n, skills + 1).

    Args:
        skills: In order of id.
        texts: The texts.
        embedder: Gives word vectors.
        temperatures: Of the orchestrator.
        table: Words that are known already, where several kinds of skills weigh the same texts.
    """
    index = build_skill_index(skills, embedder, table=table)
    orchestrator = EmbeddedOrchestrator(index, lambda: embedder, OrchestratorSettings(), table=table)
    weights = orchestrator.weigh_at(texts, temperatures)
    return {
        temperature: spread_out(weight, len(skills)) for temperature, weight in zip(temperatures, weights, strict=True)
    }
