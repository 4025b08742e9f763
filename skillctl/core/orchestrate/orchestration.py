"""What every orchestrator answers: which skills does a state need, and how much of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

# Weights are multiples of 10**-WEIGHT_DIGITS, so that sums of evidence are exact and free of order.
WEIGHT_DIGITS = 4


class SkillWeights(NamedTuple):
    """Sparse weights of skills for a batch of n states, in compressed rows.

    Row i holds ``skills[indptr[i]:indptr[i + 1]]`` with weights that sum to 1. Skills are numbered within one
    mode: 0 is the root of the mode (the fall-back when a state resembles no skill), k is the k-th skill in order
    of id.

    Attributes:
        indptr: Shape (n + 1,), int64.
        skills: Shape (nnz,), int32.
        weights: Shape (nnz,), float64, multiples of 10**-WEIGHT_DIGITS.
    """

    indptr: NDArray[np.int64]
    skills: NDArray[np.int32]
    weights: NDArray[np.float64]


class Orchestrator(Protocol):
    """Names the skills that states need; made for one mode of one handbook."""

    def weigh(self, texts: Sequence[str]) -> SkillWeights:
        """Return the weights for each text; a row depends on its text alone, never on the batch."""
        ...
