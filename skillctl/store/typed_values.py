"""Turn nodes into values as the schema directs: where it says text, ``no`` and ``1e3`` are text."""

from __future__ import annotations

import json
import math
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from skillctl.store.yaml_nodes import JsonPath, MappingNode, Node, SequenceNode, is_plain, line_of, start_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_NON_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_WORDS: Mapping[str, bool | None] = (
    dict.fromkeys(("true", "True", "TRUE"), True)
    | dict.fromkeys(("false", "False", "FALSE"), False)
    | dict.fromkeys(("", "~", "null", "Null", "NULL"))
)
_MAX_DIGITS = 18  # fits 64 bits
COMPETENCE = "#/$defs/competence"
_COMPETENCE_KEYS = ("alpha", "beta", "successes", "failures")


class Fault(NamedTuple):
    """A value that cannot be read as the schema asks."""

    line: int
    path: JsonPath
    message: str


class TypedValue(NamedTuple):
    """A value, and what was wrong with its parts; a faulty part is ``None``."""

    value: Any
    faults: list[Fault]


def read_value(root: Node, schema: Mapping[str, Any]) -> TypedValue:
    """Return the value of a tree under a schema of the subset that handbook files use."""
    reader = _Reader(schema)
    return TypedValue(reader.read(root, schema, ()), reader.faults)


def render_path(path: JsonPath) -> str:
    """Return a path as JSON path, with keys that are no plain names in brackets."""
    return "$" + "".join(_render_step(step) for step in path)


def _render_step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", step) else f"[{json.dumps(step, ensure_ascii=False)}]"


class _Reader:
    def __init__(self, root_schema: Mapping[str, Any]) -> None:
        self.defs: Mapping[str, Any] = root_schema.get("$defs", {})
        self.faults: list[Fault] = []

    def fault(self, node: Node, path: JsonPath, message: str) -> None:
        self.faults.append(Fault(line_of(node), path, message))

    def read(self, node: Node, schema: Mapping[str, Any], path: JsonPath) -> Any:  # noqa: ANN401 - any JSON value
        schema = self.resolve(schema, node)
        if not self.is_ordinary(node, path):
            return None
        kind = schema.get("type")
        if kind == "object":
            return self.read_object(node, schema, path)
        if kind == "array":
            return self.read_array(node, schema, path)
        if kind is None:
            return self.read_free(node, path)
        return self.read_scalar(node, kind, path)

    def resolve(self, schema: Mapping[str, Any], node: Node) -> Mapping[str, Any]:
        if "$ref" in schema:
            schema = self.defs[schema["$ref"].removeprefix("#/$defs/")]
        if "oneOf" in schema:
            wanted = "object" if isinstance(node, MappingNode) else "string"
            schema = next(choice for choice in schema["oneOf"] if choice["type"] == wanted)
        return schema

    def is_ordinary(self, node: Node, path: JsonPath) -> bool:
        """Report what YAML offers and a handbook does not need, since readers disagree about it."""
        event = start_of(node)
        if isinstance(event, yaml.AliasEvent):
            self.fault(node, path, f"the alias *{event.anchor} is not allowed: write the value out")
            return False
        if event.anchor is not None:
            self.fault(node, path, f"the anchor &{event.anchor} is not allowed: remove it and write values out")
        tag: str | None = getattr(event, "tag", None)
        if tag is not None:
            self.fault(node, path, f"the tag {tag} is not allowed: remove it, types follow from the schema")
            return False
        return True

    def read_object(self, node: Node, schema: Mapping[str, Any], path: JsonPath) -> Any:  # noqa: ANN401
        if not isinstance(node, MappingNode):
            self.fault(node, path, f"must be a mapping with keys such as {_some_keys(schema)}, not {_name(node)}")
            return None
        rest = schema.get("additionalProperties", {})
        if rest is not False and rest.get("$ref") == COMPETENCE:
            return self.read_competences(node, path)
        properties = schema.get("properties", {})
        value = {}
        for key, child, child_path in self.entries(node, path):
            shape = properties.get(key, rest)
            if key not in properties and key.startswith("x-") and "patternProperties" in schema:
                shape = {}
            if shape is False:
                self.fault_of_unknown_key(child_path, properties, node)
            else:
                value[key] = self.read(child, shape, child_path)
        return value

    def entries(self, node: MappingNode, path: JsonPath) -> list[tuple[str, Node, JsonPath]]:
        """Return the entries whose keys are usable, reporting the others."""
        usable: list[tuple[str, Node, JsonPath]] = []
        seen: dict[str, int] = {}
        for key, child in node.entries:
            if not isinstance(key, yaml.ScalarEvent):
                self.fault(key, path, "a key must be a text: write it on one line, in quotes if need be")
                continue
            if key.tag is not None or key.anchor is not None:
                self.is_ordinary(key, (*path, key.value))
            name = key.value
            if name == "<<" and is_plain(key):
                self.fault(
                    key, path, "the merge key << is not allowed: write the keys out (as an id, put it in quotes)"
                )
            elif not name and is_plain(key):
                self.fault(key, path, "a key is empty: write a name before the colon")
            elif name in seen:
                self.fault(key, (*path, name), f"the key stands twice, first in line {seen[name]}: keep one")
            else:
                seen[name] = line_of(key)
                usable.append((name, child, (*path, name)))
        return usable

    def fault_of_unknown_key(self, path: JsonPath, known: Mapping[str, Any], node: MappingNode) -> None:
        name = str(path[-1])
        lower = name.lower()
        close = get_close_matches(lower, known, n=1) or [key for key in known if lower in key]
        hint = f"did you mean `{close[0]}`?" if close else f"known are {', '.join(known)}"
        key = next(key for key, _ in node.entries if getattr(key, "value", None) == name)
        self.fault(key, path, f"unknown key: {hint} (a note of your own starts with `x-`)")

    def read_array(self, node: Node, schema: Mapping[str, Any], path: JsonPath) -> Any:  # noqa: ANN401
        if not isinstance(node, SequenceNode):
            self.fault(node, path, f"must be a list, not {_name(node)}")
            return None
        return [self.read(item, schema["items"], (*path, index)) for index, item in enumerate(node.items)]

    def read_scalar(self, node: Node, kind: str, path: JsonPath) -> Any:  # noqa: ANN401
        if not isinstance(node, yaml.ScalarEvent):
            self.fault(node, path, f"must be {_TYPE_NAMES[kind]}, not {_name(node)}")
            return None
        text: str = node.value
        plain = is_plain(node)
        if plain and not text:
            self.fault(node, path, f"is empty: write {_TYPE_NAMES[kind]}, or remove the key")
            return None
        if kind == "string":
            return text
        if kind == "boolean":
            return self.read_boolean(node, path)
        return self.read_number(node, kind, path)

    def read_boolean(self, node: yaml.ScalarEvent, path: JsonPath) -> bool | None:
        value = _WORDS.get(node.value) if is_plain(node) else None
        if value is None:
            self.fault(node, path, f"must be true or false without quotes, not {_shorten(node.value)}")
        return value

    def read_number(self, node: yaml.ScalarEvent, kind: str, path: JsonPath) -> float | None:
        text: str = node.value
        plain = is_plain(node)
        if plain and _NON_FINITE.fullmatch(text):
            self.fault(node, path, f"{text} is not finite: write a number, or remove the key if it is unknown")
            return None
        number = parse_number(text) if plain else None
        if number is None:
            quoted = "" if plain else ", and without quotes"
            self.fault(node, path, f"must be {_TYPE_NAMES[kind]}{quoted}, not {_shorten(text)}")
            return None
        return self.check_number(node, kind, number, path)

    def check_number(self, node: Node, kind: str, number: float, path: JsonPath) -> float | None:
        if not math.isfinite(number) or (isinstance(number, int) and len(str(number)) > _MAX_DIGITS):
            self.fault(node, path, "the number is too large")
            return None
        if kind == "number":
            return float(number)
        if not float(number).is_integer():
            self.fault(node, path, f"must be a whole number, not {number!r}")
            return None
        return int(number)

    def read_free(self, node: Node, path: JsonPath) -> Any:  # noqa: ANN401
        """Read a value that has no schema, by the rules of YAML 1.2 that YAML 1.1 agrees with or reads as text."""
        if isinstance(node, MappingNode):
            entries = self.entries(node, path)
            return {key: self.read(child, {}, child_path) for key, child, child_path in entries}
        if isinstance(node, SequenceNode):
            return [self.read(item, {}, (*path, index)) for index, item in enumerate(node.items)]
        return self.read_free_scalar(node, path)

    def read_free_scalar(self, node: Node, path: JsonPath) -> Any:  # noqa: ANN401
        text = str(getattr(node, "value", ""))
        if not is_plain(node):
            return text
        if text in _WORDS:
            return _WORDS[text]
        number = parse_number(text)
        if number is None and not _NON_FINITE.fullmatch(text):
            return text
        if number is None or not math.isfinite(number):
            self.fault(node, path, f"{_shorten(text)} is not finite: write a number, or put it in quotes as a text")
            return None
        return number

    def read_competences(self, node: MappingNode, path: JsonPath) -> dict[str, Any]:
        """Read the one part of a handbook that is large, without a detour through schemas."""
        value = {}
        for skill, child, child_path in self.entries(node, path):
            entry = _read_four_numbers(child)
            if entry is None:
                before = len(self.faults)
                entry = self.read(child, self.defs["competence"], child_path)
                if isinstance(entry, dict) and len(self.faults) == before:
                    self.check_complete(child, entry, child_path)
            value[skill] = entry
        return value

    def check_complete(self, node: Node, entry: dict[str, Any], path: JsonPath) -> None:
        for key in _COMPETENCE_KEYS:
            if key not in entry:
                self.fault(node, path, f"`{key}` is missing: add it")


def _read_four_numbers(node: Node) -> dict[str, float] | None:
    """Return an entry in the canonical form, or ``None`` for every other form, right or wrong."""
    if not isinstance(node, MappingNode) or len(node.entries) != len(_COMPETENCE_KEYS):
        return None
    start = node.start
    if start.anchor is not None or start.tag is not None:
        return None
    entry = {}
    for name, (key, child) in zip(_COMPETENCE_KEYS, node.entries, strict=True):
        if not isinstance(key, yaml.ScalarEvent) or not isinstance(child, yaml.ScalarEvent) or key.value != name:
            return None
        if child.style or child.tag or child.anchor or key.tag or key.anchor or not _NUMBER.fullmatch(child.value):
            return None
        number = float(child.value)
        if not math.isfinite(number):
            return None
        entry[name] = number
    return entry


def parse_number(text: str) -> int | float | None:
    """Return the number that a plain scalar is in YAML 1.2 decimal notation, or ``None``."""
    if _INTEGER.fullmatch(text) and len(text) <= _MAX_DIGITS + 1:
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else None


_TYPE_NAMES = {"string": "a text", "number": "a number", "integer": "a whole number", "boolean": "true or false"}


def _name(node: Node) -> str:
    if isinstance(node, MappingNode):
        return "a mapping"
    if isinstance(node, SequenceNode):
        return "a list"
    return _shorten(getattr(node, "value", "")) or "nothing"


def _shorten(text: str) -> str:
    limit = 40
    return json.dumps(text if len(text) <= limit else text[:limit] + "…", ensure_ascii=False) if text else ""


def _some_keys(schema: Mapping[str, Any]) -> str:
    return ", ".join(list(schema.get("properties", ()))[:3]) or "ids"
