"""An agent's strengths, weaknesses and routing signals, in words that follow from the numbers.

Sentences that were made here are recognised by their form, so that a later run replaces them and leaves what people
wrote by hand. Numbers in them are coarse: a sentence changes when the message does, not with every trace.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

# Said only with this probability, and of a difference that matters to routing.
_MIN_PROBABILITY = 0.95
_MIN_POINTS = 0.05
_LIKELY_BEST = 0.8
_MOST = 5
_STEP = 5  # percentage points to which sentences round

_MADE = re.compile(
    r"^\S+: about \d+ % success, \d+ points (above|below) the other agents\.$|^(Prefer|Avoid) for \S.*: .*\.$",
    re.DOTALL,
)


class Wording(NamedTuple):
    """What is said of one agent in one mode."""

    signals: tuple[str, ...]
    strengths: tuple[str, ...]
    weaknesses: tuple[str, ...]


def word_profiles(
    agents: Sequence[str],
    skills: Sequence[str],
    alpha: NDArray[np.float64],
    beta: NDArray[np.float64],
    evidence: NDArray[np.float64],
) -> dict[str, Wording]:
    """Return the wording of every agent in one mode.

    Differences are between an agent's posterior mean and the mean over the other agents; the probability that they
    are real uses the normal approximation of the Beta posteriors.

    Args:
        agents: Length a.
        skills: Length s, the skills without the mode's root.
        alpha: Shape (a, s), posteriors.
        beta: Shape (a, s).
        evidence: Shape (a, s); a skill without evidence is not spoken of.
    """
    nothing = Wording((), (), ())
    if len(agents) < 2 or not skills:  # noqa: PLR2004 - a comparison takes two
        return dict.fromkeys(agents, nothing)
    mean = alpha / (alpha + beta)
    variance = mean * (1 - mean) / (alpha + beta + 1)
    others = (mean.sum(axis=0) - mean) / (len(agents) - 1)
    spread = np.sqrt(variance + (variance.sum(axis=0) - variance) / (len(agents) - 1) ** 2)
    z = np.where(evidence > 0, (mean - others) / spread, 0.0)
    signals = _signals(agents, skills, mean, variance, evidence)
    return {
        agent: Wording(
            signals[row],
            _sentences(skills, mean[row], others[row], z[row], +1),
            _sentences(skills, mean[row], others[row], z[row], -1),
        )
        for row, agent in enumerate(agents)
    }


def replace_made(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    """Return what people wrote in ``old``, followed by the sentences made now."""
    return (*(sentence for sentence in old if not _MADE.match(sentence)), *new)


def _sentences(
    skills: Sequence[str], mean: NDArray[np.float64], others: NDArray[np.float64], z: NDArray[np.float64], sign: int
) -> tuple[str, ...]:
    from scipy.special import ndtri

    clear = sign * z >= ndtri(_MIN_PROBABILITY)
    large = sign * (mean - others) >= _MIN_POINTS
    order = np.lexsort((np.arange(len(skills)), -np.abs(np.round(mean - others, 6))))
    word = "above" if sign > 0 else "below"
    return tuple(
        f"{skills[k]}: about {_percent(mean[k])} % success, "
        f"{max(_STEP, _percent(abs(mean[k] - others[k])))} points {word} the other agents."
        for k in order
        if clear[k] and large[k]
    )[:_MOST]


def _signals(
    agents: Sequence[str],
    skills: Sequence[str],
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    evidence: NDArray[np.float64],
) -> list[tuple[str, ...]]:
    from scipy.special import ndtr

    tried = np.where(evidence > 0, mean, -np.inf)
    best = np.argmax(np.round(tried, 9), axis=0)
    columns = np.arange(len(skills))
    gap = mean[best, columns] - mean
    behind = ndtr(gap / np.sqrt(variance + variance[best, columns]))
    rivals = behind.copy()
    rivals[best, columns] = np.inf
    leads = (rivals.min(axis=0) >= _LIKELY_BEST) & (evidence.sum(axis=0) > 0)
    signals = []
    for row in range(len(agents)):
        prefer = [skill for k, skill in enumerate(skills) if best[k] == row and leads[k]]
        avoid = (behind[row] >= _MIN_PROBABILITY) & (gap[row] >= _MIN_POINTS) & (evidence[row] > 0)
        worst = [k for k in np.argsort(-np.round(gap[row], 6), kind="stable") if avoid[k]][:_MOST]
        signals.append(
            (
                *([f"Prefer for {', '.join(prefer[:_MOST])}: most likely the best agent there."] if prefer else []),
                *(
                    [f"Avoid for {', '.join(skills[int(k)] for k in worst)}: others succeed more often."]
                    if worst
                    else []
                ),
            )
        )
    return signals


def _percent(share: float) -> int:
    return _STEP * round(100 * share / _STEP)
