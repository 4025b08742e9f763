"""Traffic to judge a change by: queries to route, or logged traces with their outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from skillctl.model.problem import Problem
from skillctl.store.jsonl import parse_object, read_lines
from skillctl.store.queries import parse_query
from skillctl.store.traces import parse_trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillctl.model.query import Query
    from skillctl.model.trace import Trace


class Traffic(NamedTuple):
    """Distinct queries in order of first appearance, and the traces among their lines.

    Attributes:
        queries: What to route; of a query that several agents were tried on, once.
        traces: What was logged.
        rows: For each trace the place of its query.
    """

    queries: list[Query]
    traces: list[Trace]
    rows: list[int]


def read_traffic(path: str, on_problem: Callable[[Problem], None]) -> Traffic:
    """Read queries, states or traces; a line with an agent is a trace.

    Args:
        path: A ``.jsonl`` or gzip'd file, or ``-`` for standard input.
        on_problem: Told of every line that cannot be used.
    """
    traffic = Traffic([], [], [])
    places: dict[tuple[type, object, str | None], int] = {}
    for line, raw in read_lines(path, on_problem):
        try:
            fields = parse_object(raw)
            trace = parse_trace(fields) if "agent" in fields else None
            query = parse_query(_without_skills(fields) if trace else fields, line)
        except ValueError as error:
            on_problem(Problem(path, line, "$", str(error)))
            continue
        name = query.id if trace is None else trace.query_id
        if name is not None and not isinstance(name, list | dict):
            place = places.setdefault((type(name), name, query.mode), len(traffic.queries))
        else:
            place = len(traffic.queries)
        if place == len(traffic.queries):
            traffic.queries.append(query)
        if trace is not None:
            traffic.traces.append(trace)
            traffic.rows.append(place)
    return traffic


def _without_skills(fields: dict[str, object]) -> dict[str, object]:
    """Leave out the weights of a trace: its query is routed as it would come in."""
    return {key: value for key, value in fields.items() if key != "skills"}
