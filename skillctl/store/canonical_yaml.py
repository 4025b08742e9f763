"""The one way in which skillctl writes a value as YAML: keys in the schema's order, never wrapped, comments kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from skillctl.store.comments import EntryPath, Line, item_steps, weave
from skillctl.store.yaml_scalars import is_block_text, render_scalar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillctl.store.comments import Trivia

# A simple key ends after 1,024 characters in both versions of YAML.
_LONGEST_SIMPLE_KEY = 1000
_NEWLINE = "\n"
_FREE: Mapping[str, Any] = {}


class _Place(NamedTuple):
    schema: Mapping[str, Any]
    indent: int
    path: EntryPath


def emit_yaml(
    data: Mapping[str, Any],
    schema: Mapping[str, Any],
    trivia: Mapping[EntryPath, Trivia] | None = None,
) -> str:
    """Return the canonical text of a document, with the comments of an earlier text in their places."""
    lines = _Emitter(schema).mapping(data, _Place(schema, 0, ()))
    return weave(lines, trivia or {})


def order_keys(data: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Return the keys in the schema's order, then the others in their own."""
    known = [key for key in schema.get("properties", ()) if key in data]
    return known + [key for key in data if key not in schema.get("properties", ())]


class _Emitter:
    def __init__(self, root_schema: Mapping[str, Any]) -> None:
        self.defs: Mapping[str, Any] = root_schema.get("$defs", {})

    def resolve(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        if "$ref" in schema:
            schema = self.defs[schema["$ref"].removeprefix("#/$defs/")]
        if "oneOf" in schema:
            schema = next(choice for choice in schema["oneOf"] if choice["type"] == "object")
        return schema

    def child_schema(self, schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        rest = schema.get("additionalProperties")
        found = schema.get("properties", {}).get(key, rest if isinstance(rest, dict) else _FREE)
        return self.resolve(found)

    def mapping(self, data: Mapping[str, Any], place: _Place) -> Iterator[Line]:
        for key in order_keys(data, place.schema):
            child = _Place(self.child_schema(place.schema, key), place.indent, (*place.path, key))
            margin = " " * place.indent
            name = render_scalar(key)
            if len(name) > _LONGEST_SIMPLE_KEY:
                yield Line((child.path,), f"{margin}? {name}", is_inline=False)
                yield from self.entry(f"{margin}:", data[key], child)
            else:
                yield from self.entry(f"{margin}{name}:", data[key], child)

    def entry(self, head: str, value: Any, place: _Place) -> Iterator[Line]:  # noqa: ANN401 - any JSON value
        if place.schema.get("x-style") == "block" and is_block_text(value):
            yield from self.block(head, value, place)
            return
        if _is_inline(value, place.schema):
            yield Line((place.path,), f"{head} {self.inline(value, place.schema)}", is_inline=value not in ({}, []))
            return
        yield Line((place.path,), head, is_inline=False)
        if isinstance(value, dict):
            yield from self.mapping(value, place._replace(indent=place.indent + 2))
        else:
            yield from self.sequence(value, place)

    def block(self, head: str, text: str, place: _Place) -> Iterator[Line]:
        """Yield a text of several lines as it is, so that a diff shows which of them changed."""
        yield Line((place.path,), f"{head} {'|' if text.endswith(_NEWLINE) else '|-'}", is_inline=False)
        margin = " " * (place.indent + 2)
        for line in text.removesuffix(_NEWLINE).split(_NEWLINE):
            yield Line((), margin + line if line else "", is_inline=False)

    def sequence(self, items: list[Any], place: _Place) -> Iterator[Line]:
        schema = self.resolve(place.schema.get("items", _FREE))
        margin = " " * place.indent
        for step, item in zip(item_steps(items), items, strict=True):
            path = (*place.path, step)
            if isinstance(item, list) or _is_inline(item, schema):
                yield Line((path,), f"{margin}- {self.inline(item, schema)}", is_inline=True)
                continue
            first, *rest = self.mapping(item, _Place(schema, place.indent + 2, path))
            text = f"{margin}- {first.text.lstrip(' ')}"
            yield first._replace(paths=(path, *first.paths), text=text)
            yield from rest

    def inline(self, value: Any, schema: Mapping[str, Any]) -> str:  # noqa: ANN401
        if isinstance(value, dict):
            entries = [
                f"{render_scalar(key, in_flow=True)}: {self.inline_part(value[key], self.child_schema(schema, key))}"
                for key in order_keys(value, schema)
            ]
            return "{" + ", ".join(entries) + "}"
        if isinstance(value, list):
            items = self.resolve(schema.get("items", _FREE))
            return "[" + ", ".join(self.inline_part(item, items) for item in value) + "]"
        return render_scalar(value)

    def inline_part(self, value: Any, schema: Mapping[str, Any]) -> str:  # noqa: ANN401
        if isinstance(value, (dict, list)):
            return self.inline(value, schema)
        return render_scalar(value, in_flow=True)


def _is_inline(value: Any, schema: Mapping[str, Any]) -> bool:  # noqa: ANN401
    return not isinstance(value, (dict, list)) or not value or schema.get("x-style") == "line"
