"""What a handbook believes of its agents, ready to be shown: means, intervals and evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillctl.model.handbook import Agent, Competence, Handbook, Mode, Playbook, Skill


class Belief(NamedTuple):
    """One agent's ability in one skill.

    Attributes:
        mode: Id of the mode.
        skill: Id of the skill; the mode's own id is all of the mode.
        agent: Id of the agent.
        mean: Of the posterior.
        low: Lower end of the 90 % interval.
        high: Upper end.
        evidence: Fractional count of outcomes, without the prior.
    """

    mode: str
    skill: str
    agent: str
    mean: float
    low: float
    high: float
    evidence: float


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a handbook to look at; ``None`` is all."""

    mode: str | None = None
    skill: str | None = None
    agent: str | None = None

    def has_mode(self, mode: str) -> bool:
        """Tell whether a mode is in scope."""
        return self.mode in {None, mode}

    def has_skill(self, skill: str) -> bool:
        """Tell whether a skill is in scope."""
        return self.skill in {None, skill}

    def agents_of(self, handbook: Handbook) -> list[Agent]:
        """Return the agents in scope."""
        return [agent for agent in handbook.agents.values() if self.agent in {None, agent.id}]


def find_playbooks(handbook: Handbook, scope: Scope) -> list[Playbook]:
    """Return the playbooks that the mode, skill and agent in scope name, all of them where everything is in scope."""
    if scope == Scope():
        return list(handbook.playbooks.values())
    parts: list[Mode | Skill | Agent] = [
        *(mode for mode in handbook.modes.values() if scope.mode == mode.id),
        *(skill for skills in handbook.skills.values() for skill in skills if scope.skill == skill.id),
        *(agent for agent in handbook.agents.values() if scope.agent == agent.id),
    ]
    named = {part.playbook for part in parts}
    return [playbook for playbook in handbook.playbooks.values() if playbook.id in named]


def list_beliefs(handbook: Handbook, scope: Scope) -> list[Belief]:
    """Return the competences in scope by mode, skill and agent, the whole mode first."""
    entries = [
        (mode, skill, agent.id, profile.competence[skill])
        for agent in scope.agents_of(handbook)
        for mode, profile in agent.profiles.items()
        if scope.has_mode(mode)
        for skill in profile.competence
        if scope.has_skill(skill)
    ]
    entries.sort(key=lambda entry: (entry[0], entry[1] != entry[0], entry[1], entry[2]))
    return _with_intervals(entries)


def _with_intervals(entries: Sequence[tuple[str, str, str, Competence]]) -> list[Belief]:
    if not entries:
        return []
    import numpy as np

    from skillctl.core.profile.beliefs import interval, mean

    alpha = np.array([competence.alpha for *_, competence in entries])
    beta = np.array([competence.beta for *_, competence in entries])
    low, high = interval(alpha, beta)
    rows = zip(entries, mean(alpha, beta).tolist(), low.tolist(), high.tolist(), strict=True)
    return [
        Belief(mode, skill, agent, middle, lower, upper, competence.successes + competence.failures)
        for (mode, skill, agent, competence), middle, lower, upper in rows
    ]
