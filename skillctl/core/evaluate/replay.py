"""Logged outcomes beside what a handbook expects: everything that policies are replayed on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skillctl.core.route.batch_routing import gate_costs
from skillctl.core.route.gates import ALLOW, OPEN, find_gates
from skillctl.core.route.routing import Batch, Policy, choose_agents, find_interval, spread
from skillctl.model.query import Query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from skillctl.core.orchestrate.orchestration import SkillWeights
    from skillctl.core.outcomes import Outcomes
    from skillctl.core.route.routing_table import AgentFacts, ModeTable

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Board:
    """q queries of all modes and the n agents of the handbook; arrays have a row for each query.

    Attributes:
        agents: Columns, in order of id.
        modes: Mode of each query.
        query_ids: Id of each query.
        texts: Text of each query.
        tasks: Label of each query, or ``None``.
        skills: Heaviest skill of each query.
        success: Logged success, NaN without a verdict, shape (q, n).
        cost: Logged cost; of a run whose cost was not logged the agent's mean; NaN where none is known, shape (q, n).
        is_open: Agents whose gates are open and that were logged at all in the mode, shape (q, n).
        value: What the policy compares before costs, shape (q, n).
        expected: Expected success, shape (q, n).
        low: 5 % quantile of the expected success.
        high: 95 % quantile of it.
        expected_cost: Expected cost, NaN is unknown, shape (q, n).
        root: Posterior mean of each agent in the whole mode, shape (q, n).
        raw: Success by the raw rates of skills, shape (q, n).
        chosen: Column of the agent that the policy takes among those with a verdict, -1 for none, shape (q,).
        wanted: Column that it takes among all open agents, shape (q,).
    """

    agents: tuple[str, ...]
    modes: NDArray[np.str_]
    query_ids: tuple[str | int, ...]
    texts: tuple[str, ...]
    tasks: tuple[str | None, ...]
    skills: NDArray[np.str_]
    success: Floats
    cost: Floats
    is_open: NDArray[np.bool_]
    value: Floats
    expected: Floats
    low: Floats
    high: Floats
    expected_cost: Floats
    root: Floats
    raw: Floats
    chosen: NDArray[np.int64]
    wanted: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.texts)

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Which agents can be replayed: open, and with a verdict, shape (q, n)."""
        return self.is_open & ~np.isnan(self.success)

    def take(self, rows: NDArray[np.int64]) -> Board:
        """Return some of the queries."""
        parts: dict[str, Any] = {}
        for field in fields(self):
            column = getattr(self, field.name)
            if field.name == "agents":
                continue
            parts[field.name] = tuple(column[row] for row in rows) if isinstance(column, tuple) else column[rows]
        return replace(self, **parts)


@dataclass(frozen=True, slots=True)
class ModeLog:
    """The logged outcomes of one mode, and the skills that its queries need.

    Attributes:
        table: The mode of the handbook.
        outcomes: Of the traces.
        weights: Of each query of the outcomes.
        rates: Raw success rate of each skill and agent, 0 where never tried, shape (rows, agents).
    """

    table: ModeTable
    outcomes: Outcomes
    weights: SkillWeights
    rates: Floats


class Play(NamedTuple):
    """How to choose on the board."""

    cost_weight: float
    policy: Policy = "greedy"
    seed: int = 0


def build_board(logs: Sequence[ModeLog], agents: Sequence[AgentFacts], play: Play) -> Board:
    """Return the board of all modes; queries without any verdict of an open agent are left out."""
    parts = [_build_part(log, agents, play) for log in logs]
    board = parts[0] if len(parts) == 1 else _join(parts)
    return board.take(np.flatnonzero(board.is_known.any(axis=1)))


def align_outcomes(outcomes: Outcomes, agents: Sequence[str]) -> Outcomes:
    """Return the outcomes with exactly these agents as columns, in order; the others are dropped."""
    place = {agent: column for column, agent in enumerate(outcomes.agents)}
    columns = np.array([place.get(agent, len(place)) for agent in agents], np.int64)

    def pick(cells: Floats, missing: float) -> Floats:
        return np.pad(cells, ((0, 0), (0, 1)), constant_values=missing)[:, columns]

    return outcomes._replace(
        agents=tuple(agents),
        success=pick(outcomes.success, np.nan),
        trials=pick(outcomes.trials, 0.0),
        cost_usd=pick(outcomes.cost_usd, np.nan),
    )


def fill_costs(cost: Floats) -> Floats:
    """Return the costs with each agent's mean known cost where a run's is unknown."""
    known = ~np.isnan(cost)
    count = known.sum(axis=0)
    mean = np.divide(np.where(known, cost, 0.0).sum(axis=0), count, out=np.full(cost.shape[1], np.nan), where=count > 0)
    return np.where(known, cost, mean)


def _build_part(log: ModeLog, agents: Sequence[AgentFacts], play: Play) -> Board:
    table, outcomes = log.table, align_outcomes(log.outcomes, [agent.id for agent in agents])
    count = len(outcomes.texts)
    gates = find_gates([Query(None, 0, text) for text in outcomes.texts], agents, table)
    gates[:, np.isnan(outcomes.success).all(axis=0)] = ALLOW  # nothing can be said of agents that were never logged
    batch = Batch(log.weights, gates, np.full(count, play.cost_weight))
    gate_costs(batch, table, is_strict=False)
    open_batch = Batch(log.weights, gates.copy(), batch.cost_weight)
    gates[(gates == OPEN) & np.isnan(outcomes.success)] = ALLOW
    wanted = choose_agents(table, open_batch, policy=play.policy, rng=_draws(play))
    choice = choose_agents(table, batch, policy=play.policy, rng=_draws(play))
    low, high = find_interval(table, log.weights)
    cost_weight = np.where(wanted.unpriced, 0.0, batch.cost_weight)
    return Board(
        agents=outcomes.agents,
        modes=np.full(count, table.mode),
        query_ids=outcomes.query_ids,
        texts=outcomes.texts,
        tasks=outcomes.tasks,
        skills=np.array(table.skills)[find_heaviest(log.weights)],
        success=outcomes.success,
        cost=fill_costs(outcomes.cost_usd),
        is_open=open_batch.gates == OPEN,
        value=wanted.score + cost_weight[:, None] * np.nan_to_num(table.cost),
        expected=wanted.success,
        low=low,
        high=high,
        expected_cost=np.tile(table.cost, (count, 1)),
        root=np.tile(table.mean[0], (count, 1)),
        raw=spread(log.weights, log.rates),
        chosen=choice.ranked[:, 0],
        wanted=wanted.ranked[:, 0],
    )


def _draws(play: Play) -> np.random.Generator | None:
    return np.random.default_rng([play.seed, 0]) if play.policy == "thompson" else None


def find_heaviest(weights: SkillWeights) -> NDArray[np.int64]:
    """Return the row of each state's heaviest skill, the first of equals."""
    rows = np.repeat(np.arange(len(weights.indptr) - 1), np.diff(weights.indptr))
    order = np.lexsort((weights.skills, -weights.weights, rows))
    heaviest: NDArray[np.int64] = weights.skills[order[weights.indptr[:-1]]].astype(np.int64)
    return heaviest


def _join(parts: Sequence[Board]) -> Board:
    columns: dict[str, Any] = {"agents": parts[0].agents}
    for field in fields(Board):
        if field.name == "agents":
            continue
        pieces = [getattr(part, field.name) for part in parts]
        columns[field.name] = (
            tuple(item for piece in pieces for item in piece)
            if isinstance(pieces[0], tuple)
            else np.concatenate(pieces)
        )
    return Board(**columns)


@dataclass(frozen=True, slots=True)
class LogCounts:
    """What the traces hold besides what is replayed.

    Attributes:
        traces: Lines with a trace.
        duplicates: Traces that occur again.
        no_verdict: Traces without a verdict, which are left out.
        unknown_agents: Traces of agents that the handbook does not have in that mode, by agent.
        unknown_modes: Traces of modes that the handbook does not have, by mode.
        absent_agents: Agents of the handbook that no trace tells of.
    """

    traces: int
    duplicates: int
    no_verdict: int
    unknown_agents: Mapping[str, int]
    unknown_modes: Mapping[str, int]
    absent_agents: tuple[str, ...]


def count_log(traces: Sequence[Any], duplicates: int, works: Mapping[str, frozenset[str]], default: str) -> LogCounts:
    """Count traces by what can be made of them.

    Args:
        traces: Without duplicates.
        duplicates: How many there were.
        works: The agents of each mode.
        default: The mode of traces that name none.
    """
    agents: Counter[str] = Counter()
    modes: Counter[str] = Counter()
    seen: set[str] = set()
    silent = 0
    for trace in traces:
        mode = trace.mode or default
        if mode not in works:
            modes[mode] += 1
        elif trace.agent not in works[mode]:
            agents[trace.agent] += 1
        else:
            seen.add(trace.agent)
            silent += trace.success is None
    everyone = frozenset().union(*works.values())
    return LogCounts(
        len(traces) + duplicates,
        duplicates,
        silent,
        dict(sorted(agents.items())),
        dict(sorted(modes.items())),
        tuple(sorted(everyone - seen)),
    )
