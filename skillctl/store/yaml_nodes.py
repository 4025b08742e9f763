"""The tree that a YAML file is read into: scalars keep their source text, everything keeps its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

# A step is a key of a mapping or an index of a list.
JsonPath = tuple[str | int, ...]


class Mark(Protocol):
    """A 0-based place in a text."""

    line: int
    column: int


@dataclass(slots=True)
class MappingNode:
    """A mapping with its entries in the order of the file; keys may repeat."""

    start: yaml.CollectionStartEvent
    entries: list[tuple[Node, Node]] = field(default_factory=list)
    end: yaml.Event | None = None

    def get(self, key: str | int) -> Node | None:
        """Return the first value under a key."""
        return next((value for name, value in self.entries if getattr(name, "value", None) == key), None)


@dataclass(slots=True)
class SequenceNode:
    """A list."""

    start: yaml.CollectionStartEvent
    items: list[Node] = field(default_factory=list)
    end: yaml.Event | None = None


# The parser's own scalar and alias events serve as leaves: making 900,000 nodes of our own costs a second.
Node = MappingNode | SequenceNode | yaml.ScalarEvent | yaml.AliasEvent


def start_of(node: Node) -> yaml.NodeEvent:
    """Return the event that a node starts with."""
    return node.start if isinstance(node, (MappingNode, SequenceNode)) else node


def line_of(node: Node) -> int:
    """Return the 1-based line on which a node starts."""
    return mark_of(start_of(node)).line + 1


def mark_of(event: yaml.Event, *, end: bool = False) -> Mark:
    """Return where an event starts or ends; events that come from a text have both."""
    mark = event.end_mark if end else event.start_mark
    return cast("Mark", mark)


def is_plain(node: Node) -> bool:
    """Tell whether a node is a scalar without quotes or block style."""
    return isinstance(node, yaml.ScalarEvent) and not node.style


def line_at(root: Node | None, path: JsonPath) -> int:
    """Return the line of the entry at a path, or of the nearest entry above it; 0 without a tree."""
    line = line_of(root) if root is not None else 0
    for node in _nodes_along(root, path):
        line = line_of(node)
    return line


def _nodes_along(root: Node | None, path: JsonPath) -> Iterator[Node]:
    node = root
    for step in path:
        if isinstance(node, MappingNode):
            key, node = _entry(node, step)
            if key is not None:
                yield key
        elif isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
            yield node
        else:
            return


def _entry(node: MappingNode, step: str | int) -> tuple[Node | None, Node | None]:
    found: tuple[Node | None, Node | None] = (None, None)
    for key, value in node.entries:
        if isinstance(key, yaml.ScalarEvent) and key.value == step:
            found = (key, value)  # the last one counts, as that is where a duplicate is reported
    return found
