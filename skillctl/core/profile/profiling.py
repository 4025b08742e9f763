"""Agent profiles from evidence: posteriors in every skill, and what a run costs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.profile.beliefs import Posterior
from skillctl.core.profile.evidence import MEANS
from skillctl.core.profile.newcomers import find_newcomers, learn_prior, prior_mean_for, update_prior
from skillctl.core.profile.skill_credit import UNITS
from skillctl.core.profile.skill_tree import SkillTree, fit_kappa, tree_posteriors
from skillctl.model.handbook import Agent, Competence, CostStats, Profile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skillctl.core.profile.evidence import Evidence
    from skillctl.core.profile.pair_layout import ModeLayout
    from skillctl.core.profile.run_moments import RunMoments
    from skillctl.model.handbook import AgentId, Handbook, ModeId

COUNT_DIGITS = 4
COST_DIGITS = 6  # significant
_LEAST_PRIOR = 10.0**-COUNT_DIGITS  # a parameter stays above its count after rounding


def build_profiles(handbook: Handbook, evidence: Evidence) -> Handbook:
    """Return the handbook with the profiles that follow from the evidence; hand-written words stay.

    A skill has an entry where some agent has evidence in it; without one it reads as its parent.
    """
    profiles: dict[AgentId, dict[ModeId, Profile]] = {
        agent: dict(handbook.agents[agent].profiles) for agent in handbook.agents
    }
    for mode in evidence.layout.modes:
        for agent, competence in _build_competences(mode, evidence, handbook.settings.prior_strength).items():
            pair = mode.first_pair + mode.agents.index(agent)
            old = profiles[agent].pop(mode.mode, Profile())
            runs = int(evidence.runs[pair])
            new = replace(old, runs=runs, competence=competence, cost=_build_cost(evidence.moments, pair, runs))
            if not runs and not old.runs:
                # What a new agent inherited stays until it has outcomes of its own.
                cost = old.cost if new.cost == CostStats() else new.cost
                new = replace(new, competence=_keep_priors(old, mode), cost=cost)
            if new != Profile():
                profiles[agent][mode.mode] = new
    agents = {agent: _with_profiles(handbook.agents[agent], profiles[agent]) for agent in handbook.agents}
    return replace(handbook, agents=agents)


def _with_profiles(agent: Agent, profiles: dict[ModeId, Profile]) -> Agent:
    return replace(agent, profiles={mode: profiles[mode] for mode in sorted(profiles)})


def _build_competences(
    mode: ModeLayout, evidence: Evidence, strength: float | None
) -> dict[AgentId, dict[str, Competence]]:
    shape = (len(mode.agents), len(mode.keys))
    wins = evidence.successes[mode.cells].reshape(shape) / UNITS
    losses = evidence.failures[mode.cells].reshape(shape) / UNITS
    tried = np.flatnonzero(evidence.runs[mode.first_pair : mode.first_pair + len(mode.agents)])
    competences: dict[AgentId, dict[str, Competence]] = {agent: {} for agent in mode.agents}
    if len(tried):
        wins, losses = wins[tried], losses[tried]
        kappa = strength if strength is not None else fit_kappa(mode.tree, wins, losses)
        alpha, beta = tree_posteriors(mode.tree, wins, losses, kappa)
        runs = evidence.runs[mode.first_pair : mode.first_pair + len(mode.agents)][tried]
        _inform_newcomers(mode.tree, Posterior(alpha, beta), Counts(wins, losses), runs, kappa)
        known = [0, *(1 + np.flatnonzero((wins + losses)[:, 1:].sum(axis=0))).tolist()]
        order = [mode.keys[skill] for skill in known]
        table = np.stack([alpha, beta, wins, losses], axis=-1)[:, known]
        for row, number in enumerate(tried.tolist()):
            competences[mode.agents[number]] = dict(zip(order, map(_round, table[row].tolist()), strict=True))
    return competences


class Counts(NamedTuple):
    """Evidence of agents in skills, each of shape (agents, skills)."""

    wins: NDArray[np.float64]
    losses: NDArray[np.float64]


def _inform_newcomers(
    tree: SkillTree, posterior: Posterior, counts: Counts, runs: NDArray[np.int64], kappa: float
) -> None:
    """Let the few outcomes of a newcomer speak for all its skills, as far as abilities go together; in place.

    Evidence is taken from the leaves of the tree: that of a coarser skill is the same outcomes again.
    """
    young = find_newcomers(runs)
    leaves = np.array(sorted(set(range(1, len(tree.parents))) - set(tree.parents)), dtype=np.int64)
    if not young.any() or len(leaves) < 2:  # noqa: PLR2004 - abilities that go together are at least two
        return
    alpha, beta = posterior
    prior = learn_prior((alpha / (alpha + beta))[~young][:, leaves])
    for agent in np.flatnonzero(young).tolist():
        s, f = counts.wins[agent, leaves], counts.losses[agent, leaves]
        mu = prior_mean_for(update_prior(prior, s, f).success(), kappa, s, f)
        alpha[agent, leaves], beta[agent, leaves] = kappa * mu + s, kappa * (1.0 - mu) + f


def _keep_priors(profile: Profile, mode: ModeLayout) -> dict[str, Competence]:
    return {key: entry for key, entry in profile.competence.items() if key in mode.keys}


def _round(numbers: list[float]) -> Competence:
    alpha, beta, wins, losses = (round(number, COUNT_DIGITS) for number in numbers)
    return Competence(
        max(alpha, round(wins + _LEAST_PRIOR, COUNT_DIGITS)),
        max(beta, round(losses + _LEAST_PRIOR, COUNT_DIGITS)),
        wins,
        losses,
    )


def _build_cost(moments: RunMoments, pair: int, runs: int) -> CostStats:
    count, mean, squares = moments.count[pair], moments.mean[pair], moments.squares[pair]
    fields: dict[str, float | int] = {}
    if count[0]:
        spread = np.sqrt(squares[0] / (count[0] - 1)) if count[0] > 1 else 0.0
        fields |= {"mean_usd": _shorten(mean[0]), "sd_usd": _shorten(spread), "runs": int(count[0])}
    for metric, mean_field, runs_field in MEANS:
        if count[metric]:
            fields[mean_field] = _shorten(mean[metric])
            if count[metric] != runs:
                fields[runs_field] = int(count[metric])
    return CostStats(**fields)  # type: ignore[arg-type]


def _shorten(number: float | np.float64) -> float:
    return float(f"{number:.{COST_DIGITS}g}")
