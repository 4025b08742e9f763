"""Regular expressions that could run for ever are refused before they run."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from re import _constants as op  # type: ignore[attr-defined] # the parser's names; there is no public parse tree
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MAX_PATTERN = 500  # characters
MAX_WIDE_REPEATS = 3  # each multiplies the steps by the length of the text
_MANY = 20  # a repeat of more is as good as unbounded

# Where the one child of a node stands in its value.
_CHILD_AT = {
    op.MAX_REPEAT: 2,
    op.MIN_REPEAT: 2,
    op.POSSESSIVE_REPEAT: 2,
    op.SUBPATTERN: 3,
    op.ASSERT: 1,
    op.ASSERT_NOT: 1,
}

_Node = tuple[Any, Any]


def find_pattern_fault(pattern: str) -> str | None:
    """Return in words why a pattern is not to be run, ``None`` if it is harmless.

    Refused are patterns that do not compile, that nest unbounded repeats, that repeat alternatives which may begin
    alike, or that have many unbounded repeats of almost anything.
    """
    if len(pattern) > MAX_PATTERN:
        return f"the pattern has {len(pattern)} characters; at most {MAX_PATTERN} are allowed"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            tree = parser.parse(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"the pattern does not compile: {error}"
    nodes = list(_walk(tree, is_repeated=False))
    if any(is_repeated and _is_risky(node) for node, is_repeated in nodes):
        return "the pattern repeats something that repeats or branches itself and could run for ever; rewrite it"
    if sum(_is_wide_repeat(node) for node, _ in nodes) > MAX_WIDE_REPEATS:
        return f"the pattern has more than {MAX_WIDE_REPEATS} unbounded repeats such as `.*`; rewrite it"
    return None


def _walk(tree: Iterable[_Node], *, is_repeated: bool) -> Iterator[tuple[_Node, bool]]:
    """Yield every node, and whether a backtracking unbounded repeat is around it."""
    for node in tree:
        yield node, is_repeated
        for child in _children(node):
            yield from _walk(child, is_repeated=is_repeated or _is_unbounded(node))


def _children(node: _Node) -> list[Any]:
    kind, value = node
    if kind is op.ATOMIC_GROUP:
        return [value]
    if kind is op.BRANCH:
        return list(value[1])
    if kind is op.GROUPREF_EXISTS:
        return [part for part in value[1:] if part is not None]
    return [value[_CHILD_AT[kind]]] if kind in _CHILD_AT else []


def _is_unbounded(node: _Node) -> bool:
    kind, value = node
    return kind in (op.MAX_REPEAT, op.MIN_REPEAT) and value[1] > _MANY


def _is_risky(node: _Node) -> bool:
    kind, value = node
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        return bool(value[0] != value[1])
    return kind is op.GROUPREF or (kind is op.BRANCH and not _starts_differ(value[1]))


def _starts_differ(branches: list[Any]) -> bool:
    starts = [branch[0] if len(branch) else (None, None) for branch in branches]
    literals = {value for kind, value in starts if kind is op.LITERAL}
    return len(literals) == len(branches)


def _is_wide_repeat(node: _Node) -> bool:
    if not _is_unbounded(node):
        return False
    return any(kind in (op.ANY, op.NOT_LITERAL) or _is_negated(part) for part in node[1][2] for kind in part[:1])


def _is_negated(node: _Node) -> bool:
    kind, value = node
    return kind is op.IN and bool(value) and value[0][0] is op.NEGATE
