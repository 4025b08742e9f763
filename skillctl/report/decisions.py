"""Decisions as JSON lines, and the short table over a whole run."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson

from skillctl.core.gates import OPEN, REASONS
from skillctl.core.routing import find_flip, find_interval, lower_after_failures, spread, spread_chosen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from skillctl.core.batch_routing import Routed, RowError

_DIGITS = 6  # of scores, chances and intervals
_COST_FORMAT = ".6g"
_ID_WIDTH = 60  # an agent id in the table that is longer is cut in the middle


class Totals(NamedTuple):
    """Sums over the decisions of a block or a run, one row for each agent.

    The columns are decisions, expected successes, decisions with a known cost, and expected costs.
    """

    sums: NDArray[np.float64]


def render_failure(identifier: object, error: RowError, line: int) -> bytes:
    """Return the line in the place of a query that cannot be routed."""
    return orjson.dumps({"id": identifier, "error": {"code": error.code, "message": error.message, "line": line}})


def render_group(routed: Routed, *, explain: bool = False) -> list[bytes]:
    """Return one line for each query of a group, in the group's order; empty where no agent is left."""
    rows = np.flatnonzero(routed.choice.ranked[:, 0] >= 0)
    chosen = routed.choice.ranked[:, 0]
    names = [agent.id for agent in routed.agents]
    models = [agent.model for agent in routed.agents]
    costs = [_round_cost(cost) for cost in routed.table.cost.tolist()]
    columns = _Columns(routed, np.maximum(chosen, 0))
    skills = _name_skills(routed)
    ranked = routed.choice.ranked.tolist()
    tie = routed.choice.tie.tolist()
    mode = routed.table.mode
    explainer = _Explainer(routed, names, costs) if explain else None
    lines = [b""] * len(ranked)
    for row in rows.tolist():
        best = ranked[row][0]
        decision = {
            "id": routed.queries[row].id,
            "mode": mode,
            "skills": skills[row],
            "agent": names[best],
            "model": models[best],
            "score": columns.score[row],
            "expected_success": columns.success[row],
            "interval": [columns.low[row], columns.high[row]],
            "expected_cost_usd": costs[best],
            "fallbacks": [names[other] for other in ranked[row][1:] if other >= 0],
            "tie": tie[row],
        }
        if explainer:
            decision |= explainer.explain(row)
        lines[row] = orjson.dumps(decision)
    return lines


def sum_group(routed: Routed) -> Totals:
    """Return the sums over a group's decisions."""
    rows = np.flatnonzero(routed.choice.ranked[:, 0] >= 0)
    chosen = routed.choice.ranked[rows, 0]
    cost = routed.table.cost[chosen]
    known = ~np.isnan(cost)
    parts = (np.ones(len(rows)), routed.choice.success[rows, chosen], known, np.where(known, cost, 0.0))
    count = len(routed.agents)
    return Totals(np.stack([np.bincount(chosen, np.asarray(part, float), count) for part in parts], axis=1))


def render_totals(totals: Totals, agents: Sequence[str]) -> str:
    """Return the table of a run: agents by number of decisions, with shares, mean expectations and total cost."""
    order = sorted(range(len(agents)), key=lambda place: (-totals.sums[place, 0], agents[place]))
    chosen = [(agents[place], totals.sums[place]) for place in order if totals.sums[place, 0] > 0]
    everything = totals.sums.sum(axis=0)
    head = ["agent", "lines", "share", "success", "cost each", "cost total"]
    body = [_render_total(_cut_id(name), sums, everything[0]) for name, sums in chosen]
    if len(chosen) > 1:
        body.append(_render_total("all", everything, everything[0]))
    width = [max(len(line[column]) for line in [head, *body]) for column in range(len(head))]
    return "\n".join(
        "  ".join([line[0].ljust(width[0]), *(cell.rjust(w) for cell, w in zip(line[1:], width[1:], strict=True))])
        for line in [head, *body]
    )


class _Columns:
    """What is said of the chosen agents, rounded, as lists."""

    def __init__(self, routed: Routed, chosen: NDArray[np.int64]) -> None:
        table, weights, failures = routed.table, routed.batch.weights, routed.batch.failures
        row = np.arange(len(chosen))
        own = None if failures is None else failures[row, chosen]
        self.score = _round(routed.choice.score[row, chosen])
        self.success = _round(routed.choice.success[row, chosen])
        self.low = _round(lower_after_failures(spread_chosen(weights, table.low, chosen), own))
        self.high = _round(lower_after_failures(spread_chosen(weights, table.high, chosen), own))


class _Explainer:
    """Says for each query how every agent was scored."""

    def __init__(self, routed: Routed, names: list[str], costs: list[float | None]) -> None:
        batch = routed.batch
        low, high = find_interval(routed.table, batch.weights, batch.failures)
        self._routed, self._names, self._costs = routed, names, costs
        self._low, self._high = _round(low), _round(high)
        self._success = _round(routed.choice.success)
        self._score = _round(np.where(batch.gates == OPEN, routed.choice.score, 0.0))
        self._evidence = _round(spread(batch.weights, routed.table.evidence))
        self._gates = batch.gates.tolist()

    def explain(self, row: int) -> dict[str, Any]:
        choice = self._routed.choice
        best, second = choice.ranked[row, :2].tolist() if choice.ranked.shape[1] > 1 else (choice.ranked[row, 0], -1)
        evidence = self._evidence[row][best]
        return {
            "candidates": [self._candidate(row, place) for place in range(len(self._names))],
            "runner_up": self._names[second] if second >= 0 else None,
            "flip_lambda": self._find_flip(row, best),
            "evidence": {"n": evidence, "prior_only": evidence == 0},
            "fallback": self._find_fallbacks(row, is_prior=evidence == 0),
        }

    def _candidate(self, row: int, place: int) -> dict[str, Any]:
        gate = self._gates[row][place]
        return {
            "agent": self._names[place],
            "expected_success": self._success[row][place],
            "interval": [self._low[row][place], self._high[row][place]],
            "expected_cost_usd": self._costs[place],
            "score": self._score[row][place] if gate == OPEN else None,
            "evidence": self._evidence[row][place],
            "gated": REASONS[gate] or None,
        }

    def _find_flip(self, row: int, best: int) -> float | None:
        choice, table = self._routed.choice, self._routed.table
        cost_weight = 0.0 if choice.unpriced[row] else float(self._routed.batch.cost_weight[row])
        value = choice.score[row] + cost_weight * np.nan_to_num(table.cost)
        flip = find_flip(value, table.cost, best, cost_weight)
        return None if flip is None else float(format(flip, _COST_FORMAT))

    def _find_fallbacks(self, row: int, *, is_prior: bool) -> list[str]:
        routed = self._routed
        weights = routed.batch.weights
        is_root = weights.skills[weights.indptr[row]] == 0 and weights.indptr[row + 1] == weights.indptr[row] + 1
        names = {
            "no_skill_matched": bool(is_root) and len(routed.table.skills) > 1,
            "unknown_skills": bool(routed.unknown_skills[row]),
            "unpriced": bool(routed.choice.unpriced[row]),
            "gated_out": any(self._gates[row]),
            "prior_only": is_prior,
        }
        return [name for name, applies in names.items() if applies]


def _name_skills(routed: Routed) -> list[dict[str, float]]:
    weights, names = routed.batch.weights, routed.table.skills
    ends = weights.indptr.tolist()
    pairs = list(zip([names[place] for place in weights.skills.tolist()], weights.weights.tolist(), strict=True))
    return [dict(pairs[start:stop]) for start, stop in pairwise(ends)]


def _round(values: NDArray[np.float64]) -> Any:  # noqa: ANN401 - nested as deeply as the array has axes
    return (np.round(values, _DIGITS) + 0.0).tolist()  # + 0.0 turns -0.0 into 0.0


def _round_cost(cost: float) -> float | None:
    return None if np.isnan(cost) else float(format(cost, _COST_FORMAT))


def _render_total(name: str, sums: NDArray[np.float64], total: float) -> list[str]:
    lines, success, priced, cost = sums.tolist()
    each = f"${cost / priced:.4g}" if priced else "unknown"
    whole = f"${cost:.4g}" if priced == lines else f"${cost:.4g} + unknown" if priced else "unknown"
    return [name, f"{lines:.0f}", f"{lines / total:.1%}", f"{success / lines:.3f}", each, whole]


def _cut_id(name: str) -> str:
    half = _ID_WIDTH // 2
    return name if len(name) <= _ID_WIDTH else f"{name[: half - 1]}…{name[-half:]}"
