from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from skillctl.store.cross_references import find_cross_problems
from skillctl.store.documents import check_data
from skillctl.store.handbook_files import FOLDER_KINDS, HandbookFile, new_path
from skillctl.store.schema import load_schema, schema_root
from skillctl.store.strict_yaml import parse_yaml
from skillctl.store.typed_values import read_value

NAMES = sorted(path.name.removesuffix(".schema.json") for path in schema_root().glob("*.schema.json"))
AGENT = load_schema("agent")


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_is_valid_2020_12_and_names_itself(name: str) -> None:
    schema = json.loads((schema_root() / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"].endswith(f"/{name}.schema.json")


@pytest.mark.parametrize("name", NAMES)
def test_every_field_of_every_schema_is_described(name: str) -> None:
    def undescribed(schema: object, path: str) -> list[str]:
        if not isinstance(schema, dict):
            return []
        here = [path] if "description" not in schema and "$ref" not in schema and path else []
        fields = schema.get("properties", {}).items()
        below = [found for key, part in fields for found in undescribed(part, f"{path}.{key}")]
        return here + below + [f for key, part in schema.get("$defs", {}).items() for f in undescribed(part, f"#{key}")]

    assert undescribed(load_schema(name), "") == []


numbers = st.none() | st.sampled_from([0.0, -1.0, 1.0, 0.5, 1e-300, 2.0, 1e300]) | st.floats(-2, 1e6)
entries = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("alpha", "beta", "successes", "failures", "other"), numbers)
)


@given(entries)
def test_code_and_schema_agree_about_competences(entry: dict[str, float | None]) -> None:
    """The schema is the authority; the code adds that counts do not exceed their parameters."""
    schema = {"$ref": "#/$defs/competence", "$defs": AGENT["$defs"]}
    by_schema = Draft202012Validator(schema).is_valid(entry)
    fields = ", ".join(f"{key}: {'x' if value is None else repr(float(value))}" for key, value in entry.items())
    text = f"agent: a\nprofiles:\n  m:\n    competence:\n      m: {{{fields}}}\n"
    value, faults = read_value(parse_yaml(text.encode()), AGENT)
    document = check_data(HandbookFile(new_path(schema_root(), FOLDER_KINDS[2], "a"), FOLDER_KINDS[2]), value)
    found = [fault for _, fault in find_cross_problems([document]) if "competence" in fault.path]
    is_good = not faults and not found
    exceeds = by_schema and (
        entry["successes"] > entry["alpha"] + 1e-4 or entry["failures"] > entry["beta"] + 1e-4  # type: ignore[operator]
    )
    assert is_good == (by_schema and not exceeds)


def test_finiteness_is_checked_by_code_as_no_schema_can() -> None:
    assert Draft202012Validator({"exclusiveMinimum": 0}).is_valid(math.nan)
