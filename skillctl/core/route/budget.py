"""The λ that spends at most a budget on a whole batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.route.gates import OPEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from skillctl.core.route.batch_routing import Routed

# The λ lies above the first upgrade that is too dear by this factor, so that rounding cannot let it in.
_ABOVE = 1 + 1e-9


class Upgrades(NamedTuple):
    """How the cost of some states falls when λ grows.

    Attributes:
        cheapest: Sum of the least costs.
        cost_weight: Below each of these λ, one more state takes a costlier agent.
        extra: What that adds to the sum.
    """

    cheapest: float
    cost_weight: NDArray[np.float64]
    extra: NDArray[np.float64]


def find_upgrades(routed: Routed) -> Upgrades:
    """Return the steps by which a group's cost grows as λ falls from infinity to 0.

    For one state the best agent at any λ is a corner of the upper hull of value over cost; the slope between two
    corners is the λ at which one follows the other. Agents of unknown cost must be gated.
    """
    cost = routed.table.cost
    # At the budget's λ the score is value - λ · cost; adding that back gives the value that the policy compares.
    score = routed.choice.score
    is_open = (routed.batch.gates == OPEN) & (routed.choice.ranked[:, :1] >= 0)
    value = score + routed.batch.cost_weight[:, None] * np.nan_to_num(cost)
    return find_steps(value, np.broadcast_to(cost, value.shape), is_open)


def find_steps(value: NDArray[np.float64], cost: NDArray[np.float64], is_open: NDArray[np.bool_]) -> Upgrades:
    """Return the steps of states whose agents have these values and costs, all of shape (n, agents).

    Args:
        value: What is compared before costs.
        cost: Known wherever an agent is open.
        is_open: Who may be chosen; a state without any is left out.
    """
    rows = np.flatnonzero(is_open.any(axis=1))
    value, is_open = value[rows], is_open[rows]
    costs = np.where(is_open, cost[rows], np.inf)
    least = costs.min(axis=1, initial=np.inf)
    now_cost = least
    now_value = np.where(costs == least[:, None], value, -np.inf).max(axis=1, initial=-np.inf)
    slopes, extras = [], []
    for _ in range(value.shape[1]):
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (value - now_value[:, None]) / (costs - now_cost[:, None])
        slope[~((costs > now_cost[:, None]) & is_open & (value > now_value[:, None]))] = 0.0
        step = slope.argmax(axis=1)
        places = np.flatnonzero(slope[np.arange(len(rows)), step] > 0) if len(rows) else rows
        if not len(places):
            break
        step = step[places]
        slopes.append(slope[places, step])
        extras.append(costs[places, step] - now_cost[places])
        value, costs, is_open = value[places], costs[places], is_open[places]
        rows = rows[places]
        now_cost, now_value = costs[np.arange(len(rows)), step], value[np.arange(len(rows)), step]
    return Upgrades(
        float(least.sum()),
        np.concatenate(slopes) if slopes else np.empty(0),
        np.concatenate(extras) if extras else np.empty(0),
    )


def find_cost_weight(parts: Sequence[Upgrades], budget: float) -> float | None:
    """Return the smallest λ at which a batch costs at most ``budget``, ``None`` when nothing is cheap enough."""
    cheapest = sum(part.cheapest for part in parts)
    if cheapest > budget * _ABOVE:
        return None
    cost_weight = np.concatenate([np.empty(0), *(part.cost_weight for part in parts)])
    extra = np.concatenate([np.empty(0), *(part.extra for part in parts)])
    order = np.argsort(-cost_weight, kind="stable")
    total = cheapest + np.cumsum(extra[order])
    too_dear = total > budget
    if not too_dear.any():
        return 0.0
    return float(cost_weight[order[too_dear.argmax()]] * _ABOVE)
