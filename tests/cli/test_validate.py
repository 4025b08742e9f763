from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from skillctl.store.schema import load_schema

if TYPE_CHECKING:
    from conftest import Run

DATA = Path(__file__).resolve().parents[1] / "data"
BASIC = DATA / "valid" / "basic"


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    root = Path(shutil.copytree(BASIC, tmp_path / "books" / "broken"))
    (root / "agents" / "bad.yaml").write_text("agent: a\nmodell: m\nmodes: [anser]\n", encoding="utf-8")
    return root


def test_a_valid_handbook_is_silent_on_stdout(run: Run) -> None:
    result = run("validate", BASIC)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "1 handbook, 0 problems\n")


def test_quiet_says_nothing_at_all(run: Run) -> None:
    assert run("-q", "validate", BASIC).output == ""


def test_each_problem_is_one_line_with_its_place(broken: Path, run: Run) -> None:
    result = run("validate", broken)
    assert result.exit_code == 1
    bad = f"{broken}/agents/bad.yaml"
    assert result.stdout.splitlines() == [
        f"{bad}:2::$.modell: unknown key: did you mean `model`? (a note of your own starts with `x-`)",
        f"{bad}:3::$.modes[0]: there is no mode `anser`: did you mean `answer`?",
    ]
    assert result.stderr == "1 handbook, 2 problems\n"


def test_json_has_the_same_facts_and_follows_its_schema(broken: Path, run: Run) -> None:
    (broken / "agents" / "note.txt").touch()
    result = run("validate", broken, "-o", "json")
    found = json.loads(result.stdout)
    Draft202012Validator(load_schema("validate")).validate(found)
    assert result.exit_code == 1
    assert found["handbooks"] == [str(broken)]
    assert [(problem["line"], problem["path"]) for problem in found["problems"]] == [
        (2, "$.modell"),
        (3, "$.modes[0]"),
        (None, "$"),
    ]


def test_a_folder_of_handbooks_is_searched_and_no_handbook_checked_twice(broken: Path, run: Run) -> None:
    shutil.copytree(BASIC, broken.parent / "good")
    files = [broken / "agents" / "bad.yaml", broken / "handbook.yaml", broken / "agents"]
    result = run("validate", broken.parent, *files, broken)
    assert result.exit_code == 1
    assert result.stderr == "2 handbooks, 2 problems\n"


def test_a_file_of_a_handbook_stands_for_the_handbook(run: Run) -> None:
    result = run("validate", BASIC / "agents" / "no.yaml", BASIC / "handbook.yaml")
    assert (result.exit_code, result.stderr) == (0, "1 handbook, 0 problems\n")


def test_a_handbook_without_handbook_yaml_has_that_problem(broken: Path, run: Run) -> None:
    (broken / "handbook.yaml").unlink()
    for path in (broken, broken / "agents" / "bad.yaml"):
        result = run("validate", path)
        assert result.exit_code == 1
        assert f"{broken}/handbook.yaml::$: is missing" in result.stdout


def test_what_does_not_exist_or_is_no_handbook_is_bad_input(tmp_path: Path, run: Run) -> None:
    missing = run("validate", BASIC, tmp_path / "none")
    assert (missing.exit_code, missing.stdout) == (3, "")
    assert "does not exist" in missing.stderr
    empty = run("validate", tmp_path)
    assert empty.exit_code == 3
    assert "neither is nor holds a handbook" in empty.stderr


def test_spaces_and_other_letters_in_paths_do_no_harm(tmp_path: Path, run: Run) -> None:
    root = Path(shutil.copytree(BASIC, tmp_path / "mein Händbuch 🤖"))
    (root / "agents" / "a b.yaml").write_text("agent: no\n", encoding="utf-8")
    result = run("validate", root)
    assert result.exit_code == 1
    assert f"`no` stands in {root}/agents/a b.yaml too" in result.stdout


def test_no_path_is_wrong_usage(run: Run) -> None:
    assert run("validate").exit_code == 2
