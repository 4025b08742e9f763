from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from routing_handbooks import CHEAP, STRONG, make_agent, make_handbook
from scipy.special import betainc

from skillctl.model.handbook import Capabilities
from skillctl.store.handbook_dir import save_handbook
from skillctl.store.schema import load_schema

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run

    from skillctl.model.handbook import Agent

MATH = {"id": 1, "query": "Solve 7x + 2 = 30 for x."}
POEM = {"id": "1", "query": "Write a poem about the sea."}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write(tmp_path / "small")


def write(root: Path, *agents: Agent, cost_weight: float = 0.0) -> Path:
    save_handbook(make_handbook(*agents, cost_weight=cost_weight), root)
    return root


def lines(*rows: dict[str, Any] | str) -> str:
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


def parse(text: str) -> list[dict[str, Any]]:
    decisions = [json.loads(line) for line in text.splitlines()]
    validator = Draft202012Validator(load_schema("decision"))
    for decision in decisions:
        validator.validate(decision)
    return decisions


def route(
    run: Run, root: Path, *rows: dict[str, Any] | str, args: tuple[str, ...] = (), exit_code: int = 0
) -> list[Any]:
    result = run("route", root, *args, stdin=lines(*rows))
    assert result.exit_code == exit_code, result.stderr
    return parse(result.stdout)


def test_every_line_gets_a_decision_with_its_own_id_in_order(run: Run, small: Path) -> None:
    rows = [MATH, POEM, {"query": "no id"}, {"id": [1, {"a": None}], "query": "any JSON is an id"}]
    decisions = route(run, small, *rows)
    assert [decision["id"] for decision in decisions] == [1, "1", None, [1, {"a": None}]]
    assert [decision["agent"] for decision in decisions[:2]] == ["strong", "cheap"]
    assert decisions[0]["skills"].keys() >= {"answer.math"}
    assert sum(decisions[0]["skills"].values()) == pytest.approx(1)
    assert decisions[0]["fallbacks"] == ["cheap"]
    assert decisions[0]["model"] == "vendor/strong"


def test_a_single_skill_has_the_exact_posterior(run: Run, small: Path) -> None:
    (decision,) = route(run, small, {**MATH, "skills": {"answer.math": 2.0}})
    assert decision["skills"] == {"answer.math": 1.0}
    assert decision["expected_success"] == pytest.approx(46 / 52, abs=1e-6)
    assert betainc(46, 6, decision["interval"]) == pytest.approx([0.05, 0.95], abs=1e-4)


def test_lambda_moves_the_choice_from_the_best_to_the_cheapest(run: Run, small: Path) -> None:
    chosen = {
        weight: route(run, small, {**MATH, "skills": {"answer.math": 1}}, args=("--lambda", weight))[0]["agent"]
        for weight in ("0", "10", "100")
    }
    assert chosen == {"0": "strong", "10": "strong", "100": "cheap"}


def test_the_lambda_of_a_line_goes_before_the_option_and_the_handbook(run: Run, tmp_path: Path) -> None:
    root = write(tmp_path / "dear", cost_weight=1000.0)
    rows = [{**MATH, "skills": {"answer.math": 1}, "lambda": weight} for weight in (None, 0)]
    assert [d["agent"] for d in route(run, root, *rows)] == ["cheap", "strong"]
    assert [d["agent"] for d in route(run, root, *rows, args=("--lambda", "1"))] == ["strong", "strong"]


def test_what_resembles_no_skill_falls_back_to_the_mode_and_says_so(run: Run, small: Path) -> None:
    decisions = route(run, small, {"id": 1, "query": ""}, {"id": 2, "query": "qwerty"}, args=("--explain",))
    for decision in decisions:
        assert decision["skills"] == {"answer": 1.0}
        assert decision["fallback"] == ["no_skill_matched"]


def test_an_unpriced_agent_never_wins_as_the_cheapest(run: Run, tmp_path: Path) -> None:
    unknown = make_agent("unknown", {"answer": (99, 1)}, cost=None)
    root = write(tmp_path / "h", CHEAP, STRONG, unknown)
    query = {"id": 1, "query": "x", "skills": {"answer": 1}}
    assert route(run, root, query)[0]["agent"] == "unknown"
    (decision,) = route(run, root, query, args=("--lambda", "0.001", "--explain"))
    assert decision["agent"] == "strong"
    gated = {candidate["agent"]: candidate["gated"] for candidate in decision["candidates"]}
    assert gated == {"cheap": None, "strong": None, "unknown": "unknown_cost"}


def test_cost_is_left_out_where_no_agent_has_a_price(run: Run, tmp_path: Path) -> None:
    root = write(
        tmp_path / "h", make_agent("a", {"answer": (1, 9)}, cost=None), make_agent("b", {"answer": (9, 1)}, cost=None)
    )
    (decision,) = route(run, root, MATH, args=("--lambda", "5", "--explain"))
    assert decision["agent"] == "b"
    assert decision["expected_cost_usd"] is None
    assert "unpriced" in decision["fallback"]


def test_a_free_agent_is_free_rather_than_unknown(run: Run, tmp_path: Path) -> None:
    root = write(tmp_path / "h", make_agent("free", {"answer": (1, 1)}, cost=0.0), STRONG)
    (decision,) = route(run, root, {"id": 1, "query": "x", "skills": {"answer": 1}}, args=("--lambda", "1000"))
    assert decision["agent"] == "free"
    assert decision["expected_cost_usd"] == 0


@pytest.mark.parametrize(
    ("extra", "chosen"),
    [
        ({"allow": ["cheap", "nobody"]}, "cheap"),
        ({"deny": ["strong"]}, "cheap"),
        ({"needs": {"tools": ["python"]}}, "cheap"),
        ({"needs": {"modalities": ["text"]}}, "strong"),
        ({"needs": {"modalities": ["image"]}}, "cheap"),
        ({"needs": {"context_tokens": 100_000}}, "cheap"),
        ({"needs": {"context_tokens": None}}, "strong"),
        ({"failed": ["strong"]}, "strong"),
    ],
    ids=["allow", "deny", "tools", "text", "image", "context", "null limit", "not in a conversation"],
)
def test_gates_are_shut_before_scoring(run: Run, tmp_path: Path, extra: dict[str, Any], chosen: str) -> None:
    able = Capabilities(modalities=("text", "image"), context_tokens=128_000)
    cheap = make_agent("cheap", {"answer": (5, 5)}, tools=("python",), capabilities=able)
    root = write(tmp_path / "h", cheap, STRONG)
    (decision,) = route(run, root, {"id": 1, "query": "x", "skills": {"answer": 1}, **extra})
    assert decision["agent"] == chosen


def test_a_query_longer_than_an_agents_context_goes_to_another(run: Run, tmp_path: Path) -> None:
    short = make_agent("short", {"answer": (99, 1)}, capabilities=Capabilities(context_tokens=1000))
    root = write(tmp_path / "h", short, CHEAP)
    rows = [{"id": n, "query": "word " * n, "skills": {"answer": 1}} for n in (10, 1000)]
    assert [decision["agent"] for decision in route(run, root, *rows)] == ["short", "cheap"]


def test_where_no_agent_is_left_the_line_says_why(run: Run, small: Path) -> None:
    rows = [MATH, {**MATH, "allow": []}, {**MATH, "needs": {"tools": ["python"]}}, POEM]
    decisions = route(run, small, *rows, exit_code=1)
    assert [decision.get("error", {}).get("code") for decision in decisions] == [None, "no_agent", "no_agent", None]
    assert decisions[1]["error"] == {
        "code": "no_agent",
        "message": "no agent is left in mode 'answer': all are gated out: 2 by allow",
        "line": 2,
    }


@pytest.mark.parametrize("args", [(), ("--explain",), ("--policy", "thompson"), ("--budget", "1"), ("--jobs", "2")])
def test_a_mode_without_agents_is_an_error_of_each_line(run: Run, tmp_path: Path, args: tuple[str, ...]) -> None:
    assert run("init", tmp_path / "new", "--mode", "answer").exit_code == 0
    decisions = route(run, tmp_path / "new", MATH, {**POEM, "skills": {"answer": 1}}, args=args, exit_code=1)
    assert [decision["error"]["code"] for decision in decisions] == ["no_agent", "no_agent"]
    assert "the handbook has no agents" in decisions[0]["error"]["message"]


def test_a_bad_line_changes_nothing_about_the_others(run: Run, small: Path) -> None:
    rows = [{**MATH, "skills": {"answer.math": n % 3 + 1, "answer.writing": 1, "gone": n % 2}} for n in range(9)]
    alone = run("route", small, stdin=lines(*rows)).stdout.splitlines()
    for bad in ('{"id": 1, "id": 2, "query": "x"}', '{"id": ', "[1]", '{"id": 1.5, "query": "x"}'):
        assert run("route", small, stdin=lines(*rows, bad)).stdout.splitlines()[:-1] == alone


def test_lines_that_are_json_only_together_are_bad_lines(run: Run, small: Path) -> None:
    rows = ['{"id": 1, "query": "x"}, {"id": 2, "query": "x"}', '{"id": 3, "query": ["x"', '"y"]}']
    decisions = route(run, small, *rows, exit_code=1)
    assert [decision["error"]["code"] for decision in decisions] == ["bad_json"] * 3


def test_bad_lines_are_answered_in_their_place(run: Run, small: Path) -> None:
    rows = [
        MATH,
        '{"id": 2, "query": NaN}',
        "[1]",
        '{"id": 4}',
        '{"id": 5, "query": "x", "mode": "fly"}',
        POEM,
        '{"id": 7',
    ]
    decisions = route(run, small, *rows, exit_code=1)
    codes = [decision.get("error", {}).get("code") for decision in decisions]
    assert codes == [None, "bad_json", "bad_json", "no_query", "unknown_mode", None, "bad_json"]
    assert [decision["id"] for decision in decisions] == [1, None, None, 4, 5, "1", None]
    assert [decision["error"]["line"] for decision in decisions if "error" in decision] == [2, 3, 4, 5, 7]


@pytest.mark.parametrize("skills", [{"answer.math": -1}, {"answer.math": 0}, {"answer.math": "1"}, [1]])
def test_weights_that_are_none_are_an_error_of_the_line(run: Run, small: Path, skills: object) -> None:
    (decision,) = route(run, small, {**MATH, "skills": skills}, exit_code=1)
    assert decision["error"]["code"] == "bad_skills"


def test_unknown_skills_are_dropped_and_reported(run: Run, small: Path) -> None:
    rows = [{**MATH, "skills": {"answer.math": 1, "answer.gone": 3}}, {**MATH, "skills": {"nowhere": 1}}]
    result = run("route", small, "--explain", stdin=lines(*rows))
    first, second = parse(result.stdout)
    assert first["skills"] == {"answer.math": 1.0}
    assert first["fallback"] == ["unknown_skills"]
    assert second["skills"] == {"answer": 1.0}
    assert second["fallback"] == ["no_skill_matched", "unknown_skills"]
    assert "warning: 2 weights name skills that the handbook does not have: answer.gone, nowhere" in result.stderr


def test_ties_go_to_the_lower_cost_then_to_more_evidence_then_to_the_lower_id(run: Run, tmp_path: Path) -> None:
    def chosen(*agents: Agent) -> tuple[str, bool]:
        root = write(tmp_path / "-".join(agent.id for agent in agents), *agents)
        (decision,) = route(run, root, {"id": 1, "query": "x", "skills": {"answer": 1}})
        return decision["agent"], decision["tie"]

    even, more = {"answer": (4.0, 4.0)}, {"answer": (40.0, 40.0)}
    assert chosen(make_agent("a", more, cost=0.02), make_agent("b", even, cost=0.01)) == ("b", True)
    assert chosen(make_agent("c", even, cost=None), make_agent("d", even, cost=0.01)) == ("d", True)
    assert chosen(make_agent("e", even), make_agent("f", more)) == ("f", True)
    assert chosen(make_agent("g", even), make_agent("h", even)) == ("g", True)


def test_a_prior_is_not_shown_as_knowledge(run: Run, tmp_path: Path) -> None:
    root = write(tmp_path / "h", CHEAP, make_agent("new"))
    (decision,) = route(
        run, root, {"id": 1, "query": "x", "skills": {"answer": 1}, "allow": ["new"]}, args=("--explain",)
    )
    assert decision["agent"] == "new"
    assert decision["expected_success"] == 0.5  # as the mode's only known agent
    assert decision["evidence"] == {"n": 0, "prior_only": True}
    assert decision["fallback"] == ["gated_out", "prior_only"]


def test_who_failed_in_the_conversation_has_a_lower_chance(run: Run, small: Path) -> None:
    def state(*verdicts: str) -> dict[str, Any]:
        turns = [
            turn
            for name in verdicts
            for turn in ({"role": "assistant", "name": name, "content": "?", "success": False},)
        ]
        return {
            "id": 1,
            "messages": [{"role": "user", "content": "Solve 3x = 9 for x."}, *turns],
            "skills": {"answer.math": 1},
        }

    fresh, failed = route(run, small, state(), state("strong"))
    assert fresh["agent"] == "strong"
    assert failed["fallbacks" if failed["agent"] == "strong" else "agent"] in ("cheap", ["cheap"])
    (twice,) = route(run, small, state("strong", "strong"))
    assert twice["agent"] == "cheap"


def test_explain_says_how_every_agent_was_scored(run: Run, small: Path) -> None:
    (decision,) = route(run, small, {**MATH, "skills": {"answer.math": 1}}, args=("--explain", "--lambda", "1"))
    assert [candidate["agent"] for candidate in decision["candidates"]] == ["cheap", "strong"]
    assert decision["runner_up"] == "cheap"
    gained, paid = 46 / 52 - 21 / 52, 0.01 - 0.0001
    assert decision["flip_lambda"] == pytest.approx(gained / paid, rel=1e-5)
    assert decision["evidence"] == {"n": 50, "prior_only": False}
    assert decision["score"] == pytest.approx(46 / 52 - 0.01, abs=1e-6)


def test_the_choice_flips_at_the_lambda_that_explain_names(run: Run, small: Path) -> None:
    query = {**MATH, "skills": {"answer.math": 1}}
    flip = route(run, small, query, args=("--explain",))[0]["flip_lambda"]
    around = [route(run, small, query, args=("--lambda", str(flip * factor)))[0]["agent"] for factor in (0.999, 1.001)]
    assert around == ["strong", "cheap"]


def test_a_budget_is_never_exceeded_and_used_well(run: Run, small: Path, tmp_path: Path) -> None:
    rows = lines(*({"id": n, "query": "x", "skills": {"answer.math": n, "answer.writing": 20 - n}} for n in range(21)))
    (tmp_path / "in.jsonl").write_text(rows)
    spent = []
    for budget in ("0.0021", "0.05", "0.1", "1"):
        result = run("route", small, "--in", tmp_path / "in.jsonl", "--budget", budget)
        assert result.exit_code == 0
        spent.append(sum(decision["expected_cost_usd"] for decision in parse(result.stdout)))
        assert round(spent[-1], 12) <= float(budget)
    assert spent[0] == pytest.approx(0.0021)
    assert 0.03 < spent[1] <= 0.05
    assert spent == sorted(spent)
    assert (
        run("route", small, "--budget", "0.05", stdin=rows).stdout
        == run("route", small, "--in", tmp_path / "in.jsonl", "--budget", "0.05").stdout
    )


def test_a_budget_below_the_cheapest_choice_names_the_minimum(run: Run, small: Path) -> None:
    result = run("route", small, "--budget", "0.00001", stdin=lines(MATH, POEM))
    assert result.exit_code == 3
    assert "even the cheapest choice costs $0.0002" in result.stderr
    assert result.stdout == ""


def test_contradicting_options_are_wrong_usage(run: Run, small: Path) -> None:
    assert run("route", small, "--budget", "1", "--lambda", "1", stdin="").exit_code == 2
    assert run("route", small, "--orchestrator", "gpt", stdin="").exit_code == 2
    assert run("route", small, "--mode", "fly", stdin="").exit_code == 2


@pytest.mark.parametrize("policy", ["greedy", "ucb", "thompson"])
def test_jobs_do_not_change_a_byte(run: Run, small: Path, tmp_path: Path, policy: str) -> None:
    rows = lines(*({"id": n, "query": f"Write {n} + {n}" if n % 3 else "a poem"} for n in range(5000)))
    (tmp_path / "in.jsonl").write_text(rows)
    args = ("route", small, "--in", tmp_path / "in.jsonl", "--policy", policy, "--seed", "3")
    assert run(*args, "--out", tmp_path / "1").exit_code == 0
    assert run(*args, "--out", tmp_path / "2", "--jobs", "3").exit_code == 0
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    assert (tmp_path / "1").read_bytes().count(b"\n") == 5000


def test_policies_that_explore_follow_the_uncertainty(run: Run, tmp_path: Path) -> None:
    sure, unsure = make_agent("sure", {"answer": (60, 40)}), make_agent("unsure", {"answer": (1, 1)})
    root = write(tmp_path / "h", sure, unsure)
    rows = [{"id": n, "query": "x", "skills": {"answer": 1}} for n in range(400)]
    shares = {
        policy: sum(d["agent"] == "unsure" for d in route(run, root, *rows, args=("--policy", policy))) / len(rows)
        for policy in ("greedy", "ucb", "thompson")
    }
    assert shares["greedy"] == 0
    assert shares["ucb"] == 1
    assert 0.2 < shares["thompson"] < 0.5  # P(Beta(2, 2) > Beta(61, 41)) is about 0.36


def test_the_seed_fixes_the_draws(run: Run, small: Path) -> None:
    rows = [{"id": n, "query": "x", "skills": {"answer.writing": 1}} for n in range(300)]
    once, again, other = (
        route(run, small, *rows, args=("--policy", "thompson", "--seed", seed)) for seed in ("1", "1", "2")
    )
    assert once == again
    assert once != other


def test_a_table_on_stderr_sums_up_the_run(run: Run, small: Path) -> None:
    result = run("route", small, stdin=lines(MATH, POEM))
    assert [line.split()[:3] for line in result.stderr.splitlines()] == [
        ["agent", "lines", "share"],
        ["cheap", "1", "50.0%"],
        ["strong", "1", "50.0%"],
        ["all", "2", "100.0%"],
    ]
    assert run("-q", "route", small, stdin=lines(MATH)).stderr == ""


def test_a_result_file_takes_its_place_whole(run: Run, small: Path, tmp_path: Path) -> None:
    queries, out = tmp_path / "q.jsonl", tmp_path / "d.jsonl"
    queries.write_text(lines(MATH, POEM))
    assert run("route", small, "--in", queries, "--out", queries).exit_code == 0
    assert len(parse(queries.read_text())) == 2
    assert run("route", small, "--in", tmp_path / "missing", "--out", out).exit_code == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["q.jsonl", "small"]


def test_a_byte_order_mark_crlf_blank_lines_and_a_missing_final_newline_do_no_harm(run: Run, small: Path) -> None:
    text = b"\xef\xbb\xbf" + json.dumps(MATH).encode() + b"\r\n\r\n" + json.dumps(POEM).encode()
    result = run("route", small, stdin=text)
    assert result.exit_code == 0
    assert [decision["id"] for decision in parse(result.stdout)] == [1, "1"]


def test_a_query_of_a_megabyte_is_routed(run: Run, small: Path) -> None:
    started = time.process_time()
    decisions = route(run, small, {"id": 1, "query": "x" * 1_000_000}, {"id": 2, "query": "solve for x " * 100_000})
    assert len(decisions) == 2
    assert time.process_time() - started < 20  # it is cut, not embedded whole


def test_an_empty_input_gives_an_empty_output(run: Run, small: Path) -> None:
    result = run("route", small, stdin="")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_a_mode_without_agents_is_an_error_of_the_line(run: Run, tmp_path: Path) -> None:
    root = write(tmp_path / "h", make_agent("elsewhere", modes=()))
    (decision,) = route(run, root, MATH, exit_code=1)
    assert decision["error"]["message"] == "no agent is left in mode 'answer': all are gated out: 1 by mode"


def test_a_change_of_the_handbook_is_seen_at_once(run: Run, small: Path) -> None:
    query = {"id": 1, "query": "x", "skills": {"answer": 1}}
    assert [route(run, small, query)[0]["agent"] for _ in range(2)] == ["strong", "strong"]
    save_handbook(make_handbook(CHEAP, make_agent("strong", {"answer": (0, 100)})), small)
    assert route(run, small, query)[0]["agent"] == "cheap"


def test_an_invalid_handbook_is_listed_and_refused(run: Run, small: Path) -> None:
    agent = next((small / "agents").iterdir())
    good = agent.read_text()
    route(run, small, MATH)
    agent.write_text(good.replace("model:", "modle:"))
    result = run("route", small, stdin=lines(MATH))
    assert result.exit_code == 3
    assert "modle" in result.stderr
    agent.write_text(good)
    assert route(run, small, MATH)[0]["agent"] == "strong"


def skillctl(*args: str | Path, stdin: int | None = None) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "skillctl", *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=stdin)


def test_a_closed_pipe_ends_quietly(small: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(lines(*({"id": n, "query": "a poem"} for n in range(20_000))))
    process = skillctl("-q", "route", small, "--in", tmp_path / "in.jsonl")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_leaves_no_partial_result(small: Path, tmp_path: Path, jobs: str) -> None:
    read, feed = os.pipe()
    process = skillctl("route", small, "--out", tmp_path / "out.jsonl", "--jobs", jobs, stdin=read)
    os.close(read)
    os.write(feed, lines(*({"id": n, "query": "x"} for n in range(500))).encode())
    deadline = time.monotonic() + 20
    while not list(tmp_path.glob(".out.jsonl*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    os.close(feed)
    assert process.returncode == 130, errors
    assert [path.name for path in tmp_path.iterdir()] == ["small"]


def test_a_warm_route_reads_no_yaml_and_no_schema(run: Run, small: Path) -> None:
    run("route", small, stdin=lines(MATH))
    time.sleep(0.05)  # until the files are older than a tick of the file system's clock
    run("route", small, stdin=lines(MATH))
    code = (
        "import sys; from skillctl.cli.main import group\n"
        f"group(['route', {str(small)!r}], standalone_mode=False)\n"
        "slow = {'yaml', 'jsonschema', 'litellm', 'scipy', 'wordllama', 'tqdm'}\n"
        "print(sorted(slow & set(sys.modules)), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], input=lines(MATH), capture_output=True, text=True, check=True)
    assert result.stderr.splitlines()[-1] == "[]"
    assert json.loads(result.stdout)["agent"] == "strong"
