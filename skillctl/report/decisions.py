"""Decisions as JSON lines, and the short table over a whole run."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson

from skillctl.core.route.gates import OPEN, REASONS
from skillctl.core.route.routing import find_flip, find_interval, lower_after_failures, spread, spread_chosen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from skillctl.core.route.batch_routing import Routed, RowError

_DIGITS = 6  # of scores, chances and intervals
_COST_FORMAT = ".6g"
_ID_WIDTH = 60  # an agent id in the table that is longer is cut in the middle


class Totals(NamedTuple):
    """Sums over the decisions of a block or a run, one row for each agent.

    The columns are decisions, expected successes, decisions with a known cost, and expected costs.
    """

    sums: NDArray[np.float64]


def render_failure(identifier: object, error: RowError, line: int) -> str:
    """Return the line in the place of a query that cannot be routed."""
    about = {"code": error.code, "message": error.message, "line": line}
    return _dump({"id": identifier, "error": about})


def render_group(routed: Routed, *, explain: bool = False) -> list[str]:
    """Return one line for each query of a group, in the group's order; empty where no agent is left.

    Lines are put together from columns of texts: numbers are written a column at a time, what belongs to an agent
    once. That takes a third of the time of writing each decision by itself.
    """
    if not routed.agents:
        return [""] * len(routed.queries)
    mode = f'"mode":{_dump(routed.table.mode)},"skills":'
    lines = [
        f'{{"id":{identifier},{mode}{{{skills}}},{who},"score":{score},"expected_success":{success},'
        f'"interval":[{low},{high}],{rest}}}'
        if who
        else ""
        for identifier, skills, (who, rest), score, success, low, high in zip(
            _write_ids(routed), _write_skills(routed), _write_agents(routed), *_write_columns(routed), strict=True
        )
    ]
    if not explain:
        return lines
    explainer = _Explainer(routed)
    return [f"{line[:-1]},{_dump(explainer.explain(row))[1:]}" if line else "" for row, line in enumerate(lines)]


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


class _Explainer:
    """Says for each query how every agent was scored."""

    def __init__(self, routed: Routed) -> None:
        batch = routed.batch
        low, high = find_interval(routed.table, batch.weights, batch.failures)
        self._routed = routed
        self._names = [agent.id for agent in routed.agents]
        self._costs = [_round_cost(cost) for cost in routed.table.cost.tolist()]
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
        own = routed.queries[row].skills or {}
        names = {
            "no_skill_matched": bool(is_root) and routed.table.mode not in own,
            "unknown_skills": bool(routed.unknown_skills[row]),
            "unpriced": bool(routed.choice.unpriced[row]),
            "gated_out": any(self._gates[row]),
            "prior_only": is_prior,
        }
        return [name for name, applies in names.items() if applies]


def _dump(value: object) -> str:
    return orjson.dumps(value).decode()


def _write_numbers(values: NDArray[np.float64]) -> list[str]:
    """Return each number as JSON; orjson writes an array at once."""
    if not len(values):
        return []
    return orjson.dumps(np.round(values, _DIGITS) + 0.0, option=orjson.OPT_SERIALIZE_NUMPY).decode()[1:-1].split(",")


def _write_columns(routed: Routed) -> list[list[str]]:
    """Return score, expected success and the bounds of the interval of the chosen agents."""
    chosen = np.maximum(routed.choice.ranked[:, 0], 0)
    table, weights, failures = routed.table, routed.batch.weights, routed.batch.failures
    row = np.arange(len(chosen))
    own = None if failures is None else failures[row, chosen]
    low = lower_after_failures(spread_chosen(weights, table.low, chosen), own)
    high = lower_after_failures(spread_chosen(weights, table.high, chosen), own)
    score = routed.choice.score[row, chosen]
    score = np.where(score > -np.inf, score, 0.0)  # where no agent is left, the line is left out
    return [_write_numbers(values) for values in (score, routed.choice.success[row, chosen], low, high)]


def _write_agents(routed: Routed) -> Iterator[tuple[str, str]]:
    """Yield for each query the agent, and from the cost to the mark of a tie; few combinations make many lines."""
    names = [_dump(agent.id) for agent in routed.agents]
    models = [_dump(agent.model) for agent in routed.agents]
    costs = [_dump(_round_cost(cost)) for cost in routed.table.cost.tolist()]

    @cache
    def write(best: int, *others: int) -> tuple[str, str]:
        if best < 0:
            return "", ""
        *fallbacks, tie = others
        listed = ",".join(names[place] for place in fallbacks if place >= 0)
        rest = f'"expected_cost_usd":{costs[best]},"fallbacks":[{listed}],"tie":{"true" if tie else "false"}'
        return f'"agent":{names[best]},"model":{models[best]}', rest

    return map(write, *routed.choice.ranked.T.tolist(), routed.choice.tie.tolist())


def _write_ids(routed: Routed) -> list[str]:
    ids = [query.id for query in routed.queries]
    if ids and set(map(type, ids)) <= {int}:
        return _dump(ids)[1:-1].split(",")
    return [_dump(identifier) for identifier in ids]


def _write_skills(routed: Routed) -> list[str]:
    weights = routed.batch.weights
    names = [f"{_dump(name)}:" for name in routed.table.skills]
    pairs = [
        names[place] + weight
        for place, weight in zip(weights.skills.tolist(), _write_numbers(weights.weights), strict=True)
    ]
    return [",".join(pairs[start:stop]) for start, stop in pairwise(weights.indptr.tolist())]


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
