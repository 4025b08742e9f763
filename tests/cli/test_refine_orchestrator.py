"""A language model as orchestrator of `refine`: the completer is scripted, everything else is real."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from mixtures import OPPOSED, describe_kind, make_book, read_book
from scripted_models import MODEL, Install, asked, make_install

from skillctl.errors import OutsideError
from skillctl.llm.base import Completion

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run

    from skillctl.llm.base import Request

MIXED = describe_kind("answer.words", "sums", "rhymes")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a scripted client in the place of litellm."""
    return make_install(monkeypatch)


def name_finest(request: Request) -> str:
    """Name the skill whose line of the handbook speaks of the state, else the only one there is."""
    skills = [line[2:].split(":")[0] for line in str(request.messages[0]["content"]).splitlines() if line[:2] == "- "]
    ids = [skill for skill in skills if skill.startswith("answer.")]
    word = "sum" if "sum of" in asked(request) else "rhymes"
    telling = {"sum": ("sum", "number", "total", "large"), "rhymes": ("rhyme", "poem", "verse", "moon", "short")}[word]
    finest = [skill for skill in ids if any(term in skill.removeprefix("answer.words") for term in telling)]
    return json.dumps({"skills": {(finest or ids[:1])[0]: 1}})


def test_the_model_weighs_both_logs_for_every_edit_and_the_profiles_are_its_own(
    tmp_path: Path, run: Run, script: Install
) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED, count=80)
    client = script(name_finest)
    assert run("-q", "profile", book, *logs[:2], "--orchestrator", MODEL).exit_code == 0
    result = run("refine", book, *logs, "--orchestrator", MODEL, "-o", "json")
    assert result.exit_code == 0, result.stderr
    first = json.loads(result.stdout)["proposals"][0]
    assert (first["kind"], first["skills"], first["applied"]) == ("split", ["answer.words"], True)
    assert "expected cost" in result.stderr
    assert "spent on language models in this run" in result.stderr
    assert run("validate", book).exit_code == 0
    before, calls = read_book(book), len(client.requests)
    assert f"orchestrator: {MODEL}" in before["handbook.yaml"].decode()
    again = run("refine", book, *logs, "--orchestrator", MODEL, "-o", "json")
    assert json.loads(again.stdout)["is_known"]
    assert run("-q", "profile", book, *logs[:2], "--orchestrator", MODEL).exit_code == 0
    assert read_book(book) == before
    assert len(client.requests) == calls


def test_what_is_left_to_refine_is_noted_for_each_orchestrator(tmp_path: Path, run: Run, script: Install) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED, count=40)
    script(lambda _: '{"skills": {"answer.words": 1}}')
    run("-q", "refine", book, *logs)
    other = json.loads(run("-q", "refine", book, *logs, "--orchestrator", MODEL, "--dry-run", "-o", "json").stdout)
    assert not other["is_known"]
    assert json.loads(run("-q", "refine", book, *logs, "-o", "json").stdout)["is_known"]


@pytest.mark.parametrize("name", ["logged", "nobody"])
def test_an_orchestrator_that_cannot_weigh_new_skills_is_wrong_usage(tmp_path: Path, run: Run, name: str) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED, count=20)
    result = run("refine", book, *logs, "--orchestrator", name)
    assert result.exit_code == 2
    assert name in result.stderr or "logged" in result.stderr


def test_a_service_that_is_gone_and_a_budget_that_ends_leave_the_handbook(
    tmp_path: Path, run: Run, script: Install
) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED, count=20)
    before = read_book(book)
    script(lambda _: OutsideError("the key is wrong", code="auth"))
    assert run("refine", book, *logs, "--orchestrator", MODEL).exit_code == 4
    assert read_book(book) == before
    client = script(lambda request: Completion(name_finest(request), prompt_tokens=1000, completion_tokens=10))
    stopped = run("refine", book, *logs, "--orchestrator", MODEL, "--max-cost", "0.003")
    assert stopped.exit_code == 1
    assert "stopped before --max-cost could be passed" in stopped.stderr
    assert len(client.requests) < 20
    assert read_book(book) == before
