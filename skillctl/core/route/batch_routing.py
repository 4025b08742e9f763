"""Routes a block of queries: groups them by mode, weighs skills, applies gates and chooses."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.orchestrate.skill_weights import join_weights, round_weights
from skillctl.core.route.gates import OPEN, REASONS, find_gates, gate_unknown_costs
from skillctl.core.route.routing import Batch, Choice, Policy, choose_agents, count_failures

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from skillctl.core.orchestrate.orchestration import Orchestrator, SkillWeights
    from skillctl.core.route.routing_table import AgentFacts, ModeTable, RoutingTable
    from skillctl.model.query import Query


@dataclass(frozen=True, slots=True)
class RouteOptions:
    """What holds for a whole run.

    Attributes:
        mode: Of queries that name none, instead of the handbook's default.
        cost_weight: λ of queries that name none, instead of the handbook's.
        budget_weight: λ that a budget leads to; it goes before every other one, and unpriced agents are out.
        policy: How to choose.
        seed: Of the policy ``thompson``.
    """

    mode: str | None = None
    cost_weight: float | None = None
    budget_weight: float | None = None
    policy: Policy = "greedy"
    seed: int = 0


class RowError(NamedTuple):
    """Why a line cannot be routed."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Routed:
    """The queries of one mode in a block, and what was chosen for them.

    Attributes:
        table: The mode.
        agents: Columns of all arrays.
        places: The place of each query in the block.
        queries: In that order.
        batch: What the choice was made from.
        choice: What was chosen; a query without an agent has -1 as its first.
        unknown_skills: For each query, the ids of its own skills that the handbook does not have.
    """

    table: ModeTable
    agents: tuple[AgentFacts, ...]
    places: list[int]
    queries: list[Query]
    batch: Batch
    choice: Choice
    unknown_skills: list[tuple[str, ...]]


class RoutedBlock(NamedTuple):
    """Everything that a block of queries came to."""

    groups: list[Routed]
    errors: dict[int, RowError]


class Router:
    """Routes blocks of queries over one handbook.

    Args:
        table: The compiled handbook.
        open_orchestrator: Opens the orchestrator of a mode, when its first query without own weights comes.
        options: Of the run.
    """

    def __init__(
        self, table: RoutingTable, open_orchestrator: Callable[[str], Orchestrator], options: RouteOptions
    ) -> None:
        self.table = table
        self._open_orchestrator = open_orchestrator
        self._orchestrators: dict[str, Orchestrator] = {}
        self._options = options

    def route(self, queries: Sequence[Query], block: int = 0) -> RoutedBlock:
        """Route a block of queries; errors are keyed by the query's place in the block.

        The block's number fixes, together with the seed, the draws of ``thompson``.
        """
        default = self._options.mode or self.table.default_mode
        by_mode = _find_places([query.mode or default for query in queries])
        has_skills = [query.skills is not None for query in queries]
        errors: dict[int, RowError] = {}
        for mode in by_mode.keys() - self.table.modes.keys():
            errors |= dict.fromkeys(by_mode.pop(mode), _unknown_mode(mode, self.table))
        groups = []
        for mode in sorted(filter(None, by_mode)):
            places = sorted(by_mode[mode], key=has_skills.__getitem__)
            group = self._route_group(self.table.modes[mode], places, [queries[place] for place in places], block)
            errors |= _find_unroutable(group)
            groups.append(group)
        return RoutedBlock(groups, errors)

    def _route_group(self, table: ModeTable, places: list[int], queries: list[Query], block: int) -> Routed:
        agents, options = self.table.agents, self._options
        plain = [query.text for query in queries if query.skills is None]
        skills = [query.skills for query in queries if query.skills is not None]
        given, unknown = weigh_given(skills, table)
        batch = Batch(
            weights=join_weights([*([self._weigh(table.mode, plain)] if plain else []), given]),
            gates=find_gates(queries, agents, table),
            cost_weight=self._find_cost_weights(queries),
            failures=count_failures([query.failed for query in queries], [agent.id for agent in agents]),
        )
        gate_costs(batch, table, is_strict=options.budget_weight is not None)
        rng = np.random.default_rng([options.seed, block]) if options.policy == "thompson" else None
        choice = choose_agents(table, batch, policy=options.policy, rng=rng)
        return Routed(table, agents, places, queries, batch, choice, [()] * len(plain) + unknown)

    def _weigh(self, mode: str, texts: Sequence[str]) -> SkillWeights:
        if mode not in self._orchestrators:
            self._orchestrators[mode] = self._open_orchestrator(mode)
        return self._orchestrators[mode].weigh(texts)

    def _find_cost_weights(self, queries: Sequence[Query]) -> NDArray[np.float64]:
        if self._options.budget_weight is not None:
            return np.full(len(queries), self._options.budget_weight)
        own = self._options.cost_weight
        default = self.table.cost_weight if own is None else own
        return np.array([default if query.cost_weight is None else query.cost_weight for query in queries], float)


def _find_places(modes: Sequence[str | None]) -> dict[str | None, Sequence[int]]:
    if len(set(modes)) == 1:  # as nearly always; the loop below would take longer than all else here
        return {modes[0]: range(len(modes))}
    places: dict[str | None, list[int]] = defaultdict(list)
    for place, mode in enumerate(modes):
        places[mode].append(place)
    return {**places}


def _unknown_mode(mode: str | None, table: RoutingTable) -> RowError:
    if mode is None:
        return RowError("unknown_mode", "the handbook has no mode; add one under modes/")
    return RowError("unknown_mode", f"the handbook has no mode {mode!r}; it has {', '.join(sorted(table.modes))}")


def weigh_given(skills: Sequence[Mapping[str, float]], table: ModeTable) -> tuple[SkillWeights, list[tuple[str, ...]]]:
    """Return the callers' weights, normalised, and for each the skill ids that the mode does not have.

    A caller whose skills are all unknown gets the mode's root.
    """
    row = {skill: place for place, skill in enumerate(table.skills)}
    lengths = np.fromiter(map(len, skills), np.int64, len(skills))
    count = int(lengths.sum())
    numbers = np.fromiter(map(row.get, chain.from_iterable(skills), repeat(-1)), np.int32, count)
    values = np.fromiter(chain.from_iterable(weights.values() for weights in skills), float, count)
    rows = np.repeat(np.arange(len(skills)), lengths)
    unknown: list[tuple[str, ...]] = [()] * len(skills)
    for place in set(rows[numbers < 0].tolist()):
        unknown[place] = tuple(name for name in skills[place] if name not in row)
    values[numbers < 0] = 0.0
    largest = np.zeros(len(skills))
    np.maximum.at(largest, rows, values)
    kept = (numbers >= 0) & (largest[rows] > 0)
    shares = values[kept] / largest[rows[kept]]  # by the largest first, so that no sum overflows
    shares /= np.bincount(rows[kept], shares, len(skills))[rows[kept]]
    lost = np.flatnonzero(largest == 0)
    weights = round_weights(
        np.concatenate([rows[kept], lost]),
        np.concatenate([numbers[kept], np.zeros(len(lost), np.int32)]),
        np.concatenate([shares, np.ones(len(lost))]),
        len(skills),
    )
    return weights, unknown


def gate_costs(batch: Batch, table: ModeTable, *, is_strict: bool) -> None:
    """Gate unknown costs where cost matters and, unless the run has a budget, a known cost is left."""
    if is_strict:
        matters = np.ones(len(batch.gates), bool)
    else:
        priced = ((batch.gates == OPEN) & ~np.isnan(table.cost)).any(axis=1)
        matters = (batch.cost_weight > 0) & priced
    gate_unknown_costs(batch.gates, table.cost, matters)


def _find_unroutable(group: Routed) -> dict[int, RowError]:
    errors = {}
    for row in np.flatnonzero(group.choice.ranked[:, 0] < 0).tolist():
        counts = np.bincount(group.batch.gates[row], minlength=len(REASONS)).tolist()
        shut = [f"{count} by {reason}" for reason, count in zip(REASONS[1:], counts[1:], strict=True) if count]
        why = f"all are gated out: {', '.join(shut)}" if shut else "the handbook has no agents"
        errors[group.places[row]] = RowError("no_agent", f"no agent is left in mode {group.table.mode!r}: {why}")
    return errors
