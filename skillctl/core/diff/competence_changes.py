"""How beliefs in agents moved, and whether the move is more than noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.profile.beliefs import interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from skillctl.model.handbook import Agent, Competence, Handbook, ModeId, Profile

    Floats = NDArray[np.float64]

SURE = 0.95  # a move of at least this probability is more than noise
_LEAST_MOVE = 0.005  # a move that two digits do not show is no news, however sure
_LEAST_EVIDENCE = 1e-3


class Standing(NamedTuple):
    """A belief on one side: posterior mean, 90 % interval, evidence without the prior."""

    mean: float
    low: float
    high: float
    evidence: float


@dataclass(frozen=True, slots=True)
class CompetenceChange:
    """One agent's belief in one skill that is not what it was.

    Attributes:
        mode: Id of the mode.
        skill: Id of the skill; the mode's own id is all of the mode.
        agent: Id of the agent.
        before: What was believed.
        after: What is believed.
        share: Of the agent's evidence in the mode that is in this skill, at most 1.
        probability: That the move has this direction, see `compare_beliefs`.
    """

    mode: str
    skill: str
    agent: str
    before: Standing
    after: Standing
    share: float
    probability: float

    @property
    def move(self) -> float:
        """Change of the mean."""
        return self.after.mean - self.before.mean

    @property
    def new_evidence(self) -> float:
        """Evidence added; negative where some was taken away."""
        return self.after.evidence - self.before.evidence

    @property
    def is_noise(self) -> bool:
        """Tell whether the move may as well be chance."""
        return self.probability < SURE or abs(self.move) < _LEAST_MOVE


def move_probability(before: Floats, after: Floats) -> Floats:
    """Return the probability that an ability believed anew lies on the side to which its mean moved.

    Both posteriors share evidence, so their difference is not that of independent Betas. Let S be the posterior on
    what they share (the smaller counts of each outcome, under the old prior), with mean m and weight N = α + β.
    A posterior mean after n further outcomes is scattered around m with the Beta-binomial variance
    m(1 − m)/(N + 1) · n/(N + n) (Raiffa & Schlaifer 1961, preposterior analysis), so under "nothing but chance"

        Var(m_after − m_before) = m(1 − m)/(N + 1) · (n_before/(N + n_before) + n_after/(N + n_after))

    with n the outcomes of each side beyond the shared ones, and the probability is Φ(|m_after − m_before| / sd).
    Where neither side has outcomes of its own (a prior fitted anew, an edit by hand) the new posterior's own
    variance stands in.

    Args:
        before: Shape (n, 4): α, β, successes and failures.
        after: Shape (n, 4).
    """
    from scipy.special import ndtr

    shared = np.minimum(before[:, 2:], after[:, 2:])
    start = np.maximum(before[:, :2] - before[:, 2:], 0.0) + shared
    weight = np.maximum(start.sum(axis=1), 1e-9)
    mean = start[:, 0] / weight
    own_before = before[:, 2:].sum(axis=1) - shared.sum(axis=1)
    own_after = after[:, 2:].sum(axis=1) - shared.sum(axis=1)
    spread = mean * (1.0 - mean) / (weight + 1.0)
    scatter = spread * (own_before / (weight + own_before) + own_after / (weight + own_after))
    new_mean = after[:, 0] / after[:, :2].sum(axis=1)
    own = new_mean * (1.0 - new_mean) / (after[:, :2].sum(axis=1) + 1.0)
    variance = np.where(own_before + own_after > _LEAST_EVIDENCE, scatter, own)
    move = new_mean - before[:, 0] / before[:, :2].sum(axis=1)
    return np.asarray(ndtr(np.abs(move) / np.sqrt(np.maximum(variance, 1e-18))))


def find_competence_changes(before: Handbook, after: Handbook) -> list[CompetenceChange]:
    """Return every belief that both handbooks hold and that moved or has other evidence."""
    found = list(_pairs(before, after))
    if not found:
        return []
    old, new = (np.array([_numbers(pair[side]) for _, pair, _ in found]) for side in (0, 1))
    before_at, after_at = _stand(old), _stand(new)
    probability = move_probability(old, new).tolist()
    return [
        CompetenceChange(mode, skill, agent, before_at[row], after_at[row], found[row][2], probability[row])
        for row, ((mode, skill, agent), _, _) in enumerate(found)
    ]


_Key = tuple[str, str, str]


def _pairs(before: Handbook, after: Handbook) -> Iterator[tuple[_Key, tuple[Competence, Competence], float]]:
    for name, agent in after.agents.items():
        old_agent = before.agents.get(name)
        if old_agent is None or old_agent == agent:
            continue
        for mode, profile in agent.profiles.items():
            yield from _profile_pairs((mode, name), old_agent.profiles.get(mode), profile)


def _profile_pairs(
    place: tuple[ModeId, str], old: Profile | None, new: Profile
) -> Iterator[tuple[_Key, tuple[Competence, Competence], float]]:
    mode, agent = place
    root = new.competence.get(mode)
    total = max(root.successes + root.failures, _LEAST_EVIDENCE) if root else 1.0
    for skill, entry in new.competence.items():
        was = old.competence.get(skill) if old else None
        if was is not None and was != entry:
            yield (mode, skill, agent), (was, entry), min((entry.successes + entry.failures) / total, 1.0)


def _numbers(entry: Competence) -> tuple[float, float, float, float]:
    return entry.alpha, entry.beta, entry.successes, entry.failures


def _stand(numbers: Floats) -> list[Standing]:
    low, high = interval(numbers[:, 0], numbers[:, 1])
    mean = numbers[:, 0] / numbers[:, :2].sum(axis=1)
    evidence = numbers[:, 2:].sum(axis=1)
    rows: Sequence[Sequence[float]] = np.stack([mean, low, high, evidence], axis=1).tolist()
    return [Standing(*row) for row in rows]


class FirstEvidence(NamedTuple):
    """Beliefs about an agent in a mode that the older handbook does not hold, or the newer one does no more.

    Attributes:
        mode: Id of the mode.
        agent: Id of the agent.
        skills: Ids of the skills, without the mode's own.
        mean: In all of the mode, where that is among them.
        evidence: Runs with a verdict that were added or, below 0, taken away.
        is_gone: Whether the beliefs are gone.
    """

    mode: str
    agent: str
    skills: tuple[str, ...]
    mean: float | None
    evidence: int
    is_gone: bool


def find_first_evidence(before: Handbook, after: Handbook) -> list[FirstEvidence]:
    """Return what is believed for the first time or no more, by agent and mode, of agents and skills in both."""
    found = []
    for name in sorted(before.agents.keys() & after.agents.keys()):
        old, new = before.agents[name], after.agents[name]
        if old != new:
            found += list(_compare_profiles((old, new), is_gone=True))
            found += list(_compare_profiles((new, old), is_gone=False))
    return found


def _compare_profiles(sides: tuple[Agent, Agent], *, is_gone: bool) -> Iterator[FirstEvidence]:
    """Yield what the first side holds beyond the second."""
    one, other = sides
    for mode, profile in one.profiles.items():
        opposite = other.profiles.get(mode)
        known = opposite.competence if opposite else {}
        skills = [skill for skill in profile.competence if skill not in known]
        if not skills:
            continue
        root = profile.competence[mode] if mode in skills else None
        mean = root.alpha / (root.alpha + root.beta) if root else None
        runs = profile.runs - (opposite.runs if opposite else 0)
        below = tuple(skill for skill in skills if skill != mode)
        yield FirstEvidence(mode, one.id, below, mean, -runs if is_gone else runs, is_gone)
