"""Queries to explore, from JSON lines; what cannot be run or graded is reported before any call."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import orjson

from skillctl.core.run.exploring import ExploreQuery
from skillctl.core.run.grading import Scoring, find_reference_fault, parse_scoring
from skillctl.model.problem import Problem
from skillctl.store.jsonl import parse_object, read_lines
from skillctl.store.queries import parse_query

if TYPE_CHECKING:
    from collections.abc import Callable

_DIGEST_BYTES = 16


def read_explore_queries(
    path: str, *, scoring: Scoring, on_problem: Callable[[Problem], None], is_judged_elsewhere: bool = False
) -> list[ExploreQuery]:
    """Return the queries of a file in order, each once.

    Args:
        path: A ``.jsonl`` or gzip'd file, or ``-`` for standard input.
        scoring: The rule of queries that declare none.
        on_problem: Told of every line that cannot be used.
        is_judged_elsewhere: Whether a scoring command takes the place of all rules.
    """
    queries: dict[str | int, ExploreQuery] = {}
    for line, raw in read_lines(path, on_problem):
        try:
            query = parse_explore_query(parse_object(raw), line, scoring, is_judged_elsewhere=is_judged_elsewhere)
            _refuse_another(queries.get(query.id), query)
        except ValueError as error:
            on_problem(Problem(path, line, "$", str(error)))
        else:
            queries.setdefault(query.id, query)
    return list(queries.values())


def parse_explore_query(
    fields: dict[str, Any], line: int, scoring: Scoring, *, is_judged_elsewhere: bool = False
) -> ExploreQuery:
    """Return the query that a JSON object asks to explore; unknown keys are ignored.

    Raises:
        ValueError: In words, if it cannot be run or graded.
    """
    state = parse_query({key: fields.get(key) for key in ("id", "query_id", "query", "messages", "needs")}, line)
    task = fields.get("task")
    if task is not None and not isinstance(task, str):
        message = "task must be text"
        raise ValueError(message)
    rule = parse_scoring(fields["scoring"]) if fields.get("scoring") is not None else scoring
    reference, has_reference = fields.get("reference"), fields.get("reference") is not None
    fault = find_reference_fault(reference, rule) if has_reference and not is_judged_elsewhere else None
    if fault:
        raise ValueError(fault)
    messages = fields.get("messages") or [{"role": "user", "content": state.text}]
    return ExploreQuery(
        id=_read_id(state.id, fields, messages),
        line=line,
        text=state.text,
        messages=tuple(messages),
        scoring=rule,
        reference=reference,
        has_reference=has_reference,
        task=task,
        needs=state.needs,
    )


def _read_id(given: object, fields: dict[str, Any], messages: list[Any]) -> str | int:
    if given is None:
        # As readers of traces do it for a text; a conversation is more than the text that stands for it.
        content = orjson.dumps(messages) if fields.get("messages") else fields["query"].encode()
        return blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()
    if isinstance(given, bool) or not isinstance(given, str | int):
        message = "the id must be text or an integer"
        raise ValueError(message)  # noqa: TRY004 - the caller reports one kind of fault
    return given


def _refuse_another(known: ExploreQuery | None, query: ExploreQuery) -> None:
    """Let a line that stands twice pass, and refuse another query under the same id."""
    if known is None or (known.messages, known.reference, known.scoring, known.needs) == (
        query.messages,
        query.reference,
        query.scoring,
        query.needs,
    ):
        return
    message = f"the id {query.id!r} is that of line {known.line}, which asks something else: give each query its own id"
    raise ValueError(message)
