from __future__ import annotations

import gzip
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from jsonschema import Draft202012Validator

from skillctl.model.handbook import AgentId, ModeId
from skillctl.store.handbook_dir import load_handbook
from skillctl.store.schema import load_schema

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from skillctl.model.handbook import Profile

    class Run(Protocol):
        def __call__(self, *args: str | Path, stdin: str | bytes | None = None) -> Result: ...


def _trace(number: int, agent: str = "a", **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON values
    return {"query_id": f"q{number}", "query": f"query {number}", "agent": agent, "success": number % 3 > 0, **fields}


def _write(path: Path, traces: list[dict[str, Any]], tail: bytes = b"") -> Path:
    path.write_bytes(b"".join(json.dumps(trace).encode() + b"\n" for trace in traces) + tail)
    return path


@pytest.fixture
def handbook(tmp_path: Path, run: Run) -> Path:
    log = _write(tmp_path / "agents.jsonl", [_trace(1, "a"), _trace(1, "b")])
    root = tmp_path / "handbook"
    assert run("init", root, "--agents-from", log).exit_code == 0
    return root


def _profile(root: Path, agent: str = "a", mode: str = "answer") -> Profile:
    return load_handbook(root).agents[agent].profiles[mode]


def _content(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*.yaml"))}


def _add_skills(root: Path) -> None:
    (root / "skills").mkdir(exist_ok=True)
    (root / "skills" / "answer.yaml").write_text(
        "mode: answer\nskills:\n"
        "- {id: answer.code, description: Writes program code., indicators: [python, function]}\n"
        "- {id: answer.math, description: Calculates with numbers., indicators: [sum, equation]}\n"
        "- {id: answer.math.algebra, parent: answer.math, description: Solves equations., indicators: [equation]}\n",
        encoding="utf-8",
    )


def test_outcomes_become_posteriors_and_costs(handbook: Path, tmp_path: Path, run: Run) -> None:
    log = _write(tmp_path / "t.jsonl", [_trace(n, cost_usd=0.1 * (n % 2), prompt_tokens=10 * n) for n in range(1, 5)])
    result = run("profile", handbook, "--traces", log)
    assert result.exit_code == 0
    profile = _profile(handbook)
    root = profile.competence["answer"]
    assert (root.alpha, root.beta, root.successes, root.failures) == (4.0, 2.0, 3.0, 1.0)
    assert (profile.runs, profile.cost.runs, profile.cost.mean_usd) == (4, 4, 0.05)
    assert profile.cost.sd_usd == pytest.approx(0.057735, rel=1e-5)
    assert (profile.cost.prompt_tokens, profile.cost.latency_s) == (25.0, None)


def test_a_second_run_leaves_no_diff(handbook: Path, tmp_path: Path, run: Run) -> None:
    _add_skills(handbook)
    log = _write(tmp_path / "t.jsonl", [_trace(n, agent) for n in range(30) for agent in "ab"])
    run("profile", handbook, "--traces", log)
    before = _content(handbook)
    result = run("profile", handbook, "--traces", log, "-o", "json")
    assert json.loads(result.stdout)["changed"] is False
    assert run("profile", handbook, "--traces", log, "--update").exit_code == 0
    assert _content(handbook) == before


@pytest.mark.parametrize("name", ["t.jsonl", "renamed.jsonl", "t.jsonl.gz"])
def test_the_same_content_adds_nothing(handbook: Path, tmp_path: Path, run: Run, name: str) -> None:
    log = _write(tmp_path / "t.jsonl", [_trace(n) for n in range(9)])
    run("profile", handbook, "--traces", log)
    before = _content(handbook)
    other = tmp_path / "other" / name
    other.parent.mkdir()
    other.write_bytes(gzip.compress(log.read_bytes()) if name.endswith(".gz") else log.read_bytes())
    result = run("profile", handbook, "--traces", other, "--update", "-o", "json")
    assert json.loads(result.stdout)["traces"] == 0
    assert _content(handbook) == before


def test_a_log_that_grew_counts_only_what_is_new(handbook: Path, tmp_path: Path, run: Run) -> None:
    log = _write(tmp_path / "t.jsonl", [_trace(n) for n in range(9)])
    run("profile", handbook, "--traces", log)
    _write(log, [_trace(n) for n in range(12)])
    result = run("profile", handbook, "--traces", log, "--update", "-o", "json")
    assert json.loads(result.stdout)["traces"] == 3
    updated = _content(handbook)
    run("profile", handbook, "--traces", log)
    assert _content(handbook) == updated


def test_a_torn_last_line_is_counted_when_it_is_complete(handbook: Path, tmp_path: Path, run: Run) -> None:
    tail = json.dumps(_trace(9)).encode()
    log = _write(tmp_path / "t.jsonl", [_trace(n) for n in range(9)], tail[:-7])
    result = run("profile", handbook, "--traces", log)
    assert (result.exit_code, _profile(handbook).runs) == (1, 9)
    assert f"{log}:10::$: not valid JSON" in result.stderr
    _write(log, [_trace(n) for n in range(9)], tail + b"\n")
    assert run("profile", handbook, "--traces", log, "--update").exit_code == 0
    assert _profile(handbook).runs == 10


def test_a_rewritten_log_is_an_error_that_says_what_to_do(handbook: Path, tmp_path: Path, run: Run) -> None:
    log = _write(tmp_path / "t.jsonl", [_trace(n) for n in range(9)])
    run("profile", handbook, "--traces", log)
    before = _content(handbook)
    _write(log, [_trace(n) for n in range(1, 9)])
    result = run("profile", handbook, "--traces", log, "--update")
    assert result.exit_code == 3
    assert "recount all logs without --update" in result.stderr
    assert _content(handbook) == before


def test_profiling_two_logs_is_profiling_one_and_adding_the_other(handbook: Path, tmp_path: Path, run: Run) -> None:
    _add_skills(handbook)
    one = _write(tmp_path / "one.jsonl", [_trace(n, cost_usd=0.001 * n) for n in range(20)])
    two = _write(tmp_path / "two.jsonl", [_trace(n, agent, latency_s=n) for n in range(20, 50) for agent in "ab"])
    run("profile", handbook, "--traces", one, "--traces", two)
    both = _content(handbook)
    run("profile", handbook, "--traces", one)
    run("profile", handbook, "--traces", two, "--update")
    assert _content(handbook) == both


def test_a_log_that_was_added_to_another_is_recognised(handbook: Path, tmp_path: Path, run: Run) -> None:
    one = _write(tmp_path / "one.jsonl", [_trace(n) for n in range(5)])
    run("profile", handbook, "--traces", one)
    _write(tmp_path / "all.jsonl", [_trace(n) for n in range(8)])
    run("profile", handbook, "--traces", tmp_path / "all.jsonl", "--update")
    assert _profile(handbook).runs == 8
    assert [source.name for source in load_handbook(handbook).evidence] == ["all.jsonl"]


def test_a_trace_seen_twice_is_counted_once_and_the_first_verdict_stands(
    handbook: Path, tmp_path: Path, run: Run
) -> None:
    one = _write(tmp_path / "one.jsonl", [_trace(1), _trace(1, score=0.9), _trace(1, success=False)])
    two = _write(tmp_path / "two.jsonl", [_trace(1), _trace(2)])
    result = run("profile", handbook, "--traces", one, "--traces", two, "-o", "json")
    counts = json.loads(result.stdout)
    assert (counts["traces"], counts["duplicates"], counts["conflicts"]) == (2, 3, 1)
    assert _profile(handbook).competence["answer"].failures == 0.0


def test_traces_without_a_verdict_are_no_evidence(handbook: Path, tmp_path: Path, run: Run) -> None:
    log = _write(
        tmp_path / "t.jsonl",
        [_trace(1, success=None, cost_usd=0.5), _trace(2, success=False, error="timeout", cost_usd=9.0)],
    )
    result = run("profile", handbook, "--traces", log, "-o", "json")
    assert (result.exit_code, json.loads(result.stdout)["no_verdict"]) == (0, 2)
    profile = _profile(handbook)
    assert (profile.runs, dict(profile.competence), profile.cost.mean_usd) == (0, {}, 0.5)


def test_bad_lines_are_reported_and_the_rest_is_used(handbook: Path, tmp_path: Path, run: Run) -> None:
    log = tmp_path / "t.jsonl"
    good = json.dumps(_trace(1)).encode()
    log.write_bytes(b"\xef\xbb\xbf" + good + b"\r\n\n{broken}\n" + b'{"query":"\xff"}\n' + b"[" * 100_000 + b"\n")
    result = run("profile", handbook, "--traces", log)
    assert result.exit_code == 1
    assert [line.split(":")[1] for line in result.stderr.splitlines() if line.startswith(str(log))] == ["3", "4", "5"]
    assert _profile(handbook).runs == 1
    assert run("profile", handbook, "--traces", log, "--update").exit_code == 0, "old faults are not said again"


def test_a_thousand_bad_lines_do_not_flood_the_terminal(handbook: Path, tmp_path: Path, run: Run) -> None:
    result = run("profile", handbook, "--traces", _write(tmp_path / "t.jsonl", [], b"{\n" * 1000))
    assert "1,000 bad lines" in result.stderr
    assert len(result.stderr.splitlines()) < 30


def test_unknown_agents_and_modes_are_reported_and_not_counted(handbook: Path, tmp_path: Path, run: Run) -> None:
    log = _write(tmp_path / "t.jsonl", [_trace(1), _trace(2, "new"), _trace(3, mode="search"), _trace(4, "new")])
    result = run("profile", handbook, "--traces", log, "-o", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["unknown"] == {
        "the handbook has no agent 'new'": 2,
        "the handbook has no mode 'search'": 1,
    }
    assert "--add-agents" in result.stderr
    assert _profile(handbook).runs == 1


def test_unknown_agents_and_modes_can_be_added(handbook: Path, tmp_path: Path, run: Run) -> None:
    log = _write(tmp_path / "t.jsonl", [_trace(1), _trace(2, "org/new:free"), _trace(3, mode="search")])
    assert run("profile", handbook, "--traces", log, "--add-agents").exit_code == 0
    assert _profile(handbook, "org/new:free").runs == 1
    assert _profile(handbook, mode="search").runs == 1
    assert run("validate", handbook).exit_code == 0


def test_skills_are_inferred_from_queries_and_pooled_upwards(handbook: Path, tmp_path: Path, run: Run) -> None:
    _add_skills(handbook)
    queries = ["Write a python function.", "Solve the equation 3x + 5 = 20."]
    log = _write(
        tmp_path / "t.jsonl",
        [{"query": queries[n % 2], "query_id": n, "agent": "a", "success": n % 2 == 0} for n in range(20)],
    )
    run("profile", handbook, "--traces", log)
    competence = _profile(handbook).competence
    assert next(iter(competence)) == "answer"
    n = {key: round(entry.successes + entry.failures, 4) for key, entry in competence.items()}
    assert n["answer"] == 20
    assert n["answer.math"] >= n["answer.math.algebra"] > 0
    assert competence["answer.code"].successes > competence["answer.code"].failures
    assert competence["answer.math"].failures > competence["answer.math"].successes


def test_skills_that_a_trace_names_are_used_and_unknown_ones_dropped(handbook: Path, tmp_path: Path, run: Run) -> None:
    _add_skills(handbook)
    log = _write(
        tmp_path / "t.jsonl",
        [
            _trace(1, success=True, skills={"answer.code": 1, "answer.math.algebra": 3, "gone": 4}),
            _trace(2, skills={"gone": 1}),
        ],
    )
    result = run("profile", handbook, "--traces", log, "-o", "json")
    assert json.loads(result.stdout)["dropped_skills"] == {"gone": 2}
    wins = {key: entry.successes for key, entry in _profile(handbook).competence.items()}
    assert wins == {"answer": 2.0, "answer.code": 0.25, "answer.math": 0.75, "answer.math.algebra": 0.75}


def test_steps_credit_the_agent_and_mode_that_ran_them(tmp_path: Path, run: Run) -> None:
    root = tmp_path / "handbook"
    steps = [
        {"mode": "search", "agent": "s", "cost_usd": 0.25},
        {"mode": "search", "agent": "s", "success": True},
        {"mode": "answer", "agent": "a"},
        {"mode": "lookup", "agent": "tool"},
    ]
    log = _write(tmp_path / "t.jsonl", [_trace(1, mode="answer", success=False, steps=steps)])
    run("init", root, "--mode", "answer", "--agents-from", log)
    (root / "agents" / "tool.yaml").unlink()
    assert run("profile", root, "--traces", log).exit_code == 0, "steps of unknown agents are no error"
    search, answer = _profile(root, "s", "search"), _profile(root)
    assert (search.runs, search.competence["search"].successes, search.competence["search"].failures) == (2, 1.0, 1.0)
    assert (answer.runs, answer.competence["answer"].failures, answer.cost.steps) == (1, 1.0, 4.0)
    assert (search.cost.mean_usd, search.cost.runs) == (0.25, 1)


def test_evidence_halves_after_so_many_later_runs(handbook: Path, tmp_path: Path, run: Run) -> None:
    log = _write(tmp_path / "t.jsonl", [_trace(1, success=True), _trace(2, success=False), _trace(3, success=False)])
    run("profile", handbook, "--traces", log, "--half-life", "1")
    root = _profile(handbook).competence["answer"]
    assert (root.successes, root.failures) == (0.25, 1.5)
    assert _profile(handbook).runs == 3


def test_a_half_life_is_kept_for_updates(handbook: Path, tmp_path: Path, run: Run) -> None:
    one = [_trace(n, agent) for n in range(20) for agent in "ab"]
    two = [_trace(n, agent) for n in range(20, 30) for agent in "ab"]
    log = _write(tmp_path / "t.jsonl", one)
    run("profile", handbook, "--traces", log, "--half-life", "5")
    _write(log, one + two)
    run("profile", handbook, "--traces", log, "--update")
    updated = _profile(handbook).competence["answer"]
    run("profile", handbook, "--traces", log)
    counted = _profile(handbook).competence["answer"]
    assert updated.successes == pytest.approx(counted.successes, abs=2e-4)
    assert updated.failures == pytest.approx(counted.failures, abs=2e-4)
    assert run("profile", handbook, "--traces", log, "--update", "--half-life", "7").exit_code == 2
    run("profile", handbook, "--traces", log, "--half-life", "none")
    assert load_handbook(handbook).settings.half_life is None


def test_evidence_halves_with_time(handbook: Path, tmp_path: Path, run: Run) -> None:
    days = ["2026-01-03", "2026-01-01T00:00:00Z", 1767484800]  # the last is 2026-01-04
    traces = [_trace(n, success=True, time=day) for n, day in enumerate(days)]
    log = _write(tmp_path / "t.jsonl", traces)
    run("profile", handbook, "--traces", log, "--half-life", "1d")
    assert _profile(handbook).competence["answer"].successes == 1.625  # 1/2 + 1/8 + 1
    _write(log, [*traces, _trace(9, success=False, time="2026-01-05")])
    run("profile", handbook, "--traces", log, "--update")
    root = _profile(handbook).competence["answer"]
    assert (root.successes, root.failures) == (0.8125, 1.0)


def test_evidence_without_a_time_cannot_decay_by_time(handbook: Path, tmp_path: Path, run: Run) -> None:
    result = run("profile", handbook, "--traces", _write(tmp_path / "t.jsonl", [_trace(1)]), "--half-life", "30d")
    assert result.exit_code == 3
    assert "has no time" in result.stderr


@pytest.mark.parametrize("age", ["soon", "0", "-3", "5y", "1e3", ""])
def test_a_half_life_that_is_none_is_wrong_usage(handbook: Path, tmp_path: Path, run: Run, age: str) -> None:
    log = _write(tmp_path / "t.jsonl", [_trace(1)])
    assert run("profile", handbook, "--traces", log, "--half-life", age).exit_code == 2


def test_hand_written_words_and_comments_stay(handbook: Path, tmp_path: Path, run: Run) -> None:
    agent = handbook / "agents" / "a.yaml"
    agent.write_text(
        agent.read_text(encoding="utf-8")
        + "# tried in May\nprofiles:\n  answer:\n    runs: 0\n    signals: [short sums]\n    strengths: ['no']\n",
        encoding="utf-8",
    )
    log = _write(tmp_path / "t.jsonl", [_trace(1)])
    run("profile", handbook, "--traces", log)
    profile = _profile(handbook)
    assert (profile.runs, profile.signals, profile.strengths) == (1, ("short sums",), ("no",))
    assert "# tried in May" in agent.read_text(encoding="utf-8")


def test_a_full_recount_takes_away_what_is_not_in_the_logs(handbook: Path, tmp_path: Path, run: Run) -> None:
    run("profile", handbook, "--traces", _write(tmp_path / "t.jsonl", [_trace(1), _trace(1, "b")]))
    result = run("profile", handbook, "--traces", _write(tmp_path / "u.jsonl", [_trace(1, "b")]))
    assert "t.jsonl was counted before and is not among these logs: its 2 traces are no evidence" in result.stderr
    assert load_handbook(handbook).agents["a"].profiles == {}
    assert [source.name for source in load_handbook(handbook).evidence] == ["u.jsonl"]


def test_a_dry_run_says_what_would_change_and_writes_nothing(handbook: Path, tmp_path: Path, run: Run) -> None:
    before = _content(handbook)
    log = _write(tmp_path / "t.jsonl", [_trace(1)])
    result = run("profile", handbook, "--traces", log, "--dry-run", "-o", "json")
    assert json.loads(result.stdout)["changed"] is True
    assert _content(handbook) == before


@pytest.mark.parametrize("update", [False, True])
def test_standard_input_may_hold_the_traces(handbook: Path, tmp_path: Path, run: Run, *, update: bool) -> None:
    run("profile", handbook, "--traces", _write(tmp_path / "t.jsonl", [_trace(1)]))
    packed = gzip.compress(b"".join(json.dumps(_trace(n)).encode() + b"\n" for n in (1, 2, 3)) + b"{")
    result = run("profile", handbook, "--traces", "-", *(["--update"] if update else []), stdin=packed)
    assert result.exit_code == 1
    assert "-:4::$: not valid JSON" in result.stderr
    assert _profile(handbook).runs == 3
    assert [source.name for source in load_handbook(handbook).evidence] == ["-"]


def test_standard_input_is_given_once(handbook: Path, run: Run) -> None:
    assert run("profile", handbook, "--traces", "-", "--traces", "-", stdin="").exit_code == 2


def test_a_log_that_is_not_there_is_bad_input(handbook: Path, tmp_path: Path, run: Run) -> None:
    result = run("profile", handbook, "--traces", tmp_path / "none.jsonl")
    assert result.exit_code == 3
    assert "none.jsonl" in result.stderr


def test_an_empty_log_leaves_no_entry_in_the_ledger(handbook: Path, tmp_path: Path, run: Run) -> None:
    assert run("profile", handbook, "--traces", _write(tmp_path / "t.jsonl", [])).exit_code == 0
    assert load_handbook(handbook).evidence == ()


def test_the_json_result_is_as_its_schema_says(handbook: Path, tmp_path: Path, run: Run) -> None:
    log = _write(tmp_path / "t.jsonl", [_trace(1), _trace(2, "b", success=None, cost_usd=0), _trace(3, "new")])
    result = run("profile", handbook, "--traces", log, "-o", "json")
    Draft202012Validator(load_schema("profile_report")).validate(json.loads(result.stdout))


@pytest.mark.parametrize("output", ["text", "markdown"])
def test_the_table_has_a_row_for_each_agent_and_mode(handbook: Path, tmp_path: Path, run: Run, output: str) -> None:
    log = _write(tmp_path / "t.jsonl", [_trace(1), _trace(2, "b", success=None, cost_usd=0)])
    result = run("profile", handbook, "--traces", log, "-o", output)
    rows = result.stdout.splitlines()[2:]
    assert ["answer" in row for row in rows] == [True, True]
    assert "0.667" in rows[0]
    assert "no verdict" in rows[1]
    assert "$0" in rows[1]


def test_quiet_says_nothing_but_the_result(handbook: Path, tmp_path: Path, run: Run) -> None:
    assert run("-q", "profile", handbook, "--traces", _write(tmp_path / "t.jsonl", [_trace(1)], b"{\n")).stderr == ""


def test_a_kill_in_the_middle_leaves_the_handbook_as_it_was(handbook: Path) -> None:
    before = _content(handbook)
    process = subprocess.Popen(
        [sys.executable, "-m", "skillctl", "profile", str(handbook), "--traces", "-"],
        stdin=subprocess.PIPE,
        env=os.environ,
    )
    assert process.stdin is not None
    process.stdin.write(b"".join(json.dumps(_trace(n)).encode() + b"\n" for n in range(100)))
    process.stdin.flush()
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdin.close()
    assert _content(handbook) == before


def test_a_terminal_sees_how_far_the_logs_were_read(handbook: Path, tmp_path: Path) -> None:
    log = _write(tmp_path / "t.jsonl", [_trace(n) for n in range(200)])
    terminal, side = pty.openpty()
    termios.tcsetwinsize(side, (24, 80))
    command = [sys.executable, "-m", "skillctl", "profile", str(handbook), "--traces", str(log)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=side, check=True)
    os.close(side)
    shown = os.read(terminal, 100_000)
    os.close(terminal)
    assert b"B/s" in shown
    assert b"B/s" not in done.stdout


def test_calibrating_chooses_global_numbers_on_held_out_queries_and_is_repeatable(demo: Path, run: Run) -> None:
    log = demo / "data" / "train.jsonl"
    assert run("profile", demo, "--traces", log, "--calibrate").exit_code == 0
    first = (demo / "handbook.yaml").read_bytes()
    settings = load_handbook(demo).settings
    assert settings.orchestrator.temperature is not None
    assert settings.prior_strength is not None
    competence = load_handbook(demo).agents[AgentId("qc15")].profiles[ModeId("answer")].competence["answer.facts"]
    prior = competence.alpha + competence.beta - competence.successes - competence.failures
    assert prior == pytest.approx(settings.prior_strength, abs=1e-3)
    assert run("profile", demo, "--traces", log, "--calibrate").exit_code == 0
    assert (demo / "handbook.yaml").read_bytes() == first


def test_calibrating_needs_all_logs(demo: Path, run: Run) -> None:
    result = run("profile", demo, "--traces", demo / "data" / "train.jsonl", "--calibrate", "--update")
    assert result.exit_code == 2
