"""Language models behind `discover --llm` and `--orchestrator`: the completer is scripted, everything else is real."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from planted import make_handbook, make_traces, write_traces
from scripted_models import MODEL, Install, asked, make_install

from skillctl.errors import OutsideError
from skillctl.llm.base import Completion

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run

    from skillctl.llm.base import Request


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a scripted client in the place of litellm."""
    return make_install(monkeypatch)


@pytest.fixture
def book(tmp_path: Path, run: Run) -> Path:
    return make_handbook(tmp_path, run)


def name_skill(request: Request) -> Completion:
    """Name the right skill, as a model that costs something."""
    skill = "words.add" if "sum" in asked(request) else "words.rhyme"
    return Completion(json.dumps({"skills": {skill: 1}}), prompt_tokens=100, completion_tokens=10)


def read_files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*.yaml"))}


def route(run: Run, book: Path, lines: list[dict[str, Any]], *args: str) -> Any:  # noqa: ANN401
    stdin = "".join(json.dumps(line) + "\n" for line in lines)
    return run("route", book, "--orchestrator", MODEL, *args, stdin=stdin)


QUERIES = [{"id": 1, "query": "the sum of 1 and 2"}, {"id": 2, "query": "a rhyme"}, {"id": 3, "query": "a rhyme"}]


def test_route_asks_once_a_state_says_the_calls_first_and_pays_nothing_again(
    run: Run, book: Path, script: Install
) -> None:
    client = script(name_skill)
    first = route(run, book, QUERIES)
    assert first.exit_code == 0
    decisions = [json.loads(line) for line in first.stdout.splitlines()]
    assert [(line["id"], line["skills"], line["agent"]) for line in decisions] == [
        (1, {"words.add": 1.0}, "adder"),
        (2, {"words.rhyme": 1.0}, "poet"),
        (3, {"words.rhyme": 1.0}, "poet"),
    ]
    assert "openai/scripted: 2 calls to make, 0 answered from the cache; expected cost: 0.0" in first.stderr
    assert "spent on language models in this run: 0.000220 USD" in first.stderr
    again = route(run, book, QUERIES, "--jobs", "2")
    assert again.stdout == first.stdout
    assert "0 calls to make, 2 answered from the cache; expected cost: 0.000000 USD" in again.stderr
    assert "spent on language models in this run: 0.000000 USD" in again.stderr
    assert len(client.requests) == 2


def test_bad_replies_fall_back_to_the_mode_and_are_reported(run: Run, book: Path, script: Install) -> None:
    def reply(request: Request) -> Any:  # noqa: ANN401
        if "sum" in asked(request):
            return '{"skills": {"words.add": 1, "../../etc": 5}}'
        return "As an AI I would rather rhyme."

    script(reply)
    result = route(run, book, QUERIES)
    assert [json.loads(line)["skills"] for line in result.stdout.splitlines()][1:] == [{"answer": 1.0}] * 2
    assert "1 of 2 replies of openai/scripted could not be used" in result.stderr
    assert "the reply holds no JSON object with skills (1)" in result.stderr
    assert "1 skill ids of openai/scripted are unknown: ../../etc (1)" in result.stderr


def test_max_cost_stops_before_it_is_passed_and_a_rerun_goes_on(run: Run, book: Path, script: Install) -> None:
    client = script(lambda request: replace(name_skill(request), prompt_tokens=1000))
    states = [{"id": n, "query": f"the sum of {n}"} for n in range(8)]
    stopped = route(run, book, states, "--max-cost", "0.004")
    assert stopped.exit_code == 1
    assert "stopped before --max-cost could be passed" in stopped.stderr
    made = len(client.requests)
    assert 0 < made < 8
    assert route(run, book, states).exit_code == 0
    assert len(client.requests) == 8


def test_max_cost_with_an_unknown_price_is_refused_before_any_call(run: Run, book: Path, script: Install) -> None:
    client = script(name_skill)
    client.known = None
    result = route(run, book, QUERIES, "--max-cost", "1")
    assert result.exit_code == 3
    assert "the price of openai/scripted is unknown" in result.stderr
    assert client.requests == []
    assert "unknown for 2 calls" in route(run, book, QUERIES).stderr


def test_a_service_that_refuses_us_is_exit_code_4(run: Run, book: Path, script: Install) -> None:
    script(lambda _: OutsideError("the key is wrong", code="auth"))
    result = route(run, book, QUERIES)
    assert result.exit_code == 4
    assert "the key is wrong" in result.stderr


def test_a_missing_key_is_asked_for_before_the_first_call(run: Run, book: Path, script: Install) -> None:
    client = script(name_skill)
    agent = book / "agents" / "adder.yaml"
    agent.write_text(agent.read_text().replace("agent: adder\n", "agent: adder\nmodel: x/y\napi_key_env: MY_KEY\n"))
    result = run("route", book, "--orchestrator", "adder", stdin=json.dumps(QUERIES[0]))
    assert result.exit_code == 3
    assert "MY_KEY, which is not set" in result.stderr
    assert client.requests == []


@pytest.mark.parametrize("name", ["nobody", "adder", "logged"])
def test_a_name_that_no_model_can_have_is_wrong_usage(run: Run, book: Path, name: str) -> None:
    result = run("route", book, "--orchestrator", name, stdin="")
    assert result.exit_code == 2
    assert name in result.stderr


def test_evaluate_select_and_profile_ask_the_model_and_share_its_replies(
    run: Run, book: Path, tmp_path: Path, script: Install
) -> None:
    client = script(name_skill)
    traces = [{key: value for key, value in line.items() if key != "skills"} for line in make_traces(30, seed=5)]
    held_out = write_traces(tmp_path / "held.jsonl", traces)
    report = run("evaluate", book, "--traces", held_out, "--orchestrator", MODEL, "-o", "json")
    assert report.exit_code == 0, report.stderr
    assert json.loads(report.stdout)["metrics"]["accuracy"]["value"] > 0.8
    assert len(client.requests) == 30
    chosen = run("select", book, "--validation", held_out, "--orchestrator", MODEL)
    assert chosen.exit_code == 0, chosen.stderr
    assert [path.read_text().count(f"orchestrator: {MODEL}") for path in (book / "selections").iterdir()] == [1]
    assert run("validate", book).exit_code == 0
    profiled = run("profile", book, "--traces", held_out, "--orchestrator", MODEL)
    assert profiled.exit_code == 0, profiled.stderr
    assert len(client.requests) == 30
    assert "words.add: {" in (book / "agents" / "adder.yaml").read_text()


# --- discover ---


def propose(request: Request) -> str:
    skills = [
        {"name": "Adding numbers", "description": "Adds two numbers.", "indicators": ["sum", "plus"]},
        {"name": "Finding rhymes", "description": "Finds rhymes for verses.", "indicators": ["rhyme", "verse"]},
    ]
    pairs = asked(request).split("PAIR ")[1:]
    for skill in skills:
        skill["pairs"] = [n for n, pair in enumerate(pairs, 1) if str(skill["indicators"][0]) in pair]  # type: ignore[assignment]
    return json.dumps({"skills": [skill for skill in skills if skill["pairs"]]})


@pytest.fixture
def bare(tmp_path: Path, run: Run) -> tuple[Path, Path]:
    """A handbook without skills, and traces of 60 queries."""
    traces = [{key: value for key, value in line.items() if key != "skills"} for line in make_traces(60, seed=3)]
    log = write_traces(tmp_path / "log.jsonl", traces)
    root = tmp_path / "bare"
    assert run("init", root, "--agents-from", log).exit_code == 0
    return root, log


def test_discover_writes_the_proposed_skills_that_the_evidence_supports(
    run: Run, bare: tuple[Path, Path], script: Install
) -> None:
    root, log = bare
    client = script(propose)
    result = run("discover", root, "--traces", log, "--llm", MODEL, "--no-labels")
    assert result.exit_code == 0, result.stderr
    text = (root / "skills" / "answer.yaml").read_text()
    assert "answer: the proposals are used" in result.stderr
    assert "id: answer.adding-numbers" in text
    assert "description: Finds rhymes for verses." in text
    assert run("validate", root).exit_code == 0
    assert len(client.requests) <= 12
    before = read_files(root)
    asked_for = len(client.requests)
    again = run("discover", root, "--traces", log, "--llm", MODEL, "--no-labels")
    assert again.exit_code == 0
    assert read_files(root) == before
    assert len(client.requests) == asked_for


@pytest.mark.parametrize(
    "reply",
    [
        "I cannot do that.",
        '{"skills": [{"id": "../../evil", "name": "evil"}]}',
        OutsideError("empty", code="empty_reply"),
        OutsideError("slow down", code="rate_limit"),
    ],
    ids=["prose", "wrong schema", "empty", "rate limit"],
)
def test_discover_refuses_without_a_usable_reply_and_leaves_the_handbook(
    run: Run, bare: tuple[Path, Path], script: Install, reply: str | OutsideError
) -> None:
    root, log = bare
    before = read_files(root)
    script(lambda _: reply)
    result = run("discover", root, "--traces", log, "--llm", MODEL)
    assert result.exit_code == 4
    assert "openai/scripted" in result.stderr or "slow down" in result.stderr or "empty" in result.stderr
    assert read_files(root) == before
    assert sorted(path.name for path in root.parent.iterdir()) == ["bare", "log.jsonl"]


def test_proposals_that_no_outcome_supports_do_not_replace_what_was_found_without_them(
    run: Run, bare: tuple[Path, Path], script: Install
) -> None:
    root, log = bare
    noise = {"name": "Even numbers", "description": "Knows which numbers are even.", "indicators": ["7"], "pairs": [1]}
    script(lambda _: json.dumps({"skills": [noise]}))
    result = run("discover", root, "--traces", log, "--llm", MODEL)
    assert result.exit_code == 0
    assert "answer: outcomes do not tell the proposals apart: none is used" in result.stderr
    assert "even" not in (root / "skills" / "answer.yaml").read_text()


def test_discover_reads_standard_input_with_a_model_too(run: Run, bare: tuple[Path, Path], script: Install) -> None:
    root, log = bare
    script(propose)
    result = run("discover", root, "--traces", "-", "--llm", MODEL, "--no-labels", stdin=log.read_text())
    assert result.exit_code == 0, result.stderr
    assert "adding-numbers" in result.stdout
