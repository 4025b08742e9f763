"""YAML without surprises: one document, no aliases, no tags, no silent conversions.

Only the syntax is read here, into nodes that keep their source text; ``typed_values`` turns them into values as the
schema directs. libyaml's parser is used where it is there, PyYAML's own where it is not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from skillctl.store.yaml_nodes import MappingNode, Node, SequenceNode

if TYPE_CHECKING:
    from collections.abc import Callable

# A handbook is 7 levels deep; parameters of models may add some.
MAX_DEPTH = 50
_TOO_DEEP = f"is nested more than {MAX_DEPTH} levels deep"
_BOM = b"\xef\xbb\xbf"
_CONFLICT = re.compile(rb"^(?:<{7}|={7}|>{7}|\|{7})(?=[ \r\n]|$)", re.MULTILINE)
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


class YamlFaultError(Exception):
    """A file that is no YAML as we read it.

    Args:
        message: What is wrong and what to do.
        line: 1-based line, 0 for none.
    """

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def parse_yaml(data: bytes) -> Node:
    """Return the tree of the only document in ``data``.

    Raises:
        YamlFaultError: If the bytes are not exactly one document in strict YAML.
    """
    _refuse_conflicts(data)
    text = _decode(data)
    try:
        return _compose(_event_source(text))
    except yaml.MarkedYAMLError as error:
        raise _fault_of(error, text) from error
    except yaml.YAMLError as error:
        message = f"is not valid YAML: {error}"
        raise YamlFaultError(message) from error


def _refuse_conflicts(data: bytes) -> None:
    marker = _CONFLICT.search(data)
    if marker:
        message = "an unresolved merge conflict: keep one side and remove the lines with <<<<<<<, ======= and >>>>>>>"
        raise YamlFaultError(message, data.count(b"\n", 0, marker.start()) + 1)


def _decode(data: bytes) -> str:
    if data.startswith(_BOM):
        message = "starts with a byte-order mark: save the file as UTF-8 without it"
        raise YamlFaultError(message, 1)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"byte 0x{data[error.start]:02x} is not UTF-8: save the file as UTF-8"
        raise YamlFaultError(message, data.count(b"\n", 0, error.start) + 1) from error
    bad = _UNPRINTABLE.search(text)
    if bad:
        message = (
            f"the character U+{ord(bad[0]):04X} may not stand in a file: "
            f'remove it, or write it as "\\u{ord(bad[0]):04X}" in double quotes'
        )
        raise YamlFaultError(message, text.count("\n", 0, bad.start()) + 1)
    return text


def _event_source(text: str) -> Callable[[], Any]:
    if yaml.__with_libyaml__:
        from yaml._yaml import CParser

        get_event: Callable[[], Any] = CParser(text).get_event
        return get_event
    return _PureParser(text).get_event


class _PureParser(yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser):
    """PyYAML's own parser, event by event."""

    def __init__(self, text: str) -> None:
        yaml.reader.Reader.__init__(self, text)
        yaml.scanner.Scanner.__init__(self)
        yaml.parser.Parser.__init__(self)


def _compose(get_event: Callable[[], Any]) -> Node:
    get_event()  # the start of the stream
    if isinstance(get_event(), yaml.StreamEndEvent):
        message = "is empty: write the file's keys, or remove it"
        raise YamlFaultError(message)
    root = _compose_node(get_event)
    get_event()  # the end of the document
    after = get_event()
    if not isinstance(after, yaml.StreamEndEvent):
        message = "a second document starts here: keep one document in a file and remove `---`"
        raise YamlFaultError(message, after.start_mark.line + 1)
    return root


def _compose_node(get_event: Callable[[], Any]) -> Node:
    """Build the tree below one event, without recursion: its depth is the file's to choose."""
    stack: list[list[Any]] = []  # the children so far of each open collection
    opened: list[MappingNode | SequenceNode] = []
    while True:
        event = get_event()
        kind = event.__class__
        if kind is yaml.ScalarEvent or kind is yaml.AliasEvent:
            node = event
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            if len(opened) == MAX_DEPTH:
                raise YamlFaultError(_TOO_DEEP, event.start_mark.line + 1)
            opened.append(MappingNode(event) if kind is yaml.MappingStartEvent else SequenceNode(event))
            stack.append([])
            continue
        else:
            node = _closed(opened.pop(), stack.pop(), event)
        if not stack:
            return node  # type: ignore[no-any-return]
        stack[-1].append(node)


def _closed(node: MappingNode | SequenceNode, children: list[Any], end: yaml.Event) -> Node:
    node.end = end
    if isinstance(node, MappingNode):
        node.entries = list(zip(children[::2], children[1::2], strict=True))
    else:
        node.items = children
    return node


def _fault_of(error: yaml.MarkedYAMLError, text: str) -> YamlFaultError:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark is not None else 0
    source = text.splitlines()[line - 1] if 0 < line <= len(text.splitlines()) else ""
    if "\t" in source[: len(source) - len(source.lstrip())]:
        return YamlFaultError("a tab indents this line: use spaces", line)
    if "nesting" in str(error.problem):  # libyaml has a limit of its own
        return YamlFaultError(_TOO_DEEP, line)
    context = f" {error.context}" if error.context else ""
    hint = (
        "; a text with `: `, ` #` or a leading special character needs quotes" if "mapping values" in str(error) else ""
    )
    return YamlFaultError(f"is not valid YAML{context}: {error.problem}{hint}", line)
