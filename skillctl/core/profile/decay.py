"""How much a run counts by its age, and how older evidence fades when newer runs come in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skillctl.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skillctl.core.profile.evidence import Evidence
    from skillctl.core.profile.half_life import HalfLife


class Decay:
    """Fades evidence in place and weighs new runs: 2^(−age / half-life), 1 without a half-life.

    The age of a run is the number of later runs of its agent in its mode, or its distance in time to the newest
    run of all. Only runs with a verdict have an age and make others older.

    Args:
        evidence: What fades.
        half_life: Of the evidence, or ``None``.
        newest_s: With a half-life in time, the newest time that is in the evidence.
    """

    def __init__(self, evidence: Evidence, half_life: HalfLife | None, newest_s: float | None) -> None:
        self._evidence = evidence
        self._half_life = half_life
        self._newest_s = newest_s

    @property
    def is_by_time(self) -> bool:
        """Whether ages are in time rather than in runs."""
        return self._half_life is not None and self._half_life.is_time

    def age(self, pairs: NDArray[np.int64], times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Fade what is held for these runs to come, and return how much each of them counts.

        Args:
            pairs: The pair of each run, in the order in which they happened.
            times: The time of each run, NaN for unknown.

        Raises:
            InputError: If the half-life is in time and a run has none.
        """
        if self._half_life is None:
            return np.ones(len(pairs))
        return self._age_by_time(times) if self._half_life.is_time else self._age_by_runs(pairs)

    def _age_by_runs(self, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        counts = np.bincount(pairs, minlength=len(self._evidence.runs))
        order = np.argsort(pairs, kind="stable")
        ends = np.cumsum(counts)
        later = np.empty(len(pairs))
        later[order] = ends[pairs[order]] - 1 - np.arange(len(pairs))
        self._fade(self._weigh(counts))
        return self._weigh(later)

    def _age_by_time(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        if np.isnan(times).any():
            message = "a trace has no time, so evidence cannot decay by time"
            raise InputError(message, hint="give a half-life in runs, such as 500, or add `time` to the traces")
        newest = float(times.max())
        if self._newest_s is not None:
            newest = max(newest, self._newest_s)
            self._fade(np.full(len(self._evidence.runs), self._weigh(newest - self._newest_s)))
        self._newest_s = newest
        return self._weigh(newest - times)

    def _weigh(self, age: NDArray[np.float64] | NDArray[np.int64] | float) -> NDArray[np.float64]:
        amount = self._half_life.amount if self._half_life else np.inf
        return np.asarray(np.exp2(-np.asarray(age) / amount))

    def _fade(self, factor_of_pair: NDArray[np.float64]) -> None:
        layout = self._evidence.layout
        widths = np.diff(layout.first_cell_of_pair, append=layout.cells)
        factors = np.repeat(factor_of_pair, widths)
        self._evidence.successes *= factors
        self._evidence.failures *= factors
