"""The gate of refinement: an edit is made only if routing of validation queries does not get worse by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.evaluate.resampling import Resamples, estimate

if TYPE_CHECKING:
    from skillctl.core.evaluate.metrics import Interval
    from skillctl.core.refine.mode_bench import Standing
    from skillctl.core.refine.refinement import Kind


class Comparison(NamedTuple):
    """Routing before and after an edit.

    Attributes:
        gain: Mean paired difference of the reward with its 95 % bootstrap interval, ``None`` without queries.
        moved: How many queries go to another agent.
        queries: Of how many.
        passes: Whether the edit may be made.
    """

    gain: Interval | None
    moved: int
    queries: int
    passes: bool


def compare_standings(before: Standing, after: Standing, kind: Kind, seed: int) -> Comparison:
    """Return whether validation lets an edit pass.

    A finer handbook must earn its length: the estimate of a split must be at least 0, and that of an addition above
    it, as it is proposed for nothing but better choices. A merge makes it shorter: its interval must include 0 or lie
    above it, and so must that of all merges since the last other edit, which the caller sees to. Without a validation
    query in the mode nothing passes.
    """
    queries = len(before.reward)
    if not queries:
        return Comparison(None, 0, 0, passes=False)
    gain = estimate(Resamples(queries, seed).means(after.reward - before.reward))
    assert gain is not None  # noqa: S101 - the mean of at least one finite difference is defined
    passes = {"split": gain.value >= 0, "merge": gain.high >= 0, "addition": gain.value > 0}[kind]
    return Comparison(gain, int(np.count_nonzero(before.chosen != after.chosen)), queries, passes=passes)
