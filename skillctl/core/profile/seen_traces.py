"""Which traces were seen before, in eight bytes each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VERDICT_BITS = np.uint64(2)
_VERDICT_MASK = np.uint64(3)


class Admission(NamedTuple):
    """What a batch of traces adds.

    Attributes:
        is_first: Whether each trace was not seen before, in this batch or an earlier one.
        conflicts: How many of the others have another verdict than the first of their kind.
    """

    is_first: NDArray[np.bool_]
    conflicts: int


class SeenTraces:
    """A set of trace hashes that remembers the verdict of each.

    An entry is a hash of 62 bits and a verdict of 2 bits. Entries live in sorted arrays, each at least twice as
    long as the next, so that a batch costs a few binary searches and memory is eight bytes a trace.
    """

    def __init__(self) -> None:
        self._levels: list[NDArray[np.uint64]] = []

    def admit(self, hashes: NDArray[np.uint64], verdicts: NDArray[np.int8]) -> Admission:
        """Add a batch and say what of it is new.

        Args:
            hashes: One hash a trace.
            verdicts: 0, 1 or 2 for a failure, a success or no verdict.
        """
        entries = (hashes & ~_VERDICT_MASK) | verdicts.astype(np.uint64)
        order = np.argsort(hashes >> _VERDICT_BITS, kind="stable")
        ordered = entries[order]
        starts = np.flatnonzero(np.diff(ordered >> _VERDICT_BITS, prepend=~np.uint64(0)))
        known = ordered[starts].copy()
        was_seen = self._look_up(known)
        first_entry = np.repeat(known, np.diff(starts, append=len(ordered)))
        is_first = np.zeros(len(hashes), dtype=np.bool_)
        is_first[order[starts[~was_seen]]] = True
        self._insert(known[~was_seen])
        return Admission(is_first, int(np.count_nonzero(first_entry != ordered)))

    def _look_up(self, entries: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Replace each entry by the one of the same hash that is held, and say which are."""
        was_seen = np.zeros(len(entries), dtype=np.bool_)
        for level in self._levels:
            place = np.minimum(np.searchsorted(level, entries & ~_VERDICT_MASK), len(level) - 1)
            found = level[place] >> _VERDICT_BITS == entries >> _VERDICT_BITS
            entries[found] = level[place[found]]
            was_seen |= found
        return was_seen

    def _insert(self, entries: NDArray[np.uint64]) -> None:
        if not len(entries):
            return
        self._levels.append(entries)
        while len(self._levels) > 1 and len(self._levels[-2]) < 2 * len(self._levels[-1]):
            last = self._levels.pop()
            self._levels[-1] = np.sort(np.concatenate([self._levels[-1], last]), kind="stable")
