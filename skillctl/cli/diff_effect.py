"""The effect of a change on traffic: both handbooks route the same queries."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import click

from skillctl.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from skillctl.core.diff.change_effect import Effect
    from skillctl.core.orchestrate.orchestration import Orchestrator
    from skillctl.core.route.batch_routing import RouteOptions, Router
    from skillctl.model.handbook import Handbook
    from skillctl.model.problem import Problem
    from skillctl.model.selection import Selection
    from skillctl.store.handbook_revision import Pair
    from skillctl.store.traffic import Traffic

_SHOWN_FAULTS = 20
_ROUTED_BY = "embedded"


class EffectOptions(NamedTuple):
    """How to measure.

    Attributes:
        path: Queries or traces.
        cost_weight: λ, or ``None`` for each handbook's own.
        mode: Of queries that name none, or ``None`` for each handbook's default.
        seed: Of the bootstrap.
    """

    path: str
    cost_weight: float | None
    mode: str | None
    seed: int


def find_effect(pair: Pair, options: EffectOptions) -> Effect:
    """Route the queries by both handbooks and compare the decisions.

    Raises:
        InputError: If there is no query to route.
        UsageError: If neither handbook has the mode asked for.
    """
    import numpy as np

    from skillctl.core.diff.change_effect import measure_effect, measure_real_difference, route_queries
    from skillctl.core.route.batch_routing import RouteOptions
    from skillctl.store.traffic import read_traffic

    if options.mode is not None and options.mode not in {*pair.before.modes, *pair.after.modes}:
        message = f"there is no mode {options.mode!r}"
        raise UsageError(message, hint=f"there is {', '.join(sorted(pair.after.modes)) or 'none'}")
    traffic = read_traffic(options.path, _Faults().report)
    if not traffic.queries:
        message = "there is no query that can be routed"
        raise InputError(message, where=options.path, hint="give queries, states or traces, one JSON object a line")
    agents: list[str] = sorted({*pair.before.agents, *pair.after.agents})
    run = RouteOptions(mode=options.mode, cost_weight=options.cost_weight)
    sides = ((pair.before, pair.selected_before), (pair.after, pair.selected_after))
    before, after = (route_queries(_open_router(*side, run), traffic.queries, agents) for side in sides)
    real = None
    if traffic.traces:
        success, cost = _tabulate(traffic, agents)
        real = measure_real_difference(
            success, cost, (before.chosen, after.chosen), np.random.default_rng(options.seed)
        )
    return measure_effect(traffic.queries, agents, before, after, real)


def _open_router(handbook: Handbook, selected: Mapping[str, Selection], options: RouteOptions) -> Router:
    from skillctl.core.route.batch_routing import Router
    from skillctl.core.route.routing_table import compile_table
    from skillctl.store.orchestrators import index_key

    keys: dict[str, str] = {mode: index_key(handbook.skills.get(mode, ())) for mode in handbook.modes}
    return Router(
        compile_table(handbook, keys), partial(_open_orchestrator, handbook, selected.get(_ROUTED_BY)), options
    )


def _open_orchestrator(handbook: Handbook, selection: Selection | None, mode: str) -> Orchestrator:
    from skillctl.model.handbook import ModeId
    from skillctl.store.orchestrators import open_orchestrator

    inner = open_orchestrator(handbook, ModeId(mode))
    if selection is None:
        return inner
    from skillctl.core.select.candidates import CutOrchestrator
    from skillctl.store.selections import find_cut

    return CutOrchestrator(inner, find_cut(handbook, mode, selection))


def _tabulate(traffic: Traffic, agents: list[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean logged success and cost of each query and agent, NaN where nothing was logged."""
    import numpy as np

    column = {agent: place for place, agent in enumerate(agents)}
    sums = np.zeros((2, len(traffic.queries), len(agents)))
    counts = np.zeros_like(sums)
    for row, trace in zip(traffic.rows, traffic.traces, strict=True):
        place = column.get(trace.agent)
        for table, value in enumerate((trace.success, trace.cost_usd)):
            if place is not None and value is not None:
                sums[table, row, place] += value
                counts[table, row, place] += 1
    means = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    return means[0], means[1]


class _Faults:
    """Says the first faults of a file, and that there are more."""

    def __init__(self) -> None:
        self._number = 0

    def report(self, problem: Problem) -> None:
        self._number += 1
        if self._number <= _SHOWN_FAULTS:
            click.echo(str(problem), err=True)
        elif self._number == _SHOWN_FAULTS + 1:
            click.echo("more bad lines are left out and not listed", err=True)
