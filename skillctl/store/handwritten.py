"""Keep the ``x-`` fields of a file that the model has no place for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skillctl.store.comments import item_steps

if TYPE_CHECKING:
    from collections.abc import Mapping


def keep_handwritten(new: Any, old: Any, schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Return ``new`` with those hand-written fields of ``old`` that by the schema live in the file alone."""
    if "$ref" in schema:
        schema = defs[schema["$ref"].removeprefix("#/$defs/")]
    if "oneOf" in schema:
        schema = next(choice for choice in schema["oneOf"] if choice["type"] == "object")
    if isinstance(new, dict) and isinstance(old, dict):
        return _keep_in_mapping(new, old, schema, defs)
    if isinstance(new, list) and isinstance(old, list):
        before = dict(zip(item_steps(old), old, strict=True))
        shape = schema.get("items", {})
        return [
            keep_handwritten(item, before.get(step), shape, defs)
            for step, item in zip(item_steps(new), new, strict=True)
        ]
    return new


def _keep_in_mapping(
    new: dict[str, Any],
    old: dict[str, Any],
    schema: Mapping[str, Any],
    defs: Mapping[str, Any],
) -> dict[str, Any]:
    properties = schema.get("properties", {})
    rest = schema.get("additionalProperties") or {}
    kept = {key: keep_handwritten(value, old.get(key), properties.get(key, rest), defs) for key, value in new.items()}
    if schema.get("x-extra") == "file":
        kept |= {key: value for key, value in old.items() if key.startswith("x-")}
    return kept
