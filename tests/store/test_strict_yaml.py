from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from skillctl.store.schema import load_schema
from skillctl.store.strict_yaml import YamlFaultError, parse_yaml
from skillctl.store.typed_values import parse_number, read_value, render_path


@pytest.fixture(params=["libyaml", "pure Python"])
def _parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pure Python":
        monkeypatch.setattr("yaml.__with_libyaml__", False)


@pytest.mark.usefixtures("_parser")
@pytest.mark.parametrize(
    "text",
    ["no", "on", "1e3", "0o17", "08", "1:30", "1.10", "2026-01-01", "null", "~", "=", "y", "4e-7", "0x1F", ".inf"],
)
def test_plain_scalars_are_texts_where_the_schema_says_text(text: str) -> None:
    value, faults = read_value(parse_yaml(f"agent: {text}\nmodes: [{text}]\n".encode()), load_schema("agent"))
    assert (value, faults) == ({"agent": text, "modes": [text]}, [])


@pytest.mark.usefixtures("_parser")
@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("4e-7", 4e-7),
        ("4.0e-07", 4e-7),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("+1", 1.0),
        ("0", 0.0),
        ("08", 8.0),
    ],
)
def test_plain_scalars_are_numbers_where_the_schema_says_number(text: str, number: float) -> None:
    source = f"agent: a\nprice: {{prompt_usd_per_mtok: {text}}}\n"
    value, faults = read_value(parse_yaml(source.encode()), load_schema("agent"))
    assert faults == []
    assert value["price"]["prompt_usd_per_mtok"] == number


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("False", False), ("yes", None), ("'true'", None), ("1", None)]
)
def test_only_true_and_false_are_truth_values(text: str, value: bool | None) -> None:  # noqa: FBT001 - a parameter
    schema = {"type": "object", "properties": {"b": {"type": "boolean"}}}
    found, faults = read_value(parse_yaml(f"b: {text}\n".encode()), schema)
    assert found == {"b": value}
    assert [fault.message.split(" without")[0] for fault in faults] == ["must be true or false"] * (value is None)


@pytest.mark.usefixtures("_parser")
@pytest.mark.parametrize("text", ["1_000", "0x10", "0o7", "1:30", "yes", "1,5", "--1", "1e", "e1"])
def test_other_notations_are_no_numbers(text: str) -> None:
    source = f"agent: a\nprice:\n  prompt_usd_per_mtok: {text}\n"
    _, faults = read_value(parse_yaml(source.encode()), load_schema("agent"))
    assert [(fault.line, fault.message.split(",")[0]) for fault in faults] == [(3, "must be a number")]


@pytest.mark.usefixtures("_parser")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("true", True),
        ("", None),
        ("~", None),
        ("1", 1),
        ("1.5e3", 1500.0),
        ("2026-01-01", "2026-01-01"),
        ("0o17", "0o17"),
        ("'1'", "1"),
        ("{a: [1, x]}", {"a": [1, "x"]}),
    ],
)
def test_values_without_a_schema_follow_yaml_1_2(text: str, value: object) -> None:
    found, faults = read_value(parse_yaml(f"agent: a\nx-v: {text}\n".encode()), load_schema("agent"))
    assert faults == []
    assert found["x-v"] == value
    assert type(found["x-v"]) is type(value)


@pytest.mark.usefixtures("_parser")
@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"", 0, "is empty"),
        (b"a: 1\n--- \nb: 1\n", 2, "a second document starts here"),
        (b"a: 1\n\tb: 1\n", 2, "a tab indents this line"),
        (b"a: [1\nb: 2", 2, "is not valid YAML"),
        (b"\na: b: c\n", 2, "is not valid YAML"),
        (b"a: " + b"[" * 60 + b"]" * 60, 1, "is nested more than 50 levels deep"),
        (b"a: 1\r\n<<<<<<< HEAD\r\n", 2, "an unresolved merge conflict"),
    ],
)
def test_faults_have_a_line_and_say_what_to_do(data: bytes, line: int, message: str) -> None:
    with pytest.raises(YamlFaultError, match=message) as caught:
        parse_yaml(data)
    assert caught.value.line == line


def test_numbers_of_any_length_are_parsed_in_bounded_time() -> None:
    assert parse_number("9" * 100_000) == float("inf")
    assert parse_number("1" * 18) == int("1" * 18)


@pytest.mark.parametrize(
    ("path", "text"),
    [((), "$"), (("a", 3, "b-c"), "$.a[3].b-c"), (("a.b", "é", ""), '$["a.b"]["é"][""]')],
)
def test_paths_are_json_paths(path: tuple[str | int, ...], text: str) -> None:
    assert render_path(path) == text


def test_reading_is_the_same_under_every_hash_seed(tmp_path: Path) -> None:
    source = Path(__file__).resolve().parents[1] / "data" / "valid" / "handmade"
    code = (
        "import sys, shutil; from pathlib import Path; from skillctl.store.handbook_dir import *\n"
        "root = Path(sys.argv[2]); shutil.copytree(sys.argv[1], root); save_handbook(load_handbook(root), root)\n"
        "print([p.read_bytes() for p in handbook_files(root)])"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code, str(source), str(tmp_path / seed)],
            env={"PYTHONHASHSEED": seed, "HOME": str(tmp_path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(seen) == 1
