"""``skillctl select`` through the command line."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import jsonschema
import pytest
from planted import make_handbook, make_traces, write_traces

from skillctl.store.schema import load_schema

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run


@pytest.fixture
def book(tmp_path: Path, run: Run) -> Path:
    return make_handbook(tmp_path, run)


def _validation(folder: Path, confusion: float = 0.0) -> Path:
    return write_traces(folder / "validation.jsonl", make_traces(120, seed=3, first=2000, confusion=confusion))


@pytest.mark.parametrize(("confusion", "kept"), [(0.0, ["words", "words.add", "words.rhyme"]), (0.5, [])])
def test_an_orchestrator_that_confuses_fine_skills_gets_the_coarse_cut(
    run: Run, book: Path, tmp_path: Path, confusion: float, kept: list[str]
) -> None:
    log = _validation(tmp_path, confusion)
    result = run("select", book, "--validation", log, "--orchestrator", "logged", "-o", "json")
    assert result.exit_code == 0
    selection = json.loads(result.stdout)
    jsonschema.Draft202012Validator(load_schema("selection")).validate(selection)
    assert selection["choice"]["skills"] == kept
    assert selection["validation"]["queries"] == 120
    assert selection["candidates"] == 3
    assert (book / "selections" / "logged.yaml").exists()
    assert run("validate", book).exit_code == 0


def test_selecting_again_changes_no_byte_whatever_the_number_of_jobs(run: Run, book: Path, tmp_path: Path) -> None:
    log = _validation(tmp_path, 0.2)
    args = ("select", book, "--validation", log, "--orchestrator", "logged")
    run(*args)
    first = (book / "selections" / "logged.yaml").read_bytes()
    run(*args, "--jobs", "3")
    assert (book / "selections" / "logged.yaml").read_bytes() == first


def test_a_dry_run_writes_nothing(run: Run, book: Path, tmp_path: Path) -> None:
    log = _validation(tmp_path)
    assert run("select", book, "--validation", log, "--orchestrator", "logged", "--dry-run").exit_code == 0
    assert not (book / "selections").exists()


def test_evaluate_uses_the_selection_of_its_orchestrator_alone(run: Run, book: Path, tmp_path: Path) -> None:
    log = _validation(tmp_path, 0.5)
    args = ("evaluate", book, "--traces", log, "-o", "json", "--orchestrator", "logged")
    before = json.loads(run(*args, "--orchestrator", "embedded").stdout)["orchestrators"]
    selection = json.loads(run("select", book, "--validation", log, "--orchestrator", "logged", "-o", "json").stdout)
    after = json.loads(run(*args, "--orchestrator", "embedded").stdout)["orchestrators"]
    assert after["logged"]["metrics"]["accuracy"]["value"] == selection["choice"]["accuracy"]
    assert after["logged"]["metrics"]["accuracy"]["value"] > before["logged"]["metrics"]["accuracy"]["value"]
    assert after["embedded"] == before["embedded"]


def test_route_names_only_skills_that_were_selected(run: Run, book: Path, tmp_path: Path) -> None:
    query = '{"id": 1, "query": "what is the sum of 3 plus 4?"}\n'
    before = json.loads(run("-q", "route", book, stdin=query).stdout)
    assert "words.add" in before["skills"]
    log = _validation(tmp_path)
    run(
        "select",
        book,
        "--validation",
        log,
        "--orchestrator",
        "embedded",
        "--rule",
        "ceiling",
        "--max-cost-per-query",
        "9",
    )
    path = book / "selections" / "embedded.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("skills: [words, words.add, words.rhyme]", "skills: [words]"), encoding="utf-8")
    after = json.loads(run("-q", "route", book, stdin=query).stdout)
    assert after["skills"] == {"words": 1.0}
    assert json.loads(run("-q", "route", book, stdin=query).stdout) == after, "from the cache too"


def test_a_live_selection_lets_the_orchestrator_see_each_candidate_alone(run: Run, book: Path, tmp_path: Path) -> None:
    log = _validation(tmp_path)
    result = run("select", book, "--validation", log, "--orchestrator", "embedded", "--live", "-o", "json")
    assert json.loads(result.stdout)["choice"]["skills"] == ["words", "words.add", "words.rhyme"]


def test_a_ceiling_that_nothing_keeps_is_an_error_with_the_least_cost(run: Run, book: Path, tmp_path: Path) -> None:
    log = _validation(tmp_path)
    args = ("select", book, "--validation", log, "--orchestrator", "logged", "--max-cost-per-query")
    result = run(*args, "0.001")
    assert result.exit_code == 3
    assert "no candidate costs at most $0.001 a query; the cheapest costs $0.01" in result.stderr
    assert run(*args, "0.03").exit_code == 0


def test_a_ceiling_and_its_rule_belong_together(run: Run, book: Path, tmp_path: Path) -> None:
    log = _validation(tmp_path)
    args = ("select", book, "--validation", log, "--orchestrator", "logged")
    assert run(*args, "--rule", "ceiling").exit_code == 2
    assert run(*args, "--rule", "lambda", "--max-cost-per-query", "1").exit_code == 2


def test_show_prints_the_choice_and_its_front(run: Run, book: Path, tmp_path: Path) -> None:
    log = _validation(tmp_path)
    run("select", book, "--validation", log, "--orchestrator", "logged", "--lambda", "1")
    shown = run("show", book).stdout
    assert "Selection for logged" in shown
    assert "Pareto front" in shown


def test_validation_traces_without_a_choice_are_an_error(run: Run, book: Path, tmp_path: Path) -> None:
    log = write_traces(tmp_path / "one.jsonl", make_traces(5, seed=1)[::3])
    result = run("select", book, "--validation", log, "--orchestrator", "logged")
    assert result.exit_code == 3
    assert "verdicts of several agents" in result.stderr


def test_a_commit_holds_the_selection_alone(run: Run, book: Path, tmp_path: Path, git_repo: Path) -> None:
    home = git_repo / "book"
    book.rename(home)

    def git(*args: str) -> str:
        return subprocess.run(["git", "-C", str(git_repo), *args], check=True, capture_output=True, text=True).stdout

    git("add", "-A")
    git("commit", "-qm", "start")
    (git_repo / "other.txt").write_text("not mine", encoding="utf-8")
    log = _validation(tmp_path)
    args = ("select", home, "--validation", log, "--orchestrator", "logged", "--commit")
    assert run(*args).exit_code == 0
    assert git("show", "--name-only", "--format=%s").split("\n")[:3] == [
        "Select 3 skills for logged", "", "book/selections/logged.yaml",
    ]  # fmt: skip
    head = git("rev-parse", "HEAD")
    assert run(*args).exit_code == 0
    assert git("rev-parse", "HEAD") == head, "nothing changed, so nothing is committed"
