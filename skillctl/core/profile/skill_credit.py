"""How one run's evidence falls on the skills of a mode.

A run with skill weights w, which sum to 1, credits a skill with the sum of w over its subtree: a coarse skill pools
what its finer skills get, a leaf gets exactly its weight, the root gets 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.orchestrate.orchestration import WEIGHT_DIGITS, SkillWeights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skillctl.core.profile.skill_tree import SkillTree

UNITS = 10**WEIGHT_DIGITS  # evidence is summed in these, exactly


class CreditTable:
    """Credits of distinct queries in compressed rows that grow; row 0 credits the root alone.

    Args:
        tree: The skills of the mode.
    """

    def __init__(self, tree: SkillTree) -> None:
        self._paths, self._path_starts = _find_paths(tree)
        self._skills_total = len(tree.parents)
        self._starts = np.array([0, 1], dtype=np.int64)
        self._skills = np.zeros(1, dtype=np.int64)
        self._units = np.full(1, float(UNITS))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._starts) - 1

    def append(self, weights: SkillWeights) -> None:
        """Add a row for each row of ``weights``."""
        counts = np.diff(weights.indptr)
        row = np.repeat(np.arange(len(counts)), counts)
        depth = np.diff(self._path_starts)[weights.skills]
        skills = self._paths[expand(self._path_starts[weights.skills], depth)]
        keys, where = np.unique(np.repeat(row, depth) * self._skills_total + skills, return_inverse=True)
        units = np.rint(weights.weights * UNITS)
        self._units = np.concatenate([self._units, np.bincount(where, np.repeat(units, depth))])
        self._skills = np.concatenate([self._skills, keys % self._skills_total])
        lengths = np.bincount(keys // self._skills_total, minlength=len(counts))
        self._starts = np.concatenate([self._starts, self._starts[-1] + np.cumsum(lengths)])

    def credit(
        self,
        total: NDArray[np.float64],
        rows: NDArray[np.int64],
        first_cells: NDArray[np.int64],
        scale: NDArray[np.float64],
    ) -> None:
        """Add the credits of runs to cells.

        Args:
            total: The cells, changed in place.
            rows: The row of each run.
            first_cells: The root's cell of each run's pair.
            scale: How much each run counts.
        """
        counts = np.diff(self._starts)[rows]
        entries = expand(self._starts[rows], counts)
        cells = np.repeat(first_cells, counts) + self._skills[entries]
        np.add.at(total, cells, self._units[entries] * np.repeat(scale, counts))


def expand(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers from each start, as many as its count, one run of them after the other."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - counts), counts))


def _find_paths(tree: SkillTree) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each skill itself and its ancestors down to the root, and where each path starts."""
    paths: list[int] = []
    starts = [0]
    for skill in range(len(tree.parents)):
        place = skill
        while place >= 0:
            paths.append(place)
            place = tree.parents[place]
        starts.append(len(paths))
    return np.array(paths, dtype=np.int64), np.array(starts, dtype=np.int64)
