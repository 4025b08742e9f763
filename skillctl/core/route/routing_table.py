"""A handbook compiled to arrays: what routing looks up, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from skillctl.model.handbook import Agent, Competence, Handbook, ModeId, Skill

INTERVAL = 0.9  # central mass of the reported interval
# An agent without evidence counts as the mean of the mode's agents with the weight of the uniform prior.
PRIOR_WEIGHT = 2.0
_TOKENS_PER_PRICE = 1e6


class AgentFacts(NamedTuple):
    """What gates and decisions need to know of an agent, besides its numbers."""

    id: str
    model: str | None
    tools: tuple[str, ...]
    modalities: tuple[str, ...] | None
    context_tokens: int | None


class OrchestratorNumbers(NamedTuple):
    """The handbook's `OrchestratorSettings`, without the import of the whole model (10 ms) when the cache is warm."""

    temperature: float | None
    top_k: int | None
    min_similarity: float | None


@dataclass(frozen=True, slots=True)
class ModeTable:
    """One mode: rows are the mode itself (0) and its skills in order of id, columns are all agents in order of id.

    Attributes:
        mode: Id of the mode.
        skills: Ids of the rows; the first is the mode's own.
        works: Which agents have the mode, shape (agents,).
        alpha: Of the Beta posterior; a skill without an entry has its parent's, shape (rows, agents).
        beta: As above.
        low: 5 % quantile of the posterior.
        high: 95 % quantile of the posterior.
        evidence: Successes and failures that the posterior rests on, without the prior.
        cost: Expected cost of a run in US dollars, NaN is unknown, shape (agents,).
        index_key: Cache key of the skill index.
    """

    mode: str
    skills: tuple[str, ...]
    works: NDArray[np.bool_]
    alpha: NDArray[np.float64]
    beta: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    evidence: NDArray[np.float64]
    cost: NDArray[np.float64]
    index_key: str

    @property
    def mean(self) -> NDArray[np.float64]:
        """Return the posterior means, shape (rows, agents)."""
        return self.alpha / (self.alpha + self.beta)


@dataclass(frozen=True, slots=True)
class RoutingTable:
    """A whole handbook for routing.

    Attributes:
        default_mode: Mode of a query that names none, or ``None`` when the handbook has no mode.
        cost_weight: The default λ.
        orchestrator: Global numbers of the embedded orchestrator.
        agents: In order of id: the columns of every mode's arrays.
        modes: By id.
    """

    default_mode: str | None
    cost_weight: float
    orchestrator: OrchestratorNumbers
    agents: tuple[AgentFacts, ...]
    modes: Mapping[str, ModeTable]


def compile_table(handbook: Handbook, index_keys: Mapping[str, str]) -> RoutingTable:
    """Compile a valid handbook.

    Args:
        handbook: The handbook.
        index_keys: Cache key of the skill index of each mode.
    """
    agents = sorted(handbook.agents.values(), key=lambda agent: agent.id)
    numbers = handbook.settings.orchestrator
    return RoutingTable(
        default_mode=handbook.default_mode() if handbook.modes else None,
        cost_weight=handbook.settings.cost_weight,
        orchestrator=OrchestratorNumbers(numbers.temperature, numbers.top_k, numbers.min_similarity),
        agents=tuple(
            AgentFacts(a.id, a.model, a.tools, a.capabilities.modalities, a.capabilities.context_tokens) for a in agents
        ),
        modes={
            mode: _compile_mode(mode, handbook.skills.get(mode, ()), agents, index_keys.get(mode, ""))
            for mode in handbook.modes
        },
    )


def expect_cost(agent: Agent, mode: ModeId) -> float | None:
    """Return the expected cost of a run in US dollars, ``None`` where neither runs nor prices say it.

    That is the mean of the runs with a known cost, else the agent's price times its mean tokens.
    """
    profile = agent.profiles.get(mode)
    if profile is None:
        return None
    stats, price = profile.cost, agent.price
    if stats.mean_usd is not None or price is None:
        return stats.mean_usd
    parts = (
        (stats.prompt_tokens, price.prompt_usd_per_mtok),
        (stats.completion_tokens, price.completion_usd_per_mtok),
    )
    costs = [_price_tokens(tokens, usd) for tokens, usd in parts]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def _price_tokens(tokens: float | None, usd_per_mtok: float | None) -> float | None:
    if usd_per_mtok == 0:
        return 0.0  # free, however many tokens it takes
    return None if tokens is None or usd_per_mtok is None else tokens * usd_per_mtok / _TOKENS_PER_PRICE


def _compile_mode(mode: ModeId, skills: Sequence[Skill], agents: Sequence[Agent], index_key: str) -> ModeTable:
    from scipy.special import betaincinv

    parents = _find_parents(skills)
    shape = (len(skills) + 1, len(agents))
    alpha, beta, evidence = np.empty(shape), np.empty(shape), np.zeros(shape)
    prior = _find_prior(mode, agents)
    for column, agent in enumerate(agents):
        profile = agent.profiles.get(mode)
        competence = profile.competence if profile else {}
        filled = _fill_column([mode, *(skill.id for skill in skills)], parents, competence, prior)
        alpha[:, column], beta[:, column], evidence[:, column] = zip(*filled, strict=True)
    tail = (1 - INTERVAL) / 2
    return ModeTable(
        mode=mode,
        skills=(mode, *(skill.id for skill in skills)),
        works=np.array([mode in agent.modes or mode in agent.profiles for agent in agents], bool),
        alpha=alpha,
        beta=beta,
        low=np.asarray(betaincinv(alpha, beta, tail), np.float64),
        high=np.asarray(betaincinv(alpha, beta, 1 - tail), np.float64),
        evidence=evidence,
        cost=np.array([expect_cost(agent, mode) for agent in agents], float),  # None becomes NaN
        index_key=index_key,
    )


def _find_parents(skills: Sequence[Skill]) -> list[tuple[int, int]]:
    """Return (row, row of the parent) with every parent before its children."""
    row = {skill.id: place + 1 for place, skill in enumerate(skills)}
    parent = {row[skill.id]: row[skill.parent] if skill.parent else 0 for skill in skills}
    depth = {0: 0}

    def measure(place: int) -> int:
        path = []
        while place not in depth:
            path.append(place)
            place = parent[place]
        for step in reversed(path):
            depth[step] = depth[parent[step]] + 1
        return depth[path[0]] if path else depth[place]

    return sorted(parent.items(), key=lambda item: (measure(item[0]), item[0]))


def _find_prior(mode: ModeId, agents: Sequence[Agent]) -> tuple[float, float, float]:
    roots = [agent.profiles[mode].competence.get(mode) for agent in agents if mode in agent.profiles]
    means = [root.alpha / (root.alpha + root.beta) for root in roots if root]
    mean = sum(means) / len(means) if means else 0.5
    return PRIOR_WEIGHT * mean, PRIOR_WEIGHT * (1 - mean), 0.0


def _fill_column(
    ids: Sequence[str],
    parents: Sequence[tuple[int, int]],
    competence: Mapping[str, Competence],
    prior: tuple[float, float, float],
) -> list[tuple[float, float, float]]:
    column = [prior] * len(ids)
    for row, parent in [(0, 0), *parents]:
        entry = competence.get(ids[row])
        column[row] = (entry.alpha, entry.beta, entry.successes + entry.failures) if entry else column[parent]
    return column
