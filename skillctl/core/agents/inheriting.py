"""What a new agent is expected to do before anybody has seen it: as its relatives do, skill by skill."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.profile.newcomers import SkillPrior, learn_prior
from skillctl.core.profile.skill_tree import DEFAULT_KAPPA
from skillctl.core.route.routing_table import PRIOR_WEIGHT, compile_table
from skillctl.model.handbook import Agent, AgentId, Competence, CostStats, Handbook, ModeId, Profile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

# How much an agent counts for what is expected of a new one.
NAMED, SAME_MODEL, SAME_FAMILY, OTHER = 20.0, 10.0, 3.0, 1.0
_DIGITS = 4
_FAMILY_ENDS = "-_:.0123456789"


def find_relatives(handbook: Handbook, agent: Agent, mode: ModeId, like: Sequence[str] = ()) -> dict[AgentId, float]:
    """Return the agents with evidence in a mode, and how much each counts for a new agent.

    Most counts who is named, then who has the same model (with other tools or another playbook), then who has a model
    of the same family: the same name up to its first number or dash.
    """
    known = [one for one in handbook.agents.values() if one.id != agent.id and _has_evidence(one, mode)]
    return {one.id: _weigh(one, agent, like) for one in known}


def inherit_profiles(handbook: Handbook, agent: Agent, like: Sequence[str] = ()) -> Agent:
    """Return a new agent with priors in every mode in which other agents have evidence.

    The prior mean of a skill is that of the agents' logits, each counting by its relation; its weight is that of the
    prior of any skill, and no evidence. Tokens, and with its own price the cost, are expected as theirs are.
    """
    profiles = dict(agent.profiles)
    for mode in agent.modes:
        relatives = find_relatives(handbook, agent, mode, like)
        if relatives and mode not in profiles and mode in handbook.modes:
            profiles[mode] = _build_profile(handbook, mode, relatives)
    return replace(agent, profiles={mode: profiles[mode] for mode in sorted(profiles)})


def expect_skills(handbook: Handbook, mode: ModeId, relatives: dict[AgentId, float]) -> SkillPrior:
    """Return what is expected of a new agent in the mode itself (0) and in its skills."""
    means = tabulate_means(handbook, mode)
    return learn_prior(np.stack([means[name] for name in relatives]), list(relatives.values()))


def tabulate_means(handbook: Handbook, mode: ModeId) -> dict[AgentId, NDArray[np.float64]]:
    """Return each agent's posterior means in the mode itself (0) and in its skills in order of id."""
    table = compile_table(handbook, {}).modes[mode]
    names = sorted(handbook.agents)
    return {name: table.mean[:, column] for column, name in enumerate(names)}


def _has_evidence(agent: Agent, mode: ModeId) -> bool:
    return mode in agent.profiles and agent.profiles[mode].runs > 0


def _weigh(known: Agent, agent: Agent, like: Sequence[str]) -> float:
    if known.id in like:
        return NAMED
    if agent.model is None or known.model is None:
        return OTHER
    if known.model == agent.model:
        return SAME_MODEL
    return SAME_FAMILY if _family(known.model) == _family(agent.model) else OTHER


def _family(model: str) -> str:
    name = model.rpartition("/")[2].lower()
    end = next((place for place, letter in enumerate(name) if letter in _FAMILY_ENDS), len(name))
    return name[:end]


def _build_profile(handbook: Handbook, mode: ModeId, relatives: dict[AgentId, float]) -> Profile:
    success = expect_skills(handbook, mode, relatives).success()
    keys = [str(mode), *(str(skill.id) for skill in handbook.skills.get(mode, ()))]
    weights = [PRIOR_WEIGHT, *[DEFAULT_KAPPA] * (len(keys) - 1)]
    competence = {
        key: Competence(round(kappa * mu, _DIGITS), round(kappa * (1.0 - mu), _DIGITS), 0.0, 0.0)
        for key, kappa, mu in zip(keys, weights, success.tolist(), strict=True)
    }
    costs = {handbook.agents[name].profiles[mode].cost: weight for name, weight in relatives.items()}
    return Profile(
        competence=competence,
        cost=CostStats(
            prompt_tokens=_average(costs, lambda cost: cost.prompt_tokens),
            completion_tokens=_average(costs, lambda cost: cost.completion_tokens),
        ),
    )


def _average(costs: dict[CostStats, float], read: Callable[[CostStats], float | None]) -> float | None:
    known = [(value, weight) for cost, weight in costs.items() if (value := read(cost)) is not None]
    if not known:
        return None
    total = sum(value * weight for value, weight in known) / sum(weight for _, weight in known)
    return float(f"{total:.6g}")
