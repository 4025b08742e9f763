from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

import pytest

from skillctl.store.handbook_dir import load_handbook

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from skillctl.model.handbook import Agent

    class Run(Protocol):
        def __call__(self, *args: str | Path, stdin: str | bytes | None = None) -> Result: ...


SKILLS = (
    "mode: answer\nskills:\n"
    "- {id: answer.code, description: Writes program code in Python., indicators: [python, function]}\n"
    "- {id: answer.math, description: Calculates with numbers., indicators: [sum, equation]}\n"
)


@pytest.fixture
def book(tmp_path: Path, run: Run) -> Path:
    """A handbook of four agents: two are good at code, two at math."""
    traces = [
        {
            "query_id": f"{skill}{number}",
            "query": f"query {number} about {skill}",
            "agent": agent,
            "success": (good == skill) == (number % 10 > 0),
            "skills": {f"answer.{skill}": 1.0},
            "prompt_tokens": 100,
            "completion_tokens": 20,
        }
        for agent, good in (("coder-1", "code"), ("coder-2", "code"), ("reckoner-1", "math"), ("reckoner-2", "math"))
        for skill in ("code", "math")
        for number in range(40)
    ]
    log = tmp_path / "traces.jsonl"
    log.write_text("".join(json.dumps(trace) + "\n" for trace in traces), encoding="utf-8")
    root = tmp_path / "book"
    assert run("init", root, "--agents-from", log).exit_code == 0
    (root / "skills/answer.yaml").write_text(SKILLS, encoding="utf-8")
    assert run("profile", root, "--traces", log).exit_code == 0
    return root


def _agent(root: Path, name: str) -> Agent:
    return next(agent for key, agent in load_handbook(root).agents.items() if key == name)


def _means(agent: Agent) -> dict[str, float]:
    (profile,) = agent.profiles.values()
    return {skill: c.alpha / (c.alpha + c.beta) for skill, c in profile.competence.items()}


def test_a_new_agent_is_expected_to_do_as_the_others_with_no_evidence(book: Path, run: Run) -> None:
    result = run("agents", "add", book, "new", "--model", "openai/new", "--price", "1", "2")
    assert result.exit_code == 0
    assert result.stdout.endswith("new.yaml\n")
    agent = _agent(book, "new")
    assert _means(agent)["answer.code"] == pytest.approx(0.5, abs=0.05)
    (profile,) = agent.profiles.values()
    assert (profile.runs, profile.cost.runs, profile.cost.prompt_tokens) == (0, 0, 100.0)
    assert {(c.successes, c.failures) for c in profile.competence.values()} == {(0.0, 0.0)}
    assert run("validate", book).exit_code == 0


def test_it_is_like_the_agents_that_it_resembles(book: Path, run: Run) -> None:
    run("agents", "add", book, "new", "--model", "openai/new", "--like", "coder-1", "--like", "coder-2")
    means = _means(_agent(book, "new"))
    assert means["answer.code"] > 0.75
    assert means["answer.math"] < 0.25


def test_it_is_routed_to_at_once_and_its_cost_follows_from_its_price(book: Path, run: Run) -> None:
    run("agents", "add", book, "new", "--model", "openai/new", "--price", "1", "2", "--like", "coder-1")
    query = json.dumps({"id": 1, "query": "a python function", "skills": {"answer.code": 1}, "allow": ["new"]})
    decision = json.loads(run("route", book, stdin=query).stdout)
    assert decision["agent"] == "new"
    assert decision["expected_cost_usd"] == pytest.approx(0.00014)


def test_what_it_inherited_stays_until_it_has_outcomes_of_its_own(book: Path, tmp_path: Path, run: Run) -> None:
    run("agents", "add", book, "new", "--model", "openai/new", "--like", "coder-1")
    before = _agent(book, "new").profiles
    more = tmp_path / "more.jsonl"
    more.write_text('{"query": "x", "agent": "coder-1", "success": true}\n', encoding="utf-8")
    run("profile", book, "--traces", more, "--update")
    assert _agent(book, "new").profiles == before
    own = tmp_path / "own.jsonl"
    own.write_text('{"query": "x", "agent": "new", "success": true, "skills": {"answer.math": 1}}\n', encoding="utf-8")
    run("profile", book, "--traces", own, "--update")
    (profile,) = _agent(book, "new").profiles.values()
    assert (profile.runs, profile.competence["answer.math"].successes) == (1, 1.0)


def test_few_outcomes_of_a_newcomer_speak_for_all_its_skills(book: Path, tmp_path: Path, run: Run) -> None:
    run("agents", "add", book, "new", "--model", "openai/new")
    more = tmp_path / "more.jsonl"
    line = '{{"query_id": {0}, "query": "x", "agent": "new", "success": true, "skills": {{"answer.code": 1}}}}\n'
    more.write_text("".join(line.format(number) for number in range(6)), encoding="utf-8")
    run("profile", book, "--traces", more, "--update")
    means = _means(_agent(book, "new"))
    assert means["answer.code"] > 0.75
    assert means["answer.math"] < means["answer.code"] - 0.15


def test_the_queries_that_tell_most_are_planned_over_both_skills(book: Path, tmp_path: Path, run: Run) -> None:
    script = "import json, sys; json.load(sys.stdin); print(json.dumps({'answer': 'x'}))"
    (book / "say.py").write_text(script, encoding="utf-8")
    run("agents", "add", book, "new", "--command", "python say.py")
    queries = tmp_path / "q.jsonl"
    texts = ["a python function"] * 6 + ["the sum of an equation"] * 6
    lines = [{"id": n, "query": f"{text} {n}", "reference": "x"} for n, text in enumerate(texts)]
    queries.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    out = tmp_path / "t.jsonl"
    assert run("explore", book, "--queries", queries, "--out", out, "--agent", "new", "--plan", "4").exit_code == 0
    asked = [json.loads(line)["query_id"] for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(asked) == 4
    assert len([number for number in asked if number < 6]) == 2
    run("agents", "add", book, "other", "--command", "python say.py")
    result = run("explore", book, "--queries", queries, "--out", out, "--plan", "4")
    assert (result.exit_code, "--plan is about one agent" in result.stderr) == (2, True)


def test_an_agent_is_taken_from_a_pool_file(book: Path, tmp_path: Path, run: Run) -> None:
    pool = tmp_path / "pool.yaml"
    pool.write_text("agents:\n- {agent: new, model: openai/x, params: {temperature: 0}}\n", encoding="utf-8")
    assert run("agents", "add", book, "new", "--from", pool).exit_code == 0
    assert dict(_agent(book, "new").params) == {"temperature": 0}
    result = run("agents", "add", book, "other", "--from", pool)
    assert (result.exit_code, "there is no agent 'other'" in result.stderr) == (3, True)


def test_an_agent_is_removed_with_its_file(book: Path, run: Run) -> None:
    assert run("agents", "remove", book, "coder-1").exit_code == 0
    assert "coder-1" not in load_handbook(book).agents
    assert not (book / "agents/coder-1.yaml").exists()


def test_an_agent_takes_the_place_of_another_with_its_modes_and_priors(book: Path, run: Run) -> None:
    assert run("agents", "replace", book, "coder-1", "coder-3", "--model", "openai/next").exit_code == 0
    assert "coder-1" not in load_handbook(book).agents
    agent = _agent(book, "coder-3")
    assert (agent.model, agent.modes) == ("openai/next", ("answer",))
    assert _means(agent)["answer.code"] > 0.7
    assert run("agents", "replace", book, "coder-3", "coder-3", "--model", "openai/newer").exit_code == 0
    assert _agent(book, "coder-3").model == "openai/newer"


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["add", "{book}", "coder-1"], 3, "there is an agent 'coder-1' already"),
        (["add", "{book}", "new", "--like", "nobody"], 3, "there is no agent 'nobody'"),
        (["add", "{book}", "new", "--model", "m", "--command", "c"], 2, "a model or a command"),
        (["add", "{book}", "new", "--playbook", "p"], 3, "there is no playbook `p`"),
        (["add", "{book}", "new", "--mode", "fly"], 3, "there is no mode `fly`"),
        (["remove", "{book}", "nobody"], 3, "there is no agent 'nobody'"),
        (["replace", "{book}", "coder-1", "coder-2"], 3, "there is an agent 'coder-2' already"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(
    book: Path, run: Run, args: list[str], code: int, message: str
) -> None:
    before = {path: path.read_bytes() for path in book.rglob("*.yaml")}
    result = run("agents", *(arg.format(book=book) for arg in args))
    assert result.exit_code == code
    assert message in result.stderr
    assert {path: path.read_bytes() for path in book.rglob("*.yaml")} == before


def test_a_dry_run_writes_nothing(book: Path, run: Run) -> None:
    before = {path: path.read_bytes() for path in book.rglob("*.yaml")}
    assert "nothing was written" in run("agents", "add", book, "new", "--model", "m", "--dry-run").stderr
    assert {path: path.read_bytes() for path in book.rglob("*.yaml")} == before
