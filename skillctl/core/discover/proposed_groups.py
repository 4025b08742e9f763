"""From proposals to candidate skills: which queries belong to which."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.orchestrate.embedded import DEFAULT_MIN_SIMILARITY, EmbeddedOrchestrator
from skillctl.core.orchestrate.skill_index import build_skill_index
from skillctl.model.handbook import Indicator, OrchestratorSettings, Skill, SkillId

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from skillctl.core.discover.proposals import Group, Proposal
    from skillctl.core.orchestrate.features import WordEmbedder

_MIN_MEMBERS = 3
_BATCH = 2048


class Candidate(NamedTuple):
    """A skill with the queries that resemble it; `skillctl.core.discover.discovery` decides whether it stays.

    Attributes:
        name: A few words; the id is made from it.
        description: One sentence.
        indicators: Words that stand in queries that need it.
        rows: Its queries, in order; no two candidates below the same parent share one.
        support: The queries that it was abstracted from: a part of ``rows``, unless another candidate is closer.
        parent: Place of the coarser candidate, which stands before it, or -1.
    """

    name: str
    description: str
    indicators: tuple[str, ...]
    rows: NDArray[np.int64]
    support: tuple[int, ...]
    parent: int = -1


def candidates_to_drafts(
    proposals: Sequence[Proposal], groups: Sequence[Group], texts: Sequence[str], embedder: WordEmbedder
) -> list[Candidate]:
    """Assign every query to the nearest proposal, by description, indicators and supporting queries.

    A query that resembles none belongs to none; a proposal with hardly a query is left out. A group holds the
    queries of its members, and a group with one member left is that member.
    """
    nearest = _assign(proposals, texts, embedder)
    rows = [np.flatnonzero(nearest == place) for place in range(len(proposals))]
    alive = {place for place, members in enumerate(rows) if len(members) >= _MIN_MEMBERS}
    candidates: list[Candidate] = []
    grouped: set[int] = set()
    for group in groups:
        members = [place for place in group.members if place in alive]
        if len(members) > 1:
            grouped.update(members)
            candidates += _nest(group, members, proposals, rows, len(candidates))
    rest = [_single(proposals[place], rows[place], -1) for place in sorted(alive - grouped)]
    return candidates + rest


def _single(proposal: Proposal, rows: NDArray[np.int64], parent: int) -> Candidate:
    return Candidate(proposal.name, proposal.description, proposal.indicators, rows, proposal.rows, parent)


def _nest(
    group: Group, members: Sequence[int], proposals: Sequence[Proposal], rows: Sequence[NDArray[np.int64]], place: int
) -> list[Candidate]:
    joined = np.sort(np.concatenate([rows[member] for member in members]))
    support = tuple(sorted({row for member in members for row in proposals[member].rows}))
    coarse = Candidate(group.name, group.description, (), joined, support)
    return [coarse, *(_single(proposals[member], rows[member], place) for member in members)]


def _assign(proposals: Sequence[Proposal], texts: Sequence[str], embedder: WordEmbedder) -> NDArray[np.int64]:
    """Return the nearest proposal of each text, -1 where it resembles none."""
    if not proposals or not texts:
        return np.full(len(texts), -1, dtype=np.int64)
    skills = [_to_skill(place, proposal, texts) for place, proposal in enumerate(proposals)]
    orchestrator = EmbeddedOrchestrator(build_skill_index(skills, embedder), lambda: embedder, OrchestratorSettings())
    parts = []
    for start in range(0, len(texts), _BATCH):
        closeness, similarity = orchestrator.find_closeness(texts[start : start + _BATCH])
        parts.append(np.where(similarity < DEFAULT_MIN_SIMILARITY, -1, closeness.argmax(axis=1)))
    return np.concatenate(parts).astype(np.int64)


def _to_skill(place: int, proposal: Proposal, texts: Sequence[str]) -> Skill:
    return Skill(
        SkillId(f"{place:06d}"),
        f"{proposal.name}. {proposal.description}",
        indicators=tuple(map(Indicator, proposal.indicators)),
        examples=tuple(texts[row] for row in proposal.rows),
    )
