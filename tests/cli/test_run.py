"""The loop through the command line: real files, real programs as agents, the real sandbox."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from skillctl.core.run.protocol import ProtocolChecker
from skillctl.store.handbook_dir import load_handbook
from skillctl.store.traces import read_traces

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    class Run(Protocol):
        def __call__(self, *args: str | Path, stdin: str | bytes | None = None) -> Result: ...

    class Go(Protocol):
        def __call__(self, options: str, out: str = "t.jsonl") -> Result: ...


PROGRAM = """
import json, pathlib, sys, time
request = json.load(sys.stdin)
text = request["messages"][-1]["content"]
with open("calls.txt", "a") as calls:
    calls.write(f"{request['agent']} {request['mode']} {request['id']}\\n")
agent, mode = request["agent"], request["mode"]
if pathlib.Path("slow").exists():
    time.sleep(0.3)
if agent == "down":
    sys.exit(9)
if mode == "code":
    reply = "```python\\nprint(6 * 7)\\n```" if "7" in text else "```python\\nwhile True: pass\\n```"
elif "[search]" in text:
    reply = text.split("keeper is ")[1].split(".")[0] if "keeper is" in text else "?"
else:
    reply = "42" if agent == "good" else "no idea"
print(json.dumps({"answer": reply, "cost_usd": 0.001}))
"""
QUERIES = (
    {"id": "sum", "query": "What is 6 * 7?", "reference": "42", "scoring": "numeric"},
    {"id": "keeper", "query": "Who is the keeper of the tower?", "reference": "Ada", "scoring": "contains"},
)


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")


@pytest.fixture
def book(tmp_path: Path) -> Path:
    root = tmp_path / "book"
    agent = "agent: {0}\nmodes: [{1}]\n"
    command = "command: [python, tools/agent.py]\n"
    _write(
        root,
        {
            "handbook.yaml": "schema_version: 1\nname: book\nsettings: {default_mode: answer, lambda: 0.0}\n",
            "modes/answer.yaml": "mode: answer\n",
            "modes/code.yaml": "mode: code\naction: {kind: code, is_final: true, timeout_s: 1.0}\n",
            "modes/search.yaml": "mode: search\naction: {kind: search, corpus: corpus, results: 2}\n",
            "agents/good.yaml": agent.format("good", "answer, code") + command,
            "agents/bad.yaml": agent.format("bad", "answer, code") + command,
            "agents/library.yaml": agent.format("library", "search"),
            "corpus/tower.md": "# The Tower\n\nIts keeper is Ada.\n",
            "tools/agent.py": PROGRAM,
        },
    )
    return root


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "queries.jsonl"
    path.write_text("".join(json.dumps(query) + "\n" for query in QUERIES), encoding="utf-8")
    return path


@pytest.fixture
def go(book: Path, queries: Path, tmp_path: Path, run: Run) -> Go:
    """Run the loop on the queries, with options as one text, and log to a file of the test's folder."""

    def invoke(options: str, out: str = "t.jsonl") -> Result:
        return run("run", book, "--queries", queries, "--out", tmp_path / out, *shlex.split(options))

    return invoke


def _traces(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _calls(book: Path) -> list[str]:
    path = book / "calls.txt"
    return sorted(path.read_text(encoding="utf-8").splitlines()) if path.exists() else []


def test_a_query_is_answered_over_two_modes_and_logged_with_its_steps(tmp_path: Path, go: Go) -> None:
    result = go("--path search,answer --agent library --agent bad")
    assert (result.exit_code, result.stdout) == (0, "")
    keeper = _traces(tmp_path / "t.jsonl")[1]
    assert (keeper["agent"], keeper["mode"], keeper["success"], keeper["answer"]) == ("bad", "answer", True, "Ada")
    assert [(step["mode"], step["agent"]) for step in keeper["steps"]] == [("search", "library"), ("answer", "bad")]
    assert keeper["steps"][0]["observation"] == "The Tower: Its keeper is Ada."
    assert (keeper["cost_usd"], keeper["stop"]) == (0.001, "answered")
    assert "2 conversations: 0 logged already" in result.stderr


def test_code_is_run_and_what_it_prints_is_the_answer(tmp_path: Path, go: Go) -> None:
    go("--mode code --agent good --max-turns 2")
    total, endless = _traces(tmp_path / "t.jsonl")
    assert (total["answer"], total["success"]) == ("42", True)
    assert total["steps"][0]["action"] == "print(6 * 7)\n"
    # The loop in the other program was ended, and the batch went on.
    assert (endless["success"], endless["stop"]) == (False, "turn_limit")
    assert "answer" not in endless
    assert [step["observation"] for step in endless["steps"]] == ["the program was stopped (timeout)"] * 2
    assert endless["steps"][1]["is_repeat"] is True


def test_the_loop_closes(book: Path, tmp_path: Path, run: Run, go: Go) -> None:
    go("--path answer --agent good", "good.jsonl")
    go("--path answer --agent bad", "bad.jsonl")
    go("--path search,answer --agent bad --agent library", "both.jsonl")
    logs = [tmp_path / f"{name}.jsonl" for name in ("good", "bad", "both")]
    sources = [part for log in logs for part in ("--traces", log)]
    assert run("profile", book, *sources).exit_code == 0
    handbook = load_handbook(book)
    agents = {str(name): agent for name, agent in handbook.agents.items()}
    library = next(iter(agents["library"].profiles.values()))
    assert (library.runs, library.cost.mean_usd) == (2, 0.0)
    answered = next(profile for mode, profile in agents["bad"].profiles.items() if mode == "answer")
    # Its own step costs 0.001, whatever the rest of the conversation cost.
    assert (answered.runs, answered.cost.mean_usd) == (4, 0.001)
    checker = ProtocolChecker(handbook, max_turns=6)
    traces = [trace for log in logs for trace in read_traces(log, on_problem=pytest.fail)]
    assert [breach for trace in traces for breach in checker.find_breaches(trace)] == []


def test_an_agent_that_is_out_of_reach_is_replaced_and_not_blamed(book: Path, tmp_path: Path, run: Run, go: Go) -> None:
    text = (book / "agents/bad.yaml").read_text(encoding="utf-8").replace("agent: bad", "agent: down")
    (book / "agents/down.yaml").write_text(text, encoding="utf-8")
    assert go("--mode answer --agent down --agent good").exit_code == 0
    first, second = _traces(tmp_path / "t.jsonl")[0]["steps"]
    assert (first["agent"], first["error"]["code"], first["success"]) == ("down", "command_failed", None)
    assert second["agent"] == "good"
    run("profile", book, "--traces", tmp_path / "t.jsonl")
    down = next(agent for name, agent in load_handbook(book).agents.items() if name == "down")
    assert sum(profile.runs for profile in down.profiles.values()) == 0


def test_when_nobody_is_in_reach_the_trace_is_an_error_and_can_be_run_again(book: Path, tmp_path: Path, go: Go) -> None:
    (book / "tools/agent.py").write_text("raise SystemExit(1)", encoding="utf-8")
    out = tmp_path / "t.jsonl"
    assert go("--mode answer").exit_code == 4
    assert {trace["error"]["code"] for trace in _traces(out)} == {"command_failed"}
    assert {trace["success"] for trace in _traces(out)} == {None}
    _write(book, {"tools/agent.py": PROGRAM})
    assert go("--mode answer").exit_code == 0
    assert len(_traces(out)) == 2
    assert go("--mode answer --retry-errors").exit_code == 0
    assert len(_traces(out)) == 4


def test_what_failed_outside_half_way_is_no_failure_of_anybody(book: Path, tmp_path: Path, run: Run, go: Go) -> None:
    (book / "tools/agent.py").write_text("raise SystemExit(1)", encoding="utf-8")
    assert go("--path search,answer").exit_code == 4
    keeper = _traces(tmp_path / "t.jsonl")[1]
    assert (keeper["success"], keeper["error"]["code"], keeper["stop"]) == (None, "command_failed", "outside_failure")
    run("profile", book, "--traces", tmp_path / "t.jsonl")
    assert all(p.runs == 0 for agent in load_handbook(book).agents.values() for p in agent.profiles.values())


def test_a_second_run_pays_for_nothing_and_adds_nothing(book: Path, tmp_path: Path, go: Go) -> None:
    out = tmp_path / "t.jsonl"
    options = "--mode answer --agent good"
    go(options)
    before, calls = out.read_bytes(), _calls(book)
    result = go(options)
    assert (out.read_bytes(), _calls(book)) == (before, calls)
    assert "2 logged already" in result.stderr
    go(options, "other.jsonl")
    assert _calls(book) == calls


def test_a_verified_answer_ends_it_and_a_refused_one_moves_on(tmp_path: Path, go: Go) -> None:
    check = tmp_path / "check.py"
    check.write_text(
        "import json, sys\nrequest = json.load(sys.stdin)\nassert 'reference' not in request\n"
        "print(json.dumps({'success': request['answer'] == '42', 'cost_usd': 0.5}))",
        encoding="utf-8",
    )
    go(f"--mode answer --limit 1 --checker '{sys.executable} {check}'")
    (trace,) = _traces(tmp_path / "t.jsonl")
    assert [(step["agent"], step["success"]) for step in trace["steps"]] == [("bad", False), ("good", True)]
    assert (trace["stop"], trace["success"]) == ("verified", True)
    assert trace["costs"] == {"agents": 0.002, "checker": 1.0, "orchestrator": 0.0, "tools": 0.0}
    assert trace["cost_usd"] == 1.002


def test_traces_may_go_to_standard_output_and_nothing_else_does(book: Path, queries: Path, run: Run) -> None:
    result = run("run", book, "--queries", queries, "--out", "-", "--mode", "answer", "--agent", "good")
    assert [json.loads(line)["query_id"] for line in result.stdout.splitlines()] == ["sum", "keeper"]


def test_agents_without_what_a_query_needs_are_gated_as_in_route(book: Path, queries: Path, run: Run, go: Go) -> None:
    with (book / "agents/bad.yaml").open("a", encoding="utf-8") as file:
        file.write("capabilities: {modalities: [text, image]}\n")
    seen = {"id": "seen", "query": "Who is on it?", "reference": "Ada", "needs": {"modalities": ["image"]}}
    heard = {"id": "heard", "query": "Who speaks?", "reference": "Ada", "needs": {"modalities": ["audio"]}}
    queries.write_text(f"{json.dumps(seen)}\n{json.dumps(heard)}\n", encoding="utf-8")
    out = queries.parent / "t.jsonl"
    result = go("--mode answer --mode code")
    assert result.exit_code == 1
    assert [(trace["query_id"], trace["agent"]) for trace in _traces(out)] == [("seen", "bad")]
    routed = run("route", book, "--mode", "answer", stdin=json.dumps(heard))
    (error,) = (json.loads(line)["error"] for line in routed.stdout.splitlines())
    assert f"{queries}:2::$: {error['code']}: {error['message']}" in result.stderr
    assert "queries left out, as no agent is open to them: 1" in result.stderr
    assert go("--mode answer --mode code --dry-run").exit_code == 1


def test_a_dry_run_calls_nobody(book: Path, tmp_path: Path, go: Go) -> None:
    result = go("--dry-run")
    assert "about" in result.stderr
    assert _calls(book) == []
    assert not (tmp_path / "t.jsonl").exists()


@pytest.mark.parametrize("policy", ["handbook", "random", "cheapest", "strongest", "thompson", "ucb"])
def test_every_policy_gives_the_same_traces_twice(tmp_path: Path, go: Go, policy: str) -> None:
    for name in ("1", "2"):
        go(f"--policy {policy} --concurrency 1", name)
    first, second = (_traces(tmp_path / name) for name in ("1", "2"))
    for trace in [*first, *second]:
        trace.pop("latency_s", None)
    assert first == second


def test_money_that_is_not_there_is_not_spent(book: Path, tmp_path: Path, go: Go) -> None:
    with (book / "agents/good.yaml").open("a", encoding="utf-8") as file:
        file.write("price: {prompt_usd_per_mtok: 9, completion_usd_per_mtok: 9}\n")
    out = tmp_path / "t.jsonl"
    result = go("--agent good --mode answer --max-cost 0.000001")
    assert result.exit_code == 1
    assert "2 conversations remain" in result.stderr
    assert (out.read_bytes(), _calls(book)) == (b"", [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--agent nobody", "there is no agent 'nobody'"),
        ("--mode fly", "there is no mode 'fly'"),
        ("--path search,fly", "there is no mode 'fly'"),
        ("--mode search", "no mode gives an answer"),
    ],
)
def test_names_that_the_handbook_does_not_have_are_refused(go: Go, options: str, message: str) -> None:
    result = go(options)
    assert result.exit_code == 3
    assert message in result.stderr


def test_killed_at_any_point_and_restarted_no_query_is_lost_and_none_paid_twice(
    book: Path, tmp_path: Path, run: Run
) -> None:
    queries, out = tmp_path / "many.jsonl", tmp_path / "t.jsonl"
    lines = [json.dumps({**QUERIES[0], "id": n, "query": f"{n}?"}) for n in range(12)]
    queries.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (book / "slow").touch()
    args = ["run", str(book), "--queries", str(queries), "--out", str(out), "--mode", "answer", "--agent", "good"]
    process = subprocess.Popen(
        [sys.executable, "-m", "skillctl", *args, "--concurrency", "1"], stderr=subprocess.DEVNULL, env=os.environ
    )
    deadline = time.monotonic() + 20
    while (not out.exists() or out.read_bytes().count(b"\n") < 2) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with out.open("ab") as log:
        log.write(b'{"trace_id": "torn')
    time.sleep(0.5)  # the program that was running then ends
    (book / "slow").unlink()
    before = _calls(book)
    assert run(*args).exit_code == 0
    assert [trace["query_id"] for trace in _traces(out)] == list(range(12))
    # The call that was under way when the kill came is the only one that may be made again.
    assert len(_calls(book)) in {12, 13}
    assert 2 <= len(before) < 12


def test_where_code_cannot_be_contained_nothing_runs_unless_the_user_says_so(
    tmp_path: Path, go: Go, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillctl.cli.run_parts.find_uncontained", lambda: ("network",))
    refused = go("--mode code --agent good --limit 1")
    assert refused.exit_code == 3
    assert "cannot contain code that models write: no limit of network" in refused.stderr
    assert go("--mode answer --limit 1").exit_code == 0  # no code, no sandbox
    allowed = go("--mode code --agent good --limit 1 --unsafe-sandbox")
    assert allowed.exit_code == 0
    assert "warning: code that models write is run without a limit of network" in allowed.stderr
    assert _traces(tmp_path / "t.jsonl")[-1]["success"] is True


def test_the_conversations_of_a_log_are_checked(book: Path, tmp_path: Path, run: Run, go: Go) -> None:
    go("--path search,answer --agent library --agent good")
    log = tmp_path / "t.jsonl"
    assert run("validate", book, "--traces", log, "--max-turns", "2").exit_code == 0
    with log.open("a", encoding="utf-8") as file:
        file.write('{"query": "x", "agent": "nobody", "success": true}\n{"query": "x"}\n')
    result = run("validate", book, "--traces", log, "--max-turns", "1")
    assert result.exit_code == 1
    assert f"{log}:2::$.steps: 2 steps are more than the limit of 1" in result.stdout
    assert f"{log}:3::$.agent: the handbook has no agent 'nobody'" in result.stdout
    assert f"{log}:4::" in result.stdout


def test_the_agents_of_one_mode_take_turns_while_the_others_stay(
    book: Path, queries: Path, tmp_path: Path, run: Run
) -> None:
    out = tmp_path / "t.jsonl"
    args = ("explore", book, "--queries", queries, "--out", out, "--path", "search,answer", "--mode", "answer")
    assert run(*args).exit_code == 0
    paths = [[f"{step['mode']}/{step['agent']}" for step in trace["steps"]] for trace in _traces(out)]
    assert paths == [["search/library", "answer/bad"]] * 2 + [["search/library", "answer/good"]] * 2
    calls = _calls(book)
    assert run(*args).exit_code == 0
    assert (len(_traces(out)), _calls(book)) == (4, calls)
    result = run(*args, "--fix", "answer=good")
    assert (result.exit_code, "must be on the path, and not fixed" in result.stderr) == (2, True)


def test_one_agent_may_be_fixed_in_one_mode(tmp_path: Path, go: Go) -> None:
    go("--mode answer --mode search --fix answer=bad --path search,answer")
    assert {trace["steps"][-1]["agent"] for trace in _traces(tmp_path / "t.jsonl")} == {"bad"}
    assert go("--fix answer").exit_code == 2
    assert go("--fix fly=bad").exit_code == 3
