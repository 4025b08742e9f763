"""Numbers for the pairs of an agent and a mode, and for the skills within them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.profile.skill_tree import SkillTree, build_tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from skillctl.model.handbook import AgentId, Handbook, ModeId, Skill

MERGED = "merged"  # how a skill came about that stands for those in its origin
MERGED_WRITTEN = "merged from hand-written"  # and some of these were not found in traces
MERGERS = frozenset({MERGED, MERGED_WRITTEN})
SPLIT = "split"  # how the parts of a skill came about
ADDED = "failure-driven"
MADE = frozenset({SPLIT, ADDED})


class ModeLayout(NamedTuple):
    """One mode: its agents, and its skills as a tree in which 0 is the mode itself.

    Attributes:
        mode: Its id.
        keys: The mode's id, then the ids of its skills in order.
        tree: Over the numbers of ``keys``.
        agents: Agents that work in the mode, in order of id.
        first_pair: The number of the first agent's pair; the others follow.
        first_cell: The place of the first pair's root among the cells; a pair's cells follow each other.
        merged: The number in ``keys`` of skills that are gone, by id: of the skill that they were merged into.
        made: How refinement made a skill out of the one above it, by number: a split, or an addition where routing
            failed. No other skill has an entry.
    """

    mode: ModeId
    keys: tuple[str, ...]
    tree: SkillTree
    agents: tuple[AgentId, ...]
    first_pair: int
    first_cell: int
    merged: Mapping[str, int]
    made: Mapping[int, str]

    @property
    def cells(self) -> slice:
        """The cells of all pairs of the mode: agents × skills."""
        return slice(self.first_cell, self.first_cell + len(self.agents) * len(self.keys))


class PairLayout(NamedTuple):
    """All modes of a handbook.

    Attributes:
        modes: In order of id.
        pairs: Number of each (agent, mode); the mode ``None`` stands for the default.
        mode_of_pair: Index into ``modes`` of each pair.
        first_cell_of_pair: The place of each pair's root among the cells.
        cells: How many cells there are.
    """

    modes: tuple[ModeLayout, ...]
    pairs: Mapping[tuple[str, str | None], int]
    mode_of_pair: NDArray[np.int64]
    first_cell_of_pair: NDArray[np.int64]
    cells: int


def build_layout(handbook: Handbook) -> PairLayout:
    """Return the numbers of a handbook's pairs and cells."""
    modes: list[ModeLayout] = []
    pairs: dict[tuple[str, str | None], int] = {}
    mode_of_pair: list[int] = []
    first_cells: list[int] = []
    cells = 0
    for index, mode in enumerate(sorted(handbook.modes)):
        skills = handbook.skills.get(mode, ())
        agents = tuple(sorted(agent.id for agent in handbook.agents.values() if mode in agent.modes))
        layout = ModeLayout(
            mode,
            (mode, *(skill.id for skill in skills)),
            _build_tree(skills),
            agents,
            len(mode_of_pair),
            cells,
            _find_merged(skills),
            {
                number: skill.origin.how
                for number, skill in enumerate(skills, 1)
                if skill.origin and skill.origin.how in MADE
            },
        )
        modes.append(layout)
        for agent in agents:
            pairs[agent, mode] = len(mode_of_pair)
            mode_of_pair.append(index)
            first_cells.append(cells)
            cells += len(layout.keys)
    if handbook.modes:
        default = handbook.default_mode()
        pairs |= {(agent, None): pair for (agent, mode), pair in pairs.items() if mode == default}
    return PairLayout(tuple(modes), pairs, np.array(mode_of_pair, np.int64), np.array(first_cells, np.int64), cells)


def _build_tree(skills: tuple[Skill, ...]) -> SkillTree:
    numbers = {skill.id: number for number, skill in enumerate(skills, 1)}
    return build_tree([-1, *(0 if skill.parent is None else numbers[skill.parent] for skill in skills)])


def _find_merged(skills: tuple[Skill, ...]) -> dict[str, int]:
    known = {skill.id for skill in skills}
    return {
        source: number
        for number, skill in enumerate(skills, 1)
        if skill.origin is not None and skill.origin.how in MERGERS
        for source in skill.origin.source_skills
        if source not in known
    }
