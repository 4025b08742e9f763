"""Which skills each run credits: inferred once per distinct query of a mode, or named by the trace."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.skill_credit import CreditTable
from skillctl.core.skill_weights import round_weights

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from skillctl.core.orchestration import Orchestrator, SkillWeights
    from skillctl.core.pair_layout import ModeLayout, PairLayout
    from skillctl.model.handbook import ModeId
    from skillctl.model.trace import Trace

_DIGEST_SIZE = 16


class Places(NamedTuple):
    """Where the credit of each run stands: the number of its table, and the row."""

    tables: NDArray[np.int64]
    rows: NDArray[np.int64]


class _Inferred:
    """Credits of distinct queries that an orchestrator weighs."""

    def __init__(self, mode: ModeLayout, open_orchestrator: Callable[[ModeId], Orchestrator]) -> None:
        self.table = CreditTable(mode.tree)
        self._mode = mode.mode
        self._open = open_orchestrator
        self._orchestrator: Orchestrator | None = None
        self._rows: dict[bytes, int] = {}
        self._pending: list[str] = []

    def find(self, text: str) -> int:
        key = blake2b(text.encode(), digest_size=_DIGEST_SIZE).digest()
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = len(self.table) + len(self._pending)
            self._pending.append(text)
        return row

    def flush(self) -> None:
        if not self._pending:
            return
        if self._orchestrator is None:
            self._orchestrator = self._open(self._mode)
        self.table.append(self._orchestrator.weigh(self._pending))
        self._pending.clear()


class _Named:
    """Credits of distinct weights that traces name."""

    def __init__(self, mode: ModeLayout, dropped: Counter[str]) -> None:
        self.table = CreditTable(mode.tree)
        self._numbers = {**mode.merged, **{key: number for number, key in enumerate(mode.keys)}}
        self._dropped = dropped
        self._rows: dict[tuple[tuple[int, float], ...], int] = {(): 0}

    def find(self, weights: Mapping[str, float]) -> int:
        known: dict[int, float] = {}
        for skill, weight in sorted(weights.items()):
            number = self._numbers.get(skill)
            if number is None:
                self._dropped[skill] += 1
            elif weight > 0:
                known[number] = known.get(number, 0.0) + weight  # several may have been merged into one
        key = tuple(sorted(known.items()))
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = len(self.table)
            self.table.append(_normalise(key))
        return row


def _normalise(weights: tuple[tuple[int, float], ...]) -> SkillWeights:
    values = np.array([weight for _, weight in weights])
    values = values / values.max()  # first, so that a sum of huge weights stays finite
    numbers = np.array([number for number, _ in weights], dtype=np.int32)
    return round_weights(np.zeros(len(weights), dtype=np.int64), numbers, values / values.sum(), 1)


class QueryCredits:
    """All modes' credits. Table 2i holds the inferred credits of mode i, table 2i + 1 those that traces name.

    Args:
        layout: The modes.
        open_orchestrator: Called once for each mode in which something must be inferred.
        dropped: Counts, by skill, the traces that name a skill that is not registered; changed in place.
    """

    def __init__(
        self, layout: PairLayout, open_orchestrator: Callable[[ModeId], Orchestrator], dropped: Counter[str]
    ) -> None:
        self._mode_of_pair = layout.mode_of_pair
        self._has_skills = np.array([len(mode.keys) > 1 for mode in layout.modes], dtype=np.bool_)
        self._inferred = [_Inferred(mode, open_orchestrator) for mode in layout.modes]
        self._named = [_Named(mode, dropped) for mode in layout.modes]

    def find_rows(
        self, traces: Sequence[Trace], pairs: NDArray[np.int64], skills: Sequence[Mapping[str, float]] | None = None
    ) -> Places:
        """Return where the credits stand of runs by ``pairs`` on the queries of ``traces``.

        Args:
            traces: The trace of each run.
            pairs: The pair of each run.
            skills: Weights that each run names, those of the traces without it.
        """
        modes = self._mode_of_pair[pairs]
        tables, rows = 2 * modes, np.zeros(len(pairs), dtype=np.int64)
        weights = [trace.skills for trace in traces] if skills is None else skills
        named = np.array([bool(own) for own in weights], dtype=np.bool_)
        for index in np.flatnonzero(named).tolist():
            rows[index] = self._named[modes[index]].find(weights[index])
        for index in np.flatnonzero(self._has_skills[modes] & ~named).tolist():
            rows[index] = self._inferred[modes[index]].find(traces[index].query)
        for mode in np.unique(modes).tolist():
            self._inferred[mode].flush()
        return Places(tables + named, rows)

    def credit(
        self,
        total: NDArray[np.float64],
        places: Places,
        first_cells: NDArray[np.int64],
        scale: NDArray[np.float64],
    ) -> None:
        """Add the credits of runs to ``total``.

        Args:
            total: The cells, changed in place.
            places: Where the credit of each run stands.
            first_cells: The root's cell of each run's pair.
            scale: How much each run counts.
        """
        for number in np.unique(places.tables).tolist():
            source = (self._named if number % 2 else self._inferred)[number // 2]
            here = places.tables == number
            source.table.credit(total, places.rows[here], first_cells[here], scale[here])
