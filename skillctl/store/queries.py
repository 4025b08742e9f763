"""Queries and states to route, from JSON objects."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NoReturn

from skillctl.model.query import NO_NEEDS, Needs, Query
from skillctl.store.messages import read_conversation

if TYPE_CHECKING:
    from collections.abc import Sequence

_OPTIONS = frozenset({"mode", "skills", "allow", "deny", "needs", "lambda"})
# Lines without these need no closer look than at their id, their text and their weights.
_UNCOMMON = (_OPTIONS - {"skills"}) | {"query_id"}
_FIRST_INEXACT = 2.0**63  # the parser gives larger integers as floats


class QueryError(ValueError):
    """A line that cannot be routed.

    Args:
        code: A short stable name of the fault, such as ``no_query``.
        message: What is wrong and what to do.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def parse_query(fields: dict[str, Any], line: int) -> Query:
    """Return the query or state that a JSON object asks to route; unknown keys, such as a trace's, are ignored.

    The id is ``id``, else ``query_id``; the text is ``query``, else what of ``messages`` decides
    (see :mod:`skillctl.store.messages`).

    Args:
        fields: The object of one line.
        line: Its 1-based number.

    Raises:
        QueryError: If something is missing or of the wrong kind.
    """
    get = fields.get
    identifier = get("id")
    if identifier is None:
        identifier = get("query_id")
    if type(identifier) is float and abs(identifier) >= _FIRST_INEXACT:
        _refuse("bad_id", "the id is an integer of more than 64 bits; write it as text")
    text = get("query")
    failed: tuple[str, ...] = ()
    if type(text) is not str:
        text, failed = _read_state(text, fields)
    if not _OPTIONS.isdisjoint(fields):
        return _parse_options(identifier, line, text, fields, failed)
    return Query(identifier, line, text, None, None, None, (), NO_NEEDS, None, failed)


def parse_queries(objects: Sequence[dict[str, Any]], lines: Sequence[int]) -> list[Query] | None:
    """Return the queries of many objects, or ``None`` where `parse_query` has to look at each.

    A third of the time where all of them have an id, a text and no more than weights besides.

    Args:
        objects: The objects.
        lines: Their 1-based numbers.
    """
    keys = set().union(*objects)
    if not _UNCOMMON.isdisjoint(keys):
        return None
    ids = [fields.get("id") for fields in objects]
    texts = [fields.get("query") for fields in objects]
    skills = [fields.get("skills") for fields in objects] if "skills" in keys else [None] * len(objects)
    if float in set(map(type, ids)) or set(map(type, texts)) - {str} or not _are_weights(skills):
        return None
    none, nothing = repeat(None), repeat(())
    columns = (ids, lines, texts, none, skills, none, nothing, repeat(NO_NEEDS), none, nothing)
    return list(map(Query._make, zip(*columns, strict=False)))


def _are_weights(skills: Sequence[Any]) -> bool:
    """Tell whether each is ``None`` or an object of weights that `_read_skills` takes as they are."""
    given = [weights for weights in skills if weights is not None]
    if set(map(type, given)) - {dict}:
        return False
    columns = [weights.values() for weights in given]
    numbers = list(chain.from_iterable(columns))
    return set(map(type, numbers)) <= {int, float} and min(numbers, default=0) >= 0 and all(map(any, columns))


def _read_state(query: object, fields: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    if query is not None:
        _refuse("bad_query", "query must be text")
    messages = fields.get("messages")
    if messages is None:
        _refuse("no_query", "the line has no query and no messages; give one of them")
    try:
        return read_conversation(messages)
    except ValueError as error:
        raise QueryError("bad_messages", str(error)) from error  # noqa: EM101 - a code, not a message


def _parse_options(identifier: object, line: int, text: str, fields: dict[str, Any], failed: tuple[str, ...]) -> Query:
    mode = fields.get("mode")
    if mode is not None and not (isinstance(mode, str) and mode):
        _refuse("bad_mode", "mode must be text that is not empty")
    allow = fields.get("allow")
    return Query(
        identifier,
        line,
        text,
        mode,
        _read_skills(fields.get("skills")),
        None if allow is None else _read_names("allow", allow),
        _read_names("deny", fields.get("deny")),
        _read_needs(fields.get("needs")),
        _read_cost_weight(fields.get("lambda")),
        failed,
    )


def _read_skills(value: object) -> dict[str, float] | None:
    if value is None or value == {}:
        return None
    if not isinstance(value, dict):
        _refuse("bad_skills", "skills must be an object of weights by skill id")
    for skill, weight in value.items():
        if type(weight) not in (int, float) or weight < 0:
            _refuse("bad_skills", f"the weight of skill {skill!r} must be a number of at least 0")
    if not sum(value.values()):
        _refuse("bad_skills", "the weights of skills sum to 0; leave skills out to have them inferred")
    return value


def _read_names(key: str, value: object, code: str = "") -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        _refuse(code or f"bad_{key}", f"{key} must be a list of texts")
    return tuple(value)


def _read_needs(value: object) -> Needs:
    if value is None:
        return NO_NEEDS
    if not isinstance(value, dict):
        _refuse("bad_needs", "needs must be an object with modalities, tools or context_tokens")
    unknown = sorted(value.keys() - {"modalities", "tools", "context_tokens"})
    if unknown:
        _refuse("bad_needs", f"needs knows modalities, tools and context_tokens, not {', '.join(unknown)}")
    tokens = value.get("context_tokens")
    if tokens is not None and (type(tokens) is not int or tokens < 0):
        _refuse("bad_needs", "needs.context_tokens must be an integer of at least 0, or null for no limit")
    return Needs(
        modalities=_read_names("needs.modalities", value.get("modalities"), "bad_needs"),
        tools=_read_names("needs.tools", value.get("tools"), "bad_needs"),
        context_tokens=tokens,
    )


def _read_cost_weight(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        _refuse("bad_lambda", "lambda must be a number of at least 0")
    return float(value)


def _refuse(code: str, message: str) -> NoReturn:
    raise QueryError(code, message)
