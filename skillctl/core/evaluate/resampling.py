"""Bootstrap resamples that all statistics of one evaluation share, so that their differences are paired.

A statistic is computed on the data as they are and on every resample by the same code: its samples are an array
whose first entry is the estimate and whose other entries are the bootstrap replicates (Efron, 1979).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.evaluate.metrics import Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

DRAWS = 1000
LEVEL = 0.95
_CHUNK_CELLS = 2_000_000
_SMALL = np.iinfo(np.uint8).max


class Resamples:
    """How often each of q rows is drawn, in the data themselves and in every resample.

    Args:
        size: Number of rows q, at least 1.
        seed: Of the draws.
        draws: Number of resamples.
    """

    def __init__(self, size: int, seed: int = 0, draws: int = DRAWS) -> None:
        rng = np.random.default_rng([seed, size])
        self.size = size
        self.draws = draws
        self._counts = np.ones((draws + 1, size), np.uint8)
        step = max(1, _CHUNK_CELLS // size)
        for start in range(1, draws + 1, step):
            rows = min(step, draws + 1 - start)
            cells = rng.integers(0, size, (rows, size)) + size * np.arange(rows)[:, None]
            drawn = np.bincount(cells.ravel(), minlength=rows * size).reshape(rows, size)
            self._counts[start : start + rows] = np.minimum(drawn, _SMALL)

    def sums(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums of columns, shape (q, m), over each resample, shape (1 + draws, m)."""
        return self.gather(lambda counts: counts @ columns)

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means of columns or of one column over each resample."""
        return self.sums(values) / self.size

    def group_sums(self, values: NDArray[np.float64], groups: NDArray[np.int64], count: int) -> NDArray[np.float64]:
        """Return the sums of values, shape (q,), over the rows of each group, shape (1 + draws, count)."""
        order = np.argsort(groups, kind="stable")
        present, starts = np.unique(groups[order], return_index=True)
        result = np.zeros((len(self._counts), count))
        result[:, present] = self.gather(
            lambda counts: np.add.reduceat(counts[:, order] * values[order], starts, axis=1)
        )
        return result

    def gather(self, statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return a statistic of the counts, computed for some resamples at a time, along the first axis."""
        return np.concatenate([statistic(counts) for counts in self._chunks()])

    def _chunks(self) -> Iterator[NDArray[np.float64]]:
        step = max(1, _CHUNK_CELLS // self.size)
        for start in range(0, len(self._counts), step):
            yield self._counts[start : start + step].astype(np.float64)


def estimate(samples: NDArray[np.float64], *, infinite_is_unknown: bool = True) -> Interval | None:
    """Return the estimate in samples with its percentile interval, ``None`` where the estimate is not defined.

    An end of the interval that is not defined is NaN.

    Args:
        samples: The estimate and its replicates.
        infinite_is_unknown: Whether an infinite estimate is not defined either.
    """
    value = float(samples[0])
    if np.isnan(value) or (infinite_is_unknown and np.isinf(value)):
        return None
    replicates = samples[1:][~np.isnan(samples[1:])]
    if not len(replicates):
        return Interval(value, float("nan"), float("nan"))
    tail = (1 - LEVEL) / 2
    # Nearest ranks: between an infinite and a finite replicate there is nothing to interpolate.
    low, high = np.quantile(replicates, [tail, 1 - tail], method="nearest").tolist()
    return Interval(value, low, high)
