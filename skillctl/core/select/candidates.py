"""Candidate handbooks: cuts of the skill trees, and what a cut does to weights.

A cut of a tree keeps everything above an antichain of skills and the antichain itself; what is below goes. A coarse
skill already pools the evidence of its subtree, so a cut only moves the weights of what went to its nearest kept
ancestor.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.orchestrate.skill_weights import round_weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from skillctl.core.orchestrate.orchestration import Orchestrator, SkillWeights
    from skillctl.model.handbook import Skill

# The skills that a mode keeps.
Cut = frozenset[str]


class Tree:
    """The skills of one mode, by parent; ``None`` is the mode.

    Args:
        skills: In order of id.
    """

    def __init__(self, skills: Sequence[Skill]) -> None:
        self.skills: tuple[str, ...] = tuple(skill.id for skill in skills)
        self._children: dict[str | None, list[str]] = {}
        for skill in skills:
            self._children.setdefault(skill.parent, []).append(skill.id)
        self._parents: dict[str, str | None] = {skill.id: skill.parent for skill in skills}

    @property
    def finest(self) -> Cut:
        """The cut that keeps everything."""
        return frozenset(self.skills)

    def count_cuts(self, skill: str | None = None) -> int:
        """Return the number of cuts of a subtree: cut here, or any combination of cuts below."""
        below = self._children.get(skill, [])
        total = 1
        for child in below:
            total *= self.count_cuts(child)
        return 1 + total if below else 1

    def list_cuts(self, skill: str | None = None) -> Iterator[Cut]:
        """Yield every cut of a subtree, the coarsest first."""
        own: Cut = frozenset() if skill is None else frozenset([skill])
        yield own
        below = self._children.get(skill, [])
        if below:
            for parts in product(*(list(self.list_cuts(child)) for child in below)):
                yield own.union(*parts)

    def coarsen(self, cut: Cut) -> Iterator[Cut]:
        """Yield the cuts that differ by one step: the children of one skill, all of them without children, are gone."""
        for skill in [None, *self.skills]:
            below = [child for child in self._children.get(skill, []) if child in cut]
            if below and not any(grandchild in cut for child in below for grandchild in self._children.get(child, [])):
                yield cut.difference(below)

    def find_nearest(self, cut: Cut) -> NDArray[np.int32]:
        """Return for each row of the mode's table (0 is the mode) the row of its nearest kept ancestor, or itself."""
        row: dict[str, int] = {skill: place for place, skill in enumerate(self.skills, 1)}
        nearest = np.zeros(len(self.skills) + 1, np.int32)
        for skill, place in row.items():
            above: str | None = skill
            while above is not None and above not in cut:
                above = self._parents[above]
            nearest[place] = 0 if above is None else row[above]
        return nearest


def move_weights(weights: SkillWeights, nearest: NDArray[np.int32]) -> SkillWeights:
    """Return the weights with those of skills that went moved to their nearest kept ancestors."""
    count = len(weights.indptr) - 1
    rows = np.repeat(np.arange(count), np.diff(weights.indptr))
    return round_weights(rows, nearest[weights.skills], weights.weights, count)


class CutOrchestrator:
    """An orchestrator whose weights fall on the skills of a cut alone.

    Args:
        inner: Names skills of the whole mode.
        nearest: By row, see `Tree.find_nearest`.
    """

    def __init__(self, inner: Orchestrator, nearest: NDArray[np.int32]) -> None:
        self._inner = inner
        self._nearest = nearest

    def weigh(self, texts: Sequence[str]) -> SkillWeights:
        """Return the weights for each text."""
        return move_weights(self._inner.weigh(texts), self._nearest)
