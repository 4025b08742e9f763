"""``explore`` through the command line, with programs as agents: real processes, no network, no litellm."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result
    from conftest import Run

# Notes each call in calls.txt, answers n + 1, and plays faults that the query names.
TOOL = """\
import json, os, sys, time
request = json.load(sys.stdin)
with open("calls.txt", "a") as calls:
    calls.write(f"{request['agent']} {request['id']}\\n")
time.sleep(float(os.environ.get("TOOL_SLEEP", 0)))
if "break" in request["query"] and not os.path.exists("mended"):
    sys.exit("it broke")
print(json.dumps({"answer": str(int(request["query"].split()[0]) + 1)}))
"""
FREE = {"prompt_usd_per_mtok": 0, "completion_usd_per_mtok": 0}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tool.py").write_text(TOOL)
    write_pool(
        tmp_path, [{"agent": name, "command": ["python", "-S", "-E", "tool.py"], "price": FREE} for name in "ab"]
    )
    write_queries(tmp_path, *({"id": n, "query": f"{n} + 1?", "reference": n + 1, "task": "sums"} for n in range(3)))
    return tmp_path


def write_pool(folder: Path, agents: list[dict[str, Any]]) -> None:
    (folder / "pool.json").write_text(json.dumps({"agents": agents}))


def write_queries(folder: Path, *queries: dict[str, Any]) -> None:
    (folder / "q.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))


def explore(run: Run, folder: Path, *options: str, out: str = "out.jsonl") -> Result:
    return run("explore", folder / "pool.json", "--queries", folder / "q.jsonl", "--out", folder / out, *options)


def traces(folder: Path, out: str = "out.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / out).read_text().splitlines()]


def calls(folder: Path) -> Counter[str]:
    path = folder / "calls.txt"
    return Counter(path.read_text().splitlines()) if path.exists() else Counter()


def test_every_agent_answers_every_query_in_order(run: Run, folder: Path) -> None:
    result = explore(run, folder)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "6 runs: 0 logged already, 0 answered from the cache, 6 calls to make" in result.stderr
    assert "expected cost: 0.000000 USD" in result.stderr
    found = traces(folder)
    assert [(trace["query_id"], trace["agent"]) for trace in found] == [(n, name) for n in range(3) for name in "ab"]
    latencies = [found[0].pop("latency_s")]
    assert latencies[0] >= 0
    trace_id = found[0].pop("trace_id")
    assert len(trace_id) == 32
    assert found[0] == {
        "query_id": 0,
        "query": "0 + 1?",
        "task": "sums",
        "agent": "a",
        "mode": "answer",
        "success": True,
        "score": 1.0,
        "cost_usd": 0.0,
        "answer": "1",
        "reference": 1,
    }


def test_a_second_run_does_nothing_and_another_file_is_filled_from_the_cache(run: Run, folder: Path) -> None:
    explore(run, folder)
    first = (folder / "out.jsonl").read_bytes()
    again = explore(run, folder)
    assert "6 logged already, 0 answered from the cache, 0 calls" in again.stderr
    assert (folder / "out.jsonl").read_bytes() == first
    other = explore(run, folder, out="other.jsonl")
    assert "0 logged already, 6 answered from the cache, 0 calls" in other.stderr
    assert (folder / "other.jsonl").read_bytes() == first
    assert set(calls(folder).values()) == {1}


def test_what_is_new_is_appended(run: Run, folder: Path) -> None:
    explore(run, folder, "--agent", "a", "--limit", "2")
    first = (folder / "out.jsonl").read_bytes()
    explore(run, folder)
    assert (folder / "out.jsonl").read_bytes().startswith(first)
    assert len(traces(folder)) == 6
    assert set(calls(folder).values()) == {1}


def test_a_dry_run_calls_and_writes_nothing(run: Run, folder: Path) -> None:
    write_pool(folder, [{"agent": "m", "model": "openai/x", "api_key_env": "NO_SUCH_KEY"}])
    result = explore(run, folder, "--dry-run")
    assert result.exit_code == 0
    assert "3 calls to make" in result.stderr
    assert "unknown for 3 calls" in result.stderr
    assert not (folder / "out.jsonl").exists()
    assert "litellm" not in sys.modules


def test_a_missing_key_is_an_error_before_any_call(run: Run, folder: Path) -> None:
    write_pool(folder, [{"agent": "m", "model": "openai/x", "api_key_env": "NO_SUCH_KEY"}])
    result = explore(run, folder)
    assert result.exit_code == 3
    assert "NO_SUCH_KEY" in result.stderr
    assert (folder / "out.jsonl").read_bytes() == b""


def test_an_outside_failure_is_an_error_trace_and_no_failure_of_the_agent(run: Run, folder: Path) -> None:
    write_queries(folder, {"id": 1, "query": "1 break", "reference": "2"}, {"id": 2, "query": "2", "reference": "3"})
    result = explore(run, folder, "--agent", "a")
    assert result.exit_code == 4
    broken, fine = traces(folder)
    assert (broken["success"], fine["success"]) == (None, True)
    assert "score" not in broken
    assert broken["error"]["code"] == "command_failed"
    assert "it broke" in broken["error"]["message"]
    assert "1 calls failed outside" in result.stderr


def test_errors_are_run_again_only_on_request(run: Run, folder: Path) -> None:
    write_queries(folder, {"id": 1, "query": "1 break", "reference": "2"})
    explore(run, folder, "--agent", "a")
    again = explore(run, folder, "--agent", "a")
    assert again.exit_code == 0
    assert "1 errors of earlier runs" in again.stderr
    assert explore(run, folder, "--agent", "a", "--retry-errors").exit_code == 4
    (folder / "mended").touch()
    assert explore(run, folder, "--agent", "a", "--retry-errors").exit_code == 0
    assert explore(run, folder, "--agent", "a", "--retry-errors").exit_code == 0
    found = traces(folder)
    assert [trace["success"] for trace in found] == [None, None, True]
    assert len({trace["trace_id"] for trace in found}) == 3


def test_without_a_reference_there_is_no_verdict(run: Run, folder: Path) -> None:
    write_queries(folder, {"id": 1, "query": "1"})
    assert explore(run, folder, "--agent", "a").exit_code == 0
    (trace,) = traces(folder)
    assert trace["success"] is None
    assert "error" not in trace
    assert "score" not in trace


def test_a_program_without_a_price_has_an_unknown_cost(run: Run, folder: Path) -> None:
    write_pool(folder, [{"agent": "a", "command": ["python", "-S", "-E", "tool.py"]}])
    result = explore(run, folder)
    assert "unknown for 3 calls" in result.stderr
    assert all("cost_usd" not in trace for trace in traces(folder))


def test_a_program_may_judge(run: Run, folder: Path) -> None:
    judge = folder / "judge.py"
    judge.write_text(
        "import json, sys\nr = json.load(sys.stdin)\n"
        "if r['answer'] == '3': sys.exit('no idea')\n"
        "print(json.dumps({'success': r['answer'] == '1', 'score': 0.25}))"
    )
    command = f"python -S -E '{judge}'"
    assert explore(run, folder, "--agent", "a", "--scoring-command", command).exit_code == 4
    assert [(trace["success"], trace.get("score")) for trace in traces(folder)] == [
        (True, 0.25),
        (False, 0.25),
        (None, None),
    ]
    assert traces(folder)[2]["error"]["code"] == "scoring_failed"
    assert traces(folder)[2]["answer"] == "3"


@pytest.mark.parametrize("command", ["'", ""])
def test_a_scoring_command_that_is_none_is_a_usage_error(run: Run, folder: Path, command: str) -> None:
    assert explore(run, folder, "--scoring-command", command).exit_code == 2


def test_max_cost_stops_before_it_is_passed_and_a_later_run_goes_on(run: Run, folder: Path) -> None:
    tool = TOOL.replace('"answer":', '"prompt_tokens": 1000, "completion_tokens": 0, "answer":')
    (folder / "tool.py").write_text(tool)
    price = {"prompt_usd_per_mtok": 1000, "completion_usd_per_mtok": 0}
    agent = {"agent": "a", "command": ["python", "-S", "-E", "tool.py"], "price": price}
    write_pool(folder, [agent])
    write_queries(folder, *({"id": n, "query": f"{n} {'x' * 1000}", "reference": n + 1} for n in range(3)))
    # A call costs 1 USD and is bounded by its bytes: 1.1 to 1.2 USD.
    stopped = explore(run, folder, "--max-cost", "2.5")
    assert stopped.exit_code == 1
    assert "1 runs remain" in stopped.stderr
    assert "spent in this run: 2.000000 USD" in stopped.stderr
    assert len(traces(folder)) == 2
    assert explore(run, folder, "--max-cost", "1.2").exit_code == 0
    assert set(calls(folder).values()) == {1}


def test_max_cost_refuses_agents_of_unknown_price(run: Run, folder: Path) -> None:
    write_pool(folder, [{"agent": "a", "command": ["python", "tool.py"]}])
    result = explore(run, folder, "--max-cost", "1")
    assert result.exit_code == 3
    assert "the price is unknown of: a" in result.stderr
    assert calls(folder) == Counter()


def test_bad_lines_are_reported_and_the_rest_is_run(run: Run, folder: Path) -> None:
    path = folder / "q.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"id": 1, "query": "1", "reference": "2"}\r\n\n{"id": 2, "query": "2\xff"}\n{"id": 3'
    )
    result = explore(run, folder, "--agent", "a")
    assert result.exit_code == 1
    assert "q.jsonl:3" in result.stderr
    assert "q.jsonl:4" in result.stderr
    assert len(traces(folder)) == 1


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--agent", "c"), 3, "there is no agent 'c'"),
        (("--scoring", "fuzzy"), 2, "fuzzy"),
        (("--concurrency", "0"), 2, "concurrency"),
        (("--max-cost", "-1"), 2, "max-cost"),
    ],
)
def test_wrong_options_are_refused(run: Run, folder: Path, options: tuple[str, ...], code: int, message: str) -> None:
    result = explore(run, folder, *options)
    assert result.exit_code == code
    assert message in result.stderr


def test_gzip_out_is_refused(run: Run, folder: Path) -> None:
    result = explore(run, folder, out="out.jsonl.gz")
    assert result.exit_code == 3
    assert "compress it afterwards" in result.stderr


def test_gzip_in_and_traces_on_stdout(run: Run, folder: Path) -> None:
    path = folder / "q.jsonl.gz"
    path.write_bytes(gzip.compress((folder / "q.jsonl").read_bytes()))
    result = run("-q", "explore", folder / "pool.json", "--queries", path, "--out", "-", "--agent", "a")
    assert (result.exit_code, result.stderr) == (0, "")
    assert [json.loads(line)["success"] for line in result.stdout.splitlines()] == [True] * 3


def test_agents_that_cannot_be_run_are_left_out_or_refused(run: Run, folder: Path) -> None:
    command = ["python", "-S", "-E", "tool.py"]
    write_pool(folder, [{"agent": "log"}, {"agent": "a", "command": command, "modes": ["answer"], "price": FREE}])
    result = explore(run, folder)
    assert "agent 'log' has neither `model` nor `command`; it is left out" in result.stderr
    assert result.exit_code == 0
    assert explore(run, folder, "--agent", "log").exit_code == 3
    assert explore(run, folder, "--mode", "code").exit_code == 3


def test_a_handbook_is_as_good_as_a_pool_file(run: Run, folder: Path) -> None:
    root = folder / "book"
    run("init", root, "--mode", "answer")
    (root / "agents").mkdir(exist_ok=True)
    text = "agent: a\nmodes: [answer]\nprice: {prompt_usd_per_mtok: 0, completion_usd_per_mtok: 0}\n"
    (root / "agents" / "a.yaml").write_text(text + "command: [python, tool.py]\n")
    (root / "tool.py").write_text(TOOL)
    result = run("explore", root, "--queries", folder / "q.jsonl", "--out", folder / "out.jsonl")
    assert result.exit_code == 0, result.stderr
    assert [trace["success"] for trace in traces(folder)] == [True] * 3
    assert run("explore", root / "no", "--queries", folder / "q.jsonl", "--out", "-").exit_code == 3
    assert run("explore", root, "--queries", folder / "q.jsonl", "--out", "-", "--mode", "x").exit_code == 3


# --- real processes ---


def start(folder: Path, out: str, *, sleep_s: float = 0.0) -> subprocess.Popen[str]:
    environment = {**os.environ, "SKILLCTL_CACHE_DIR": str(folder / "cache"), "TOOL_SLEEP": str(sleep_s)}
    return subprocess.Popen(
        [sys.executable, "-m", "skillctl", "explore", "pool.json", "--queries", "q.jsonl", "--out", out],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_lines(path: Path, count: int) -> None:
    deadline = time.monotonic() + 240
    while (not path.exists() or path.read_bytes().count(b"\n") < count) and time.monotonic() < deadline:
        time.sleep(0.005)


def test_a_killed_run_and_its_successor_write_what_an_undisturbed_run_writes(folder: Path) -> None:
    write_queries(folder, *({"id": n, "query": f"{n} + 1?", "reference": n + 1} for n in range(10)))
    out = folder / "out.jsonl"
    first = start(folder, "out.jsonl", sleep_s=0.05)
    wait_for_lines(out, 3)
    first.kill()
    first.communicate()
    assert 3 <= out.read_bytes().count(b"\n") < 20
    with out.open("ab") as file:
        file.write(b'{"trace_id": "to')
    for name in ("out.jsonl", "undisturbed.jsonl"):
        process = start(folder, name)
        process.communicate(timeout=240)
        assert process.returncode == 0
    assert out.read_bytes() == (folder / "undisturbed.jsonl").read_bytes()
    # Only a call that was under way at the kill can have run twice.
    assert sum(calls(folder).values()) - 20 <= 8
    assert len(calls(folder)) == 20


def test_ctrl_c_ends_quickly_with_130_and_leaves_whole_lines(folder: Path) -> None:
    write_queries(folder, *({"id": n, "query": f"{n} + 1?", "reference": n + 1} for n in range(60)))
    process = start(folder, "out.jsonl", sleep_s=0.05)
    wait_for_lines(folder / "out.jsonl", 3)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=240)
    assert (process.returncode, stdout) == (130, "")
    assert "interrupted" in stderr
    assert "Traceback" not in stderr
    assert all(trace["success"] for trace in traces(folder))


def test_two_writers_do_not_mix(folder: Path) -> None:
    write_queries(folder, *({"id": n, "query": f"{n} + 1?", "reference": n + 1} for n in range(60)))
    first = start(folder, "out.jsonl", sleep_s=0.05)
    wait_for_lines(folder / "out.jsonl", 1)
    second = start(folder, "out.jsonl")
    _, stderr = second.communicate(timeout=240)
    first.kill()
    first.communicate()
    assert second.returncode == 3
    assert "another run is writing" in stderr
