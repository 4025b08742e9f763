"""Agent profiles from evidence: posteriors in every skill, and what a run costs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.evidence import MEANS
from skillctl.core.skill_credit import UNITS
from skillctl.core.skill_tree import fit_kappa, tree_posteriors
from skillctl.model.handbook import Agent, Competence, CostStats, Profile

if TYPE_CHECKING:
    from skillctl.core.evidence import Evidence
    from skillctl.core.pair_layout import ModeLayout
    from skillctl.core.run_moments import RunMoments
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
        for agent, competence in _build_competences(mode, evidence).items():
            pair = mode.first_pair + mode.agents.index(agent)
            old = profiles[agent].pop(mode.mode, Profile())
            runs = int(evidence.runs[pair])
            new = replace(old, runs=runs, competence=competence, cost=_build_cost(evidence.moments, pair, runs))
            if new != Profile():
                profiles[agent][mode.mode] = new
    agents = {agent: _with_profiles(handbook.agents[agent], profiles[agent]) for agent in handbook.agents}
    return replace(handbook, agents=agents)


def _with_profiles(agent: Agent, profiles: dict[ModeId, Profile]) -> Agent:
    return replace(agent, profiles={mode: profiles[mode] for mode in sorted(profiles)})


def _build_competences(mode: ModeLayout, evidence: Evidence) -> dict[AgentId, dict[str, Competence]]:
    shape = (len(mode.agents), len(mode.keys))
    wins = evidence.successes[mode.cells].reshape(shape) / UNITS
    losses = evidence.failures[mode.cells].reshape(shape) / UNITS
    tried = np.flatnonzero(evidence.runs[mode.first_pair : mode.first_pair + len(mode.agents)])
    competences: dict[AgentId, dict[str, Competence]] = {agent: {} for agent in mode.agents}
    if len(tried):
        wins, losses = wins[tried], losses[tried]
        kappa = fit_kappa(mode.tree, wins, losses)
        alpha, beta = tree_posteriors(mode.tree, wins, losses, kappa)
        known = [0, *(1 + np.flatnonzero((wins + losses)[:, 1:].sum(axis=0))).tolist()]
        order = [mode.keys[skill] for skill in known]
        table = np.stack([alpha, beta, wins, losses], axis=-1)[:, known]
        for row, number in enumerate(tried.tolist()):
            competences[mode.agents[number]] = dict(zip(order, map(_round, table[row].tolist()), strict=True))
    return competences


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
