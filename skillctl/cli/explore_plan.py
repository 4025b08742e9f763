"""``explore --plan``: which of the queries tell most about one agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.agents.inheriting import expect_skills, find_relatives, tabulate_means
from skillctl.core.agents.planning import plan_queries
from skillctl.core.profile.newcomers import SkillPrior, update_prior
from skillctl.errors import InputError
from skillctl.store.orchestrators import open_orchestrator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillctl.core.run.exploring import ExploreQuery
    from skillctl.model.handbook import Agent, Handbook, ModeId


def choose_queries(
    handbook: Handbook, agent: Agent, mode: ModeId, queries: Sequence[ExploreQuery], count: int
) -> list[ExploreQuery]:
    """Return the queries that tell most about an agent, the most telling first.

    Raises:
        InputError: If the mode has no skills, or nothing is known of any other agent in it.
    """
    skills = handbook.skills.get(mode, ())
    relatives = find_relatives(handbook, agent, mode)
    if not skills or not relatives:
        message = f"--plan needs skills in the mode {mode!r}, and another agent with evidence in it"
        raise InputError(message, hint="profile a trace log first, or leave --plan out")
    prior = expect_skills(handbook, mode, relatives)
    below = SkillPrior(prior.mean[1:], prior.covariance[1:, 1:])
    profile = agent.profiles.get(mode)
    known = [profile.competence.get(skill.id) if profile else None for skill in skills]
    below = update_prior(below, [c.successes if c else 0.0 for c in known], [c.failures if c else 0.0 for c in known])
    means = tabulate_means(handbook, mode)
    rival = np.max([means[name][1:] for name in relatives], axis=0)
    weights = open_orchestrator(handbook, mode).weigh([query.text for query in queries])
    return [queries[number] for number in plan_queries(weights, below, rival, count).tolist()]
