"""The JSON Schemas: where they are, and what they find wrong with a value."""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillctl.store.typed_values import COMPETENCE, Fault

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from jsonschema.exceptions import ValidationError

    from skillctl.store.yaml_nodes import JsonPath

HANDBOOK_SCHEMAS = ("handbook", "mode", "skills", "agent", "selection", "playbook")


def schema_root() -> Path:
    """Return the folder of the schemas: in an installed package, or in the repository."""
    installed = Path(str(files("skillctl"))) / "_schemas"
    return installed if installed.is_dir() else Path(str(files("skillctl"))).parent / "schemas"


@cache
def load_schema(name: str) -> dict[str, Any]:
    """Return one schema by name, such as ``agent``; it is shared, so never change it."""
    schema: dict[str, Any] = json.loads((schema_root() / f"{name}.schema.json").read_bytes())
    return schema


def find_schema_problems(value: Any, name: str, *, known_bad: Collection[JsonPath] = ()) -> list[Fault]:  # noqa: ANN401
    """Return what a schema finds wrong with a value, apart from unknown keys and parts known to be bad.

    Competence entries are left out: ``cross_references`` checks them in bulk, a hundred thousand of them in a second.
    """
    validator = _validator(name)
    return _non_finite(value, ()) + [
        Fault(0, tuple(error.absolute_path), _sentence(error))
        for error in sorted(validator.iter_errors(_without_competence(value)), key=lambda e: [str(p) for p in e.path])
        if not _is_reported(error, known_bad)
    ]


def _non_finite(value: Any, path: JsonPath) -> list[Fault]:  # noqa: ANN401
    """Find what no schema forbids: NaN passes every bound."""
    if isinstance(value, float) and not math.isfinite(value):
        return [Fault(0, path, f"must be finite, not {value!r}")]
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    skipped = "competence"  # in bulk, by cross_references
    return [fault for key, part in parts if key != skipped for fault in _non_finite(part, (*path, key))]


@cache
def _validator(name: str) -> Any:  # noqa: ANN401 - the class is imported late
    from jsonschema import Draft202012Validator

    return Draft202012Validator(_without_competence_schema(load_schema(name)))


def _without_competence_schema(schema: dict[str, Any]) -> dict[str, Any]:
    if "competence" not in schema.get("$defs", {}):
        return schema
    return {**schema, "$defs": {**schema["$defs"], COMPETENCE.rpartition("/")[2]: {}}}


def _without_competence(value: Any) -> Any:  # noqa: ANN401
    if not isinstance(value, dict) or not isinstance(value.get("profiles"), dict):
        return value
    profiles = {
        mode: {**profile, "competence": {}} if isinstance(profile, dict) and "competence" in profile else profile
        for mode, profile in value["profiles"].items()
    }
    return {**value, "profiles": profiles}


def _is_reported(error: ValidationError, bad: Collection[JsonPath]) -> bool:
    """Tell whether the reader said the same before, or said more exactly why no choice fits."""
    path = tuple(error.absolute_path)
    if error.validator == "additionalProperties" or any(path[:size] in bad for size in range(len(path) + 1)):
        return True
    return error.validator == "oneOf" and any(fault[: len(path)] == path for fault in bad)


_SENTENCES = {
    "minimum": "must be at least {wanted}, not {found!r}",
    "exclusiveMinimum": "must be greater than {wanted}, not {found!r}",
    "maximum": "must be at most {wanted}, not {found!r}",
    "minLength": "must not be empty",
    "minItems": "must not be empty",
    "maxLength": "is longer than {wanted} characters",
    "uniqueItems": "an item stands twice: keep one",
    "oneOf": "must be a text, or {{regex: ...}} with a regular expression",
    "not": "has both `model` and `command`: keep one",
    "enum": "must be one of {wanted}, not {found!r}",
    "pattern": "{found!r} does not match {wanted}",
}


def _sentence(error: ValidationError) -> str:
    if error.validator == "required":
        return f"`{next(_missing(error))}` is missing: add it"
    sentence = _SENTENCES.get(str(error.validator))
    return sentence.format(wanted=error.validator_value, found=error.instance) if sentence else error.message


def _missing(error: ValidationError) -> Iterator[str]:
    required: Any = error.validator_value
    present: Any = error.instance
    return (key for key in required if key not in present and f"'{key}'" in error.message)
