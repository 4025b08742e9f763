"""`run --orchestrator`: a language model names the skills, the handbook the agents, and both are accounted for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from planted import make_handbook
from scripted_models import MODEL, Install, asked, make_install

from skillctl.errors import OutsideError
from skillctl.llm.base import Completion
from skillctl.model.selection import Candidate, Selection
from skillctl.store.selections import save_selection

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result
    from conftest import Run

    from skillctl.llm.base import Request

PROGRAM = """
import json, sys
request = json.load(sys.stdin)
print(json.dumps({"answer": request["agent"], "cost_usd": 0.01}))
"""
# What the skills are stands in no text: only the model can know.
QUERIES = (
    {"id": "a", "query": "first of all", "reference": "adder"},
    {"id": "b", "query": "and then the second", "reference": "poet"},
)
CALL_USD = 0.00011


class Go(Protocol):
    """Runs the loop with a model as orchestrator."""

    def __call__(self, *options: str | Path, out: str = "t.jsonl") -> Result: ...


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a scripted client in the place of litellm."""
    return make_install(monkeypatch)


@pytest.fixture
def book(tmp_path: Path, run: Run) -> Path:
    root = make_handbook(tmp_path, run)
    (root / "tools").mkdir()
    (root / "tools" / "agent.py").write_text(PROGRAM, encoding="utf-8")
    for path in (root / "agents").glob("*.yaml"):
        head, rest = path.read_text(encoding="utf-8").split("modes:", 1)
        path.write_text(f"{head}modes:{rest}".replace("modes:", "command: [python, tools/agent.py]\nmodes:", 1))
    return root


@pytest.fixture
def go(tmp_path: Path, book: Path, run: Run) -> Go:
    path = tmp_path / "q.jsonl"
    path.write_text("".join(json.dumps(query) + "\n" for query in QUERIES), encoding="utf-8")

    def invoke(*options: str | Path, out: str = "t.jsonl") -> Result:
        return run(
            "run", book, "--queries", path, "--out", tmp_path / out, "--orchestrator", MODEL, "--lambda", "0", *options
        )

    return invoke


def name_skill(request: Request) -> Any:  # noqa: ANN401
    skill = "words.add" if "first" in asked(request) else "words.rhyme"
    return Completion(json.dumps({"skills": {skill: 1, "made.up": 1}}), prompt_tokens=100, completion_tokens=10)


def read_log(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_model_names_the_skills_and_asking_is_part_of_the_cost(tmp_path: Path, script: Install, go: Go) -> None:
    client = script(name_skill)
    result = go()
    assert result.exit_code == 0, result.stderr
    traces = read_log(tmp_path / "t.jsonl")
    assert [(trace["agent"], trace["skills"]) for trace in traces] == [
        ("adder", {"words.add": 1.0}),
        ("poet", {"words.rhyme": 1.0}),
    ]
    assert [trace["costs"]["orchestrator"] for trace in traces] == [CALL_USD] * 2
    assert [trace["cost_usd"] for trace in traces] == [pytest.approx(0.01 + CALL_USD)] * 2
    assert f"{MODEL}: 2 calls to make, 0 answered from the cache; expected cost: 0.0" in result.stderr
    assert f"2 skill ids of {MODEL} are unknown: made.up (2)" in result.stderr
    assert "spent in this run: 0.020220 USD" in result.stderr
    assert len(client.requests) == 2


def test_a_rerun_asks_nothing_again_and_says_the_same_costs(tmp_path: Path, script: Install, go: Go) -> None:
    client = script(name_skill)
    go()
    before = (tmp_path / "t.jsonl").read_bytes()
    assert "2 logged already" in go().stderr
    assert (tmp_path / "t.jsonl").read_bytes() == before
    again = go(out="again.jsonl")
    assert "0 calls to make, 2 answered from the cache" in again.stderr
    assert "spent in this run: 0.000000 USD" in again.stderr
    first, second = (read_log(tmp_path / name) for name in ("t.jsonl", "again.jsonl"))
    assert [trace | {"latency_s": 0} for trace in first] == [trace | {"latency_s": 0} for trace in second]
    assert len(client.requests) == 2


def test_another_orchestrator_is_another_run(tmp_path: Path, script: Install, go: Go) -> None:
    script(name_skill)
    go()
    go("--orchestrator", "embedded")
    assert len({trace["trace_id"] for trace in read_log(tmp_path / "t.jsonl")}) == 4


def test_a_dry_run_says_the_calls_and_makes_none(tmp_path: Path, script: Install, go: Go) -> None:
    client = script(name_skill)
    result = go("--dry-run")
    assert result.exit_code == 0
    assert "2 calls to make" in result.stderr
    assert client.requests == []
    assert not (tmp_path / "t.jsonl").exists()


def test_what_the_model_costs_counts_towards_max_cost(tmp_path: Path, script: Install, book: Path, go: Go) -> None:
    for path in (book / "agents").glob("*.yaml"):
        free = "price: {prompt_usd_per_mtok: 0, completion_usd_per_mtok: 0}\nmodes:"
        path.write_text(path.read_text(encoding="utf-8").replace("modes:", free, 1), encoding="utf-8")
    client = script(name_skill)
    result = go("--max-cost", "0.0001", "--concurrency", "1")
    assert result.exit_code == 1
    assert "stopped before --max-cost" in result.stderr
    assert (client.requests, (tmp_path / "t.jsonl").read_bytes()) == ([], b"")
    client.known = None
    refused = go("--max-cost", "1")
    assert refused.exit_code == 3
    assert f"the price of {MODEL} is unknown" in refused.stderr


def test_a_service_that_refuses_us_ends_the_run(script: Install, go: Go) -> None:
    script(lambda _: OutsideError("the key is wrong", code="auth"))
    result = go()
    assert result.exit_code == 4
    assert "the key is wrong" in result.stderr


def test_only_selected_skills_are_named(tmp_path: Path, script: Install, book: Path, go: Go) -> None:
    script(name_skill)
    choice = Candidate(("words",))
    save_selection(Selection(MODEL, 0.0, "lambda", f"blake2b:{0:032x}", 1, 1, choice, (choice,)), book)
    assert go().exit_code == 0
    assert [trace["skills"] for trace in read_log(tmp_path / "t.jsonl")] == [{"words": 1.0}] * 2


@pytest.mark.parametrize("name", ["nobody", "adder", "logged"])
def test_a_name_that_no_model_can_have_is_wrong_usage(go: Go, name: str) -> None:
    result = go("--orchestrator", name)
    assert result.exit_code == 2
    assert name in result.stderr
