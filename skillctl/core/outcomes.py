"""Outcomes of several agents on the same queries, as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from skillctl.model.trace import Trace


class Outcomes(NamedTuple):
    """What n agents made of q queries in one mode.

    Attributes:
        query_ids: Length q, in order of first appearance.
        texts: Length q.
        tasks: Length q, ``None`` where a query has no label.
        agents: Length n, in order of id.
        success: Shape (q, n); mean of the verdicts of repeated trials, NaN where there is no verdict.
        trials: Shape (q, n); number of verdicts.
        cost_usd: Shape (q, n); mean known cost, NaN where none is known.
    """

    query_ids: tuple[str | int, ...]
    texts: tuple[str, ...]
    tasks: tuple[str | None, ...]
    agents: tuple[str, ...]
    success: NDArray[np.float64]
    trials: NDArray[np.float64]
    cost_usd: NDArray[np.float64]

    def take(self, rows: NDArray[np.int64] | Sequence[int]) -> Outcomes:
        """Return the outcomes of some queries, in the order given."""
        rows = np.asarray(rows, dtype=np.int64)
        return Outcomes(
            tuple(self.query_ids[row] for row in rows),
            tuple(self.texts[row] for row in rows),
            tuple(self.tasks[row] for row in rows),
            self.agents,
            self.success[rows],
            self.trials[rows],
            self.cost_usd[rows],
        )


def tabulate_outcomes(traces: Iterable[Trace], *, mode: str, default_mode: str) -> Outcomes:
    """Return the outcomes of the traces of one mode; a trace that names no mode is in the default mode."""
    chosen = (trace for trace in traces if (trace.mode or default_mode) == mode)
    tables = tabulate_modes(chosen, default_mode)
    return tables.get(mode) or _Table().finish()


def tabulate_modes(traces: Iterable[Trace], default_mode: str) -> dict[str, Outcomes]:
    """Return the outcomes of traces by mode, in order of id; the traces are not kept.

    Ids are kept apart by type, as in the logs: 1 and "1" are two queries.
    """
    tables: dict[str, _Table] = {}
    for trace in traces:
        tables.setdefault(trace.mode or default_mode, _Table()).add(trace)
    return {mode: tables[mode].finish() for mode in sorted(tables)}


class _Table:
    """Outcomes of one mode while they are collected."""

    def __init__(self) -> None:
        self._queries: dict[tuple[type, str | int], int] = {}
        self._texts: list[str] = []
        self._tasks: list[str | None] = []
        self._agents: dict[str, int] = {}
        self._cells: list[tuple[int, int, float, float]] = []

    def add(self, trace: Trace) -> None:
        row = self._queries.setdefault((type(trace.query_id), trace.query_id), len(self._queries))
        if row == len(self._texts):
            self._texts.append(trace.query)
            self._tasks.append(trace.task)
        column = self._agents.setdefault(trace.agent, len(self._agents))
        verdict = np.nan if trace.success is None or trace.error is not None else float(trace.success)
        cost = np.nan if trace.cost_usd is None else trace.cost_usd
        self._cells.append((row, column, verdict, cost))

    def finish(self) -> Outcomes:
        order = sorted(self._agents)
        place = {agent: number for number, agent in enumerate(order)}
        rank = np.array([place[agent] for agent in self._agents], dtype=np.int64)
        table = np.array(self._cells, dtype=np.float64).reshape(-1, 4)
        rows, columns = table[:, 0].astype(np.int64), rank[table[:, 1].astype(np.int64)]
        shape = (len(self._texts), len(order))
        success, trials = _mean_by_cell(shape, rows, columns, table[:, 2])
        cost, _ = _mean_by_cell(shape, rows, columns, table[:, 3])
        ids = tuple(query_id for _, query_id in self._queries)
        return Outcomes(ids, tuple(self._texts), tuple(self._tasks), tuple(order), success, trials, cost)


def agent_means(success: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each agent's posterior mean success (S + 1) / (N + 2), shape (agents,).

    Args:
        success: Shape (n, agents), mean verdicts, NaN where there is none.
    """
    known = ~np.isnan(success)
    return np.asarray((np.nansum(success, axis=0) + 1) / (known.sum(axis=0) + 2), dtype=np.float64)


def remove_means(values: NDArray[np.float64], known: NDArray[np.bool_], axes: Sequence[int]) -> NDArray[np.float64]:
    """Return known values less their mean along each axis in turn, 0 where a value is unknown.

    Args:
        values: Shape (q, n).
        known: Shape (q, n).
        axes: Along 1 each query loses its mean over the agents, along 0 each agent its mean over the queries. Where
            values are unknown, the order matters.
    """
    left = np.where(known, values, 0.0)
    for axis in axes:
        count = np.maximum(known.sum(axis=axis, keepdims=True), 1)
        left = np.where(known, left - left.sum(axis=axis, keepdims=True) / count, 0.0)
    return left


def _mean_by_cell(
    shape: tuple[int, int], rows: NDArray[np.int64], columns: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of the known values of each cell, NaN where there are none, and their number."""
    known = ~np.isnan(values)
    total, count = np.zeros(shape), np.zeros(shape)
    np.add.at(total, (rows[known], columns[known]), values[known])
    np.add.at(count, (rows[known], columns[known]), 1.0)
    mean = np.divide(total, count, out=np.full(shape, np.nan), where=count > 0)
    return mean, count
