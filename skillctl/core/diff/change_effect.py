"""What a change of a handbook does to traffic: which decisions move, and what that is worth."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skillctl.core.evaluate.metrics import Interval, bootstrap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from skillctl.core.route.batch_routing import RoutedBlock, Router
    from skillctl.model.query import Query

    Floats = NDArray[np.float64]

EXAMPLES = 3  # of moved queries, for each flow


class RoutedQueries(NamedTuple):
    """Decisions for q queries under one handbook, over the agents of both handbooks.

    Attributes:
        chosen: Shape (q,), index into the agents, -1 where no agent could be chosen.
        success: Shape (q, agents), what the handbook expects; NaN where it says nothing of the agent.
        cost: Shape (q, agents), NaN is unknown.
    """

    chosen: NDArray[np.int64]
    success: Floats
    cost: Floats


class Flow(NamedTuple):
    """What moves from one agent to another; ``None`` is no agent.

    Attributes:
        source: Agent before.
        target: Agent after.
        queries: How many of them move.
        examples: Some of them, those of the largest expected gain first: id and text.
    """

    source: str | None
    target: str | None
    queries: int
    examples: tuple[tuple[Any, str], ...]


class Traffic(NamedTuple):
    """Where queries go under one handbook.

    Attributes:
        success: Mean expected success, judged by the newer handbook wherever it knows the agent.
        cost_usd: Mean expected cost likewise, ``None`` where that of some query is unknown.
        shares: Share of the queries by agent, the largest first.
        effective_agents: exp(H) of the shares: 1 is one agent for everything.
        unrouted: Queries without an agent.
    """

    success: float | None
    cost_usd: float | None
    shares: Mapping[str, float]
    effective_agents: float
    unrouted: int


class RealDifference(NamedTuple):
    """What logged outcomes say: success and cost of both choices on the queries where all of it was logged.

    Attributes:
        queries: How many queries these are.
        before: Mean success of the old choices.
        after: Mean success of the new choices.
        difference: Of the two, with a 95 % paired bootstrap interval.
        cost_queries: Queries where both costs were logged.
        cost_difference: New minus old mean cost in US dollars on these, ``None`` without any.
    """

    queries: int
    before: float
    after: float
    difference: Interval
    cost_queries: int
    cost_difference: Interval | None


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change does to the given queries.

    Attributes:
        queries: How many there are.
        moved: How many of them go to another agent.
        flows: From whom to whom, the largest first.
        before: Traffic under the old handbook.
        after: Traffic under the new one.
        real: By logged outcomes, where there are any.
    """

    queries: int
    moved: int
    flows: tuple[Flow, ...]
    before: Traffic
    after: Traffic
    real: RealDifference | None


def route_queries(router: Router, queries: Sequence[Query], agents: Sequence[str]) -> RoutedQueries:
    """Route queries, with the numbers of all agents of both handbooks."""
    block: RoutedBlock = router.route(queries)
    column = {agent: place for place, agent in enumerate(agents)}
    shape = (len(queries), len(agents))
    routed = RoutedQueries(np.full(len(queries), -1), np.full(shape, np.nan), np.full(shape, np.nan))
    for group in block.groups:
        places = np.array(group.places)
        columns = np.array([column[agent.id] for agent in group.agents], np.int64)
        first = group.choice.ranked[:, 0]
        routed.chosen[places] = np.where(first >= 0, columns[first], -1) if len(columns) else -1
        works = group.table.works
        routed.success[np.ix_(places, columns)] = np.where(works, group.choice.success, np.nan)
        routed.cost[np.ix_(places, columns)] = np.where(works, group.table.cost, np.nan)
    return routed


def measure_effect(
    queries: Sequence[Query],
    agents: Sequence[str],
    before: RoutedQueries,
    after: RoutedQueries,
    real: RealDifference | None = None,
) -> Effect:
    """Return what moves between two sets of decisions.

    Both choices are judged by what the newer handbook expects, as it knows more; only for an agent that it does not
    have, the older one's expectation stands.
    """
    success = np.where(np.isnan(after.success), before.success, after.success)
    cost = np.where(np.isnan(after.cost), before.cost, after.cost)
    moved = before.chosen != after.chosen
    return Effect(
        queries=len(queries),
        moved=int(np.count_nonzero(moved)),
        flows=_find_flows(queries, agents, (before.chosen, after.chosen), success),
        before=_measure_traffic(before.chosen, agents, success, cost),
        after=_measure_traffic(after.chosen, agents, success, cost),
        real=real,
    )


def _find_flows(
    queries: Sequence[Query],
    agents: Sequence[str],
    chosen: tuple[NDArray[np.int64], NDArray[np.int64]],
    success: Floats,
) -> tuple[Flow, ...]:
    old, new = chosen
    gain = np.nan_to_num(_pick(success, new) - _pick(success, old))
    rows: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for row in np.flatnonzero(old != new).tolist():
        rows[int(old[row]), int(new[row])].append(row)
    flows = []
    for (source, target), places in rows.items():
        best = sorted(places, key=lambda row: (-gain[row], row))[:EXAMPLES]
        examples = tuple((queries[row].id, queries[row].text) for row in best)
        flows.append(Flow(_name(agents, source), _name(agents, target), len(places), examples))
    return tuple(sorted(flows, key=lambda flow: (-flow.queries, flow.source or "", flow.target or "")))


def _name(agents: Sequence[str], place: int) -> str | None:
    return agents[place] if place >= 0 else None


def _pick(values: Floats, chosen: NDArray[np.int64]) -> Floats:
    """Return each row's value of the chosen column, NaN without one."""
    if not values.shape[1]:
        return np.full(len(chosen), np.nan)
    picked = values[np.arange(len(chosen)), np.maximum(chosen, 0)]
    return np.where(chosen >= 0, picked, np.nan)


def _measure_traffic(chosen: NDArray[np.int64], agents: Sequence[str], success: Floats, cost: Floats) -> Traffic:
    routed = chosen >= 0
    counts = np.bincount(chosen[routed], minlength=len(agents))
    total = int(counts.sum())
    if not total:
        return Traffic(None, None, {}, 0.0, len(chosen))
    shares = counts / total
    order = sorted(np.flatnonzero(counts).tolist(), key=lambda place: (-counts[place], agents[place]))
    present = shares[shares > 0]
    costs = _pick(cost, chosen)[routed]
    return Traffic(
        success=float(np.mean(_pick(success, chosen)[routed])),
        cost_usd=None if np.isnan(costs).any() else float(costs.mean()),
        shares={agents[place]: float(shares[place]) for place in order},
        effective_agents=float(np.exp(-(present * np.log(present)).sum())),
        unrouted=int(np.count_nonzero(~routed)),
    )


def measure_real_difference(
    success: Floats,
    cost: Floats,
    chosen: tuple[NDArray[np.int64], NDArray[np.int64]],
    rng: np.random.Generator,
) -> RealDifference | None:
    """Compare two choices by logged outcomes, on the queries where the outcomes of both were logged.

    Args:
        success: Shape (q, agents), NaN where nothing was logged.
        cost: Shape (q, agents), likewise.
        chosen: Agents chosen before and after, shape (q,) each.
        rng: For the bootstrap.
    """
    old, new = (_pick(success, side) for side in chosen)
    known = ~np.isnan(old) & ~np.isnan(new)
    if not known.any():
        return None
    gain = (new - old)[known]
    old_cost, new_cost = (_pick(cost, side) for side in chosen)
    priced = ~np.isnan(old_cost) & ~np.isnan(new_cost)
    extra = (new_cost - old_cost)[priced]
    return RealDifference(
        queries=int(known.sum()),
        before=float(old[known].mean()),
        after=float(new[known].mean()),
        difference=_bootstrap_mean(gain, rng),
        cost_queries=int(priced.sum()),
        cost_difference=_bootstrap_mean(extra, rng) if len(extra) else None,
    )


def _bootstrap_mean(values: Floats, rng: np.random.Generator) -> Interval:
    return bootstrap(lambda rows: float(values[rows].mean()), len(values), rng)
