"""`refine --llm`: the completer is scripted, everything else is real."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from mixtures import ALIKE, OPPOSED, describe_kind, make_book, read_book
from scripted_models import MODEL, Install, asked, make_install

from skillctl.errors import OutsideError
from skillctl.llm.base import Completion
from skillctl.store.handbook_dir import find_problems, load_handbook
from skillctl.store.schema import load_schema

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run

    from skillctl.llm.base import Request

MIXED = describe_kind("answer.words", "sums", "rhymes")
TWINS = describe_kind("answer.sums", "sums") + describe_kind("answer.rhymes", "rhymes")
REASON = "Adding numbers and finding rhymes are two abilities."
SUMS = {"name": "Adding numbers", "description": "Adds numbers up.", "indicators": ["sum", "total", "pigeon"]}
RHYMES = {"name": "Finding rhymes", "description": "Finds rhymes for verses.", "indicators": ["rhymes", "verse"]}


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a scripted client in the place of litellm."""
    return make_install(monkeypatch)


def advise(request: Request, *, agree: bool = True, reason: str = REASON, **more: Any) -> str:  # noqa: ANN401
    groups = asked(request).split("GROUP ")[1:]
    skills = [{"group": n, **(SUMS if "sum of" in text else RHYMES)} for n, text in enumerate(groups, 1)]
    return json.dumps({"agree": agree, "reason": reason, "skills": skills} | more)


def refine(run: Run, book: Path, logs: list[Any], *args: str) -> Any:  # noqa: ANN401
    """Return the result as data; stderr is at ``stderr``."""
    result = run("refine", book, *logs, "-o", "json", *args)
    assert result.exit_code == 0, result.stderr
    data = json.loads(result.stdout)
    Draft202012Validator(load_schema("refinement")).validate(data)
    return {**data, "stderr": result.stderr}


def decisions(data: dict[str, Any]) -> list[Any]:
    return [(one["kind"], one["skills"], one["applied"], one["log10_bayes_factor"]) for one in data["proposals"]]


def test_a_model_names_the_halves_and_gives_its_opinion(tmp_path: Path, run: Run, script: Install) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED)
    client = script(lambda request: Completion(advise(request), prompt_tokens=100, completion_tokens=10))
    data = refine(run, book, logs, "--llm", MODEL)
    first = data["proposals"][0]
    assert sorted(first["made"]) == ["answer.words.adding-numbers", "answer.words.finding-rhymes"]
    assert [part["skill"] for part in first["parts"]] == first["made"]
    assert first["opinion"] == {"model": MODEL, "agrees": True, "reason": REASON}
    assert first["is_named_by_model"]
    assert (data["llm"], data["orchestrator"]) == (MODEL, "embedded")
    skills = {skill.id: skill for skill in load_handbook(book).skills["answer"]}
    adding = skills["answer.words.adding-numbers"]  # type: ignore[index]
    assert (adding.description, adding.parent) == ("Adds numbers up.", "answer.words")
    assert {"sum", "total"} <= {sign.text for sign in adding.indicators}
    assert "pigeon" not in {sign.text for sign in adding.indicators}
    assert adding.origin
    assert adding.origin.how == "split"
    assert find_problems(book) == []
    assert "1 calls to make and at most 1 more" in data["stderr"]
    assert f"{MODEL} agrees with {len(client.requests)} of {len(client.requests)} proposals" in data["stderr"]
    assert "spent on language models in this run: 0.0001" in data["stderr"]


def test_replies_are_kept_and_a_second_run_proposes_nothing_and_asks_nothing(
    tmp_path: Path, run: Run, script: Install
) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED)
    client = script(advise)
    dry = refine(run, book, logs, "--llm", MODEL, "--dry-run")
    calls = len(client.requests)
    wet = refine(run, book, logs, "--llm", MODEL)
    assert len(client.requests) == calls
    assert wet["proposals"] == dry["proposals"]
    before = read_book(book)
    again = refine(run, book, logs, "--llm", MODEL)
    assert again["proposals"] == []
    assert again["is_known"]
    assert len(client.requests) == calls
    assert read_book(book) == before


@pytest.mark.parametrize("agree", [True, False], ids=["agrees", "disagrees"])
@pytest.mark.parametrize("world", ["mixed", "twins"])
def test_an_opinion_never_changes_what_is_applied(
    tmp_path: Path, run: Run, script: Install, world: str, *, agree: bool
) -> None:
    skills, chances, count = {"mixed": (MIXED, OPPOSED, 80), "twins": (TWINS, ALIKE, 400)}[world]
    book, logs = make_book(tmp_path, run, skills, chances, count=count)
    offline = refine(run, book, logs, "--dry-run")
    script(lambda request: advise(request, agree=agree))
    asked_too = refine(run, book, logs, "--dry-run", "--llm", MODEL)
    assert decisions(asked_too)[0] == decisions(offline)[0]
    assert asked_too["proposals"][0]["opinion"]["agrees"] == agree


def test_the_table_and_the_commit_show_the_opinion(git_repo: Path, run: Run, script: Install) -> None:
    book, logs = make_book(git_repo, run, MIXED, OPPOSED)
    git(git_repo, "add", ".")
    git(git_repo, "commit", "-q", "-m", "first")
    script(lambda request: advise(request, agree=False, reason="They look\nalike.\n\nSkillctl-Command: evil"))
    for form in ("text", "markdown"):
        shown = run("refine", book, *logs, "--llm", MODEL, "--dry-run", "-o", form).stdout
        assert "second opinion" in shown
        assert f"- {MODEL} disagrees: They look alike." in shown
    assert run("refine", book, *logs, "--llm", MODEL, "--commit").exit_code == 0
    message = git(git_repo, "log", "--reverse", "--format=%B%x00").split("\0")[1]
    assert f"- {MODEL} disagrees: They look alike.\n" in message
    assert f"- names and descriptions by {MODEL}" in message
    assert f"Skillctl-Model: {MODEL}" in message
    assert "evil" not in message


def git(repo: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=repo, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("reply", ["Yes!", OutsideError("no reply in 120 s", code="timeout")], ids=["prose", "timeout"])
def test_without_a_usable_reply_the_offline_names_stand_and_that_is_said(
    tmp_path: Path, run: Run, script: Install, reply: str | OutsideError
) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED, count=80)
    offline = refine(run, book, logs, "--dry-run")
    client = script(lambda _: reply)
    data = refine(run, book, logs, "--llm", MODEL, "--retries", "0")
    assert [one["made"] for one in data["proposals"]] == [one["made"] for one in offline["proposals"]]
    assert all(one["opinion"] is None and not one["is_named_by_model"] for one in data["proposals"])
    assert len(client.requests) <= 2 * len(data["proposals"])
    assert "proposals have no second opinion" in data["stderr"]
    assert find_problems(book) == []


def test_hostile_names_are_dropped_and_leave_the_handbook_valid(tmp_path: Path, run: Run, script: Install) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED, count=80)
    offline = refine(run, book, logs, "--dry-run")
    evil = {"group": 1, "id": "../../evil", "name": "Evil", "description": "Does evil things."}
    script(lambda request: advise(request, skills=[evil, {"group": 9, **SUMS}]))
    data = refine(run, book, logs, "--llm", MODEL)
    assert [one["made"] for one in data["proposals"]] == [one["made"] for one in offline["proposals"]]
    assert data["proposals"][0]["opinion"]["reason"] == REASON
    assert not data["proposals"][0]["is_named_by_model"]
    assert f"names or groups in the replies of {MODEL} could not be used" in data["stderr"]
    assert find_problems(book) == []


def test_a_service_that_refuses_us_ends_the_run_and_leaves_the_handbook(
    tmp_path: Path, run: Run, script: Install
) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED, count=80)
    before = read_book(book)
    script(lambda _: OutsideError("the key is wrong", code="auth"))
    result = run("refine", book, *logs, "--llm", MODEL)
    assert result.exit_code == 4
    assert "the key is wrong" in result.stderr
    assert read_book(book) == before
    assert run("refine", book, *logs, "--llm", "nobody").exit_code == 2


def test_a_budget_that_ends_leaves_the_rest_without_opinions(tmp_path: Path, run: Run, script: Install) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED, count=80)
    client = script(advise)
    data = refine(run, book, logs, "--llm", MODEL, "--max-cost", "0.0001")
    assert client.requests == []
    assert "stopped asking before --max-cost could be passed" in data["stderr"]
    assert decisions(data)[0][2]
