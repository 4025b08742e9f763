"""Which skills each run credits: inferred once per distinct state of a mode, or named by the trace.

A named skill that was split since is shared out by `skillctl.core.profile.reattribution`.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.orchestrate.skill_weights import round_weights
from skillctl.core.profile.reattribution import Reattribution
from skillctl.core.profile.skill_credit import CreditTable

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from skillctl.core.orchestrate.orchestration import Orchestrator, SkillWeights
    from skillctl.core.profile.pair_layout import ModeLayout, PairLayout
    from skillctl.model.handbook import ModeId

Weights = tuple[tuple[int, float], ...]

_DIGEST_SIZE = 16


class Places(NamedTuple):
    """Where the credit of each run stands: the number of its table, and the row."""

    tables: NDArray[np.int64]
    rows: NDArray[np.int64]


class _Weigher:
    """The orchestrator of one mode, opened when the first text is weighed."""

    def __init__(self, mode: ModeId, open_orchestrator: Callable[[ModeId], Orchestrator]) -> None:
        self._mode = mode
        self._open = open_orchestrator
        self._orchestrator: Orchestrator | None = None

    def weigh(self, texts: Sequence[str]) -> SkillWeights:
        if self._orchestrator is None:
            self._orchestrator = self._open(self._mode)
        return self._orchestrator.weigh(texts)


class _Inferred:
    """Credits of distinct states that an orchestrator weighs."""

    def __init__(self, mode: ModeLayout, weigher: _Weigher) -> None:
        self.table = CreditTable(mode.tree)
        self._weigher = weigher
        self._rows: dict[bytes, int] = {}
        self._pending: list[str] = []

    def find(self, text: str) -> int:
        key = _digest(text)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = len(self.table) + len(self._pending)
            self._pending.append(text)
        return row

    def flush(self) -> None:
        if self._pending:
            self.table.append(self._weigher.weigh(self._pending))
            self._pending.clear()


class _Named:
    """Credits of distinct weights that traces name, and of those whose share the text decides."""

    def __init__(self, mode: ModeLayout, weigher: _Weigher, dropped: Counter[str]) -> None:
        self.table = CreditTable(mode.tree)
        self._numbers = {**mode.merged, **{key: number for number, key in enumerate(mode.keys)}}
        self._dropped = dropped
        self._weigher = weigher
        self._parts = Reattribution(mode) if mode.made else None
        self._rows: dict[tuple[Weights, bytes], int] = {((), b""): 0}
        self._pending: list[tuple[Weights, str | None]] = []

    def find(self, weights: Mapping[str, float], text: str) -> int:
        known: dict[int, float] = {}
        for skill, weight in sorted(weights.items()):
            number = self._numbers.get(skill)
            if number is None:
                self._dropped[skill] += 1
            elif weight > 0:
                known[number] = known.get(number, 0.0) + weight  # several may have been merged into one
        is_text_asked = self._parts is not None and self._parts.is_needed(known)
        named = tuple(sorted(known.items()))
        key = named, _digest(text) if is_text_asked else b""
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = len(self.table) + len(self._pending)
            self._pending.append((named, text if is_text_asked else None))
        return row

    def flush(self) -> None:
        if not self._pending:
            return
        texts = list(dict.fromkeys(text for _, text in self._pending if text is not None))
        weighed = dict(zip(texts, _list_rows(self._weigher.weigh(texts)), strict=True)) if texts else {}
        for named, text in self._pending:
            credit = named
            if text is not None and self._parts is not None:
                credit = tuple(sorted(self._parts.share_out(dict(named), weighed[text]).items()))
            self.table.append(_normalise(credit))
        self._pending.clear()


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=_DIGEST_SIZE).digest()


def _list_rows(weights: SkillWeights) -> list[dict[int, float]]:
    bounds = zip(weights.indptr.tolist(), weights.indptr[1:].tolist(), strict=False)
    skills, values = weights.skills.tolist(), weights.weights.tolist()
    return [dict(zip(skills[start:end], values[start:end], strict=True)) for start, end in bounds]


def _normalise(weights: Weights) -> SkillWeights:
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
        weighers = [_Weigher(mode.mode, open_orchestrator) for mode in layout.modes]
        pairs = list(zip(layout.modes, weighers, strict=True))
        self._inferred = [_Inferred(mode, weigher) for mode, weigher in pairs]
        self._named = [_Named(mode, weigher, dropped) for mode, weigher in pairs]

    def find_rows(
        self, states: Sequence[str], pairs: NDArray[np.int64], skills: Sequence[Mapping[str, float]]
    ) -> Places:
        """Return where the credits of runs stand.

        Args:
            states: What each run set out from: a query, and what was found out before it.
            pairs: The pair of each run.
            skills: Weights that each run names, empty where it names none.
        """
        modes = self._mode_of_pair[pairs]
        tables, rows = 2 * modes, np.zeros(len(pairs), dtype=np.int64)
        named = np.array([bool(own) for own in skills], dtype=np.bool_)
        for index in np.flatnonzero(named).tolist():
            rows[index] = self._named[modes[index]].find(skills[index], states[index])
        for index in np.flatnonzero(self._has_skills[modes] & ~named).tolist():
            rows[index] = self._inferred[modes[index]].find(states[index])
        for mode in np.unique(modes).tolist():
            self._inferred[mode].flush()
            self._named[mode].flush()
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
