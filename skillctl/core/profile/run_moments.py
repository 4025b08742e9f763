"""Means and spreads of what runs cost, mergeable from batch to batch and from log to log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

METRICS = ("cost_usd", "prompt_tokens", "completion_tokens", "latency_s", "steps")


class RunMoments:
    """Count, mean and sum of squared deviations of each metric of each pair.

    Batches are merged by the update of Chan, Golub and LeVeque (1979): with δ the difference of the means,
    M2 = M2ₐ + M2ᵦ + δ² nₐ nᵦ / (nₐ + nᵦ).

    Args:
        pairs: How many pairs there are.
    """

    def __init__(self, pairs: int) -> None:
        shape = (pairs, len(METRICS))
        self.count = np.zeros(shape)
        self.mean = np.zeros(shape)
        self.squares = np.zeros(shape)

    def add(self, pairs: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Add runs.

        Args:
            pairs: The pair of each run.
            values: The metrics of each run, NaN for unknown.
        """
        for metric in range(len(METRICS)):
            column = values[:, metric]
            known = ~np.isnan(column)
            if known.any():
                self._add_metric(metric, pairs[known], column[known])

    def _add_metric(self, metric: int, pairs: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        size = len(self.count)
        count = np.bincount(pairs, minlength=size).astype(np.float64)
        mean = np.bincount(pairs, values, minlength=size) / np.maximum(count, 1.0)
        squares = np.bincount(pairs, (values - mean[pairs]) ** 2, minlength=size)
        before = self.count[:, metric]
        total = before + count
        share = count / np.maximum(total, 1.0)
        delta = mean - self.mean[:, metric]
        self.squares[:, metric] += squares + delta**2 * before * share
        self.mean[:, metric] += delta * share
        self.count[:, metric] = total
