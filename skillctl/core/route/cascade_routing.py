"""Routes to cascades: the chosen agent comes first, the fall-backs are whom to ask next after verified failures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.evaluate.replay import align_outcomes
from skillctl.core.outcomes import tabulate_outcomes
from skillctl.core.route.batch_routing import RoutedBlock, Router
from skillctl.core.route.cascade import JointOutcomes, plan_cascades
from skillctl.core.route.gates import OPEN
from skillctl.core.route.routing import spread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from skillctl.core.orchestrate.orchestration import Orchestrator
    from skillctl.core.route.batch_routing import Routed, RouteOptions
    from skillctl.core.route.routing_table import RoutingTable
    from skillctl.model.query import Query
    from skillctl.model.trace import Trace


class CascadeRouter(Router):
    """Routes blocks of queries to ordered plans.

    Args:
        table: The compiled handbook.
        open_orchestrator: Opens the orchestrator of a mode.
        options: Of the run.
        joint: Of each mode, what failures of some agents say of the others.
    """

    def __init__(
        self,
        table: RoutingTable,
        open_orchestrator: Callable[[str], Orchestrator],
        options: RouteOptions,
        joint: Mapping[str, JointOutcomes],
    ) -> None:
        super().__init__(table, open_orchestrator, options)
        self._joint = joint

    def route(self, queries: Sequence[Query], block: int = 0) -> RoutedBlock:
        """Route a block of queries; a plan ends where no agent that is left is worth its cost."""
        routed = super().route(queries, block)
        return RoutedBlock([_plan(group, self._joint[group.table.mode]) for group in routed.groups], routed.errors)


def learn_joint(
    traces: Sequence[Trace], table: RoutingTable, open_orchestrator: Callable[[str], Orchestrator]
) -> dict[str, JointOutcomes]:
    """Return the joint outcomes of each mode; without any, agents count as independent."""
    agents = [agent.id for agent in table.agents]
    joint = {}
    for mode in table.modes:
        outcomes = tabulate_outcomes(traces, mode=mode, default_mode=table.default_mode or mode)
        success = align_outcomes(outcomes, agents).success
        expected = None
        if outcomes.texts:
            expected = spread(open_orchestrator(mode).weigh(outcomes.texts), table.modes[mode].mean)
        joint[mode] = JointOutcomes(success, expected)
    return joint


def _plan(group: Routed, joint: JointOutcomes) -> Routed:
    choice, batch = group.choice, group.batch
    cost_weight = np.where(choice.unpriced, 0.0, batch.cost_weight)
    cost = np.broadcast_to(group.table.cost, choice.success.shape)
    order = plan_cascades(choice.success, cost, batch.gates == OPEN, joint, cost_weight).order
    width = choice.ranked.shape[1]
    ranked = np.pad(order, ((0, 0), (0, max(0, width - order.shape[1]))), constant_values=-1)[:, :width]
    # Somebody must answer: where nobody is worth the cost, the best of a bad lot does, and nobody after it.
    ranked[:, 0] = np.where(ranked[:, 0] < 0, choice.ranked[:, 0], ranked[:, 0])
    return replace(group, choice=choice._replace(ranked=ranked))
