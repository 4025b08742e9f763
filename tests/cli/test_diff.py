from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from skillctl.model.handbook import Agent, Competence, CostStats, Handbook, Mode, Origin, Price, Profile, Skill
from skillctl.model.selection import Candidate, Selection
from skillctl.store.handbook_dir import load_handbook, save_handbook
from skillctl.store.schema import load_schema
from skillctl.store.selections import save_selection

if TYPE_CHECKING:
    from conftest import Run


def git(repo: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=repo, check=True, capture_output=True, text=True).stdout


def _agent(name: str, successes: float, failures: float, *, price: Price | None = None) -> Agent:
    entry = Competence(successes + 1, failures + 1, successes, failures)
    competence = {"answer": entry, "answer.math": Competence(successes + 3, failures + 3, successes, failures)}
    profile = Profile(runs=int(successes + failures), cost=CostStats(0.01, 0.001, 20), competence=competence)
    return Agent(name, modes=("answer",), price=price, profiles={"answer": profile})  # type: ignore[arg-type, dict-item]


BEFORE = Handbook(
    "h",
    modes={"answer": Mode("answer")},  # type: ignore[dict-item, arg-type]
    skills={"answer": (Skill("answer.math", "Computes."),)},  # type: ignore[dict-item, arg-type]
    agents={"good": _agent("good", 12, 8), "other": _agent("other", 13, 7)},  # type: ignore[dict-item]
)
AFTER = replace(BEFORE, agents={**BEFORE.agents, "good": _agent("good", 48, 12)})


@pytest.fixture
def root(git_repo: Path) -> Path:
    """A committed handbook in a folder with a space and letters beyond ASCII, changed in the work tree."""
    root = git_repo / "my händbook"
    save_handbook(BEFORE, root)
    git(git_repo, "add", ".")
    git(git_repo, "commit", "-q", "-m", "first")
    save_handbook(AFTER, root)
    return root


def test_an_unchanged_handbook_prints_nothing(root: Path, git_repo: Path, run: Run) -> None:
    git(git_repo, "commit", "-q", "-am", "second")
    for output in ("text", "markdown", "json"):
        result = run("diff", root, "--exit-code", "-o", output)
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_one_agent_that_got_better_is_one_line(root: Path, run: Run) -> None:
    result = run("diff", root, "--exit-code")
    assert result.exit_code == 1
    lines = [line for line in result.stdout.splitlines() if "in all of answer" in line]
    assert len(lines) == 1
    assert lines[0].startswith("- good is better than thought in all of answer: expected success 59 % → 79 %")
    assert "40 new outcomes, 60 in all" in lines[0]


def test_markdown_says_what_happens_to_the_traffic_in_one_table(root: Path, tmp_path: Path, run: Run) -> None:
    queries = tmp_path / "q.jsonl"
    queries.write_text("".join(f'{{"id": {n}, "query": "What is {n} + {n}?"}}\n' for n in range(4)), encoding="utf-8")
    shown = run("diff", root, "--queries", queries, "-o", "markdown").stdout
    short = shown.partition("<details>")[0]
    assert "4 of 4 queries (100 %) go to another agent" in short
    assert "`other` 100 %" in short
    assert "`good` 100 %" in short
    assert shown.count("<details>") == shown.count("</details>")


def test_logged_outcomes_give_the_real_paired_difference(root: Path, tmp_path: Path, run: Run) -> None:
    lines = [
        {"query_id": n, "query": f"What is {n} + {n}?", "agent": agent, "success": agent == "good", "cost_usd": 0.5}
        for n in range(10)
        for agent in ("good", "other")
    ]
    log = tmp_path / "t.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    shown = json.loads(run("diff", root, "--queries", log, "-o", "json").stdout)
    assert shown["effect"]["queries"] == 10
    assert shown["effect"]["real"]["difference"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert shown["effect"]["flows"][0]["queries"] == 10
    assert shown["effect"]["after"]["effective_agents"] == 1.0
    Draft202012Validator(load_schema("diff")).validate(shown)


def test_two_folders_need_no_repository(tmp_path: Path, run: Run) -> None:
    save_handbook(BEFORE, tmp_path / "a")
    save_handbook(AFTER, tmp_path / "b")
    assert "good is better" in run("diff", tmp_path / "a", tmp_path / "b").stdout
    assert "good is worse" in run("diff", tmp_path / "b", tmp_path / "a").stdout


def test_revisions_are_named_as_git_does(root: Path, git_repo: Path, run: Run) -> None:
    git(git_repo, "commit", "-q", "-am", "second")
    expected = run("diff", root, "HEAD~1", "HEAD").stdout.splitlines()[1:]
    assert expected
    for revisions in (["HEAD~1"], ["HEAD~1..HEAD"], ["HEAD~1.."], ["HEAD~1...HEAD"]):
        assert run("diff", root, *revisions).stdout.splitlines()[1:] == expected
    backwards = run("diff", root, "HEAD..HEAD~1").stdout
    assert "good is worse than thought" in backwards


def test_a_folder_that_is_gone_can_be_compared_by_revision(root: Path, git_repo: Path, run: Run) -> None:
    git(git_repo, "commit", "-q", "-am", "second")
    shutil.rmtree(root)
    assert "good is better" in run("diff", root, "HEAD~1", "HEAD").stdout


def test_a_new_handbook_differs_from_nothing(git_repo: Path, run: Run) -> None:
    save_handbook(BEFORE, git_repo / "new")
    assert "agent good was added" in run("diff", git_repo / "new").stdout
    git(git_repo, "commit", "-q", "--allow-empty", "-m", "empty")
    assert "skill answer.math was added" in run("diff", git_repo / "new").stdout
    result = run("diff", git_repo / "new", "HEAD", "HEAD")
    assert result.exit_code == 3
    assert "there is no handbook.yaml" in result.stderr


@pytest.mark.parametrize("revision", ["nonsense", "--output=x", "HEAD~99"])
def test_an_unknown_revision_is_an_error_and_never_no_change(revision: str, root: Path, run: Run) -> None:
    result = run("diff", root, "--exit-code", "--", revision)
    assert result.exit_code == 3
    assert result.stdout == ""
    assert "there is no revision" in result.stderr


def test_a_shallow_clone_says_how_to_deepen(root: Path, git_repo: Path, tmp_path: Path, run: Run) -> None:
    git(git_repo, "commit", "-q", "-am", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{git_repo}", "shallow")
    result = run("diff", tmp_path / "shallow" / root.name, "HEAD~1")
    assert result.exit_code == 3
    assert "git fetch --deepen=100" in result.stderr
    assert "--unshallow" in result.stderr


def test_outside_a_repository_the_error_says_so(tmp_path: Path, run: Run) -> None:
    save_handbook(BEFORE, tmp_path / "h")
    result = run("diff", tmp_path / "h")
    assert result.exit_code == 3
    assert "is not in a git repository (make one with `git init`, or name two folders to compare)" in result.stderr


def test_a_hook_s_variables_do_not_lead_to_another_repository(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    git(tmp_path, "init", "-q", "elsewhere")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere" / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "elsewhere"))
    assert "good is better" in run("diff", root).stdout


def test_a_worktree_has_its_own_head(root: Path, git_repo: Path, tmp_path: Path, run: Run) -> None:
    git(git_repo, "worktree", "add", "-q", str(tmp_path / "tree"), "HEAD")
    other = tmp_path / "tree" / root.name
    assert run("diff", other).stdout == ""
    save_handbook(AFTER, other)
    assert "good is better" in run("diff", other).stdout


def test_a_submodule_is_compared_with_its_own_head(root: Path, git_repo: Path, tmp_path: Path, run: Run) -> None:
    git(tmp_path, "init", "-q", "outer")
    git(tmp_path / "outer", "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(git_repo), "sub")
    inner = tmp_path / "outer" / "sub" / root.name
    assert run("diff", inner).stdout == ""
    save_handbook(AFTER, inner)
    assert "good is better" in run("diff", inner).stdout


def test_a_broken_file_is_named_with_its_revision(root: Path, git_repo: Path, run: Run) -> None:
    (root / "agents" / "good.yaml").write_text("agent: good\nmodell: x\n", encoding="utf-8")
    git(git_repo, "commit", "-q", "-am", "broken")
    result = run("diff", root, "HEAD~1", "HEAD")
    assert result.exit_code == 3
    assert "HEAD:my händbook/agents/good.yaml:2::$.modell" in result.stderr


def test_a_split_and_a_merger_are_told_as_such(tmp_path: Path, run: Run) -> None:
    parts = tuple(
        Skill(f"answer.math.{name}", f"Does {name}.", origin=Origin("split", ("answer.math",)))  # type: ignore[arg-type]
        for name in ("algebra", "geometry")
    )
    save_handbook(replace(BEFORE, agents={}), tmp_path / "a")
    save_handbook(replace(BEFORE, agents={}, skills={"answer": (*BEFORE.skills["answer"], *parts)}), tmp_path / "b")  # type: ignore[dict-item, index]
    shown = run("diff", tmp_path / "a", tmp_path / "b").stdout
    assert "skill answer.math was split: it has the parts answer.math.algebra, answer.math.geometry" in shown
    merged = (Skill("answer.all", "Does all.", origin=Origin("merged", tuple(part.id for part in parts))),)  # type: ignore[arg-type]
    save_handbook(replace(BEFORE, agents={}, skills={"answer": merged}), tmp_path / "c")  # type: ignore[dict-item]
    shown = run("diff", tmp_path / "b", tmp_path / "c").stdout
    assert "skills answer.math.algebra, answer.math.geometry were merged into answer.all" in shown


def test_settings_prices_and_words_are_named(tmp_path: Path, run: Run) -> None:
    save_handbook(BEFORE, tmp_path / "a")
    priced = {**BEFORE.agents, "other": _agent("other", 13, 7, price=Price(1.0, 2.0))}
    save_handbook(
        replace(BEFORE, agents=priced, settings=replace(BEFORE.settings, cost_weight=20.0)),  # type: ignore[arg-type]
        tmp_path / "b",
    )
    lines = run("diff", tmp_path / "a", tmp_path / "b").stdout.splitlines()
    assert lines[2] == "- the setting lambda (success that a dollar is worth) 0 → 20"
    assert lines[3].startswith("- agent other: price none → ")


def test_text_of_a_handbook_cannot_act_in_a_comment(tmp_path: Path, run: Run) -> None:
    save_handbook(BEFORE, tmp_path / "a")
    evil = (Skill("answer.math", "<img src=x> @everyone [x](y) | `z`"),)  # type: ignore[arg-type]
    save_handbook(replace(BEFORE, skills={"answer": evil}), tmp_path / "b")  # type: ignore[dict-item]
    shown = run("diff", tmp_path / "a", tmp_path / "b", "-o", "markdown").stdout
    assert "<img" not in shown
    assert "@everyone" not in shown


def test_no_queries_to_route_is_an_error(root: Path, tmp_path: Path, run: Run) -> None:
    (tmp_path / "q.jsonl").write_text("nonsense\n", encoding="utf-8")
    result = run("diff", root, "--queries", tmp_path / "q.jsonl")
    assert result.exit_code == 3
    assert "no query that can be routed" in result.stderr


def test_the_work_tree_is_read_as_it_is(root: Path, run: Run) -> None:
    assert load_handbook(root) == AFTER
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    run("diff", root)
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


def _select(root: Path, *skills: str) -> None:
    save_selection(Selection("embedded", 0.0, "lambda", f"blake2b:{'0' * 32}", 10, 2, Candidate(skills, 0.6)), root)


def test_another_selection_is_a_change_and_moves_traffic(root: Path, git_repo: Path, tmp_path: Path, run: Run) -> None:
    git(git_repo, "commit", "-q", "-am", "second")
    _select(root, "answer.math")
    result = run("diff", root, "--exit-code")
    assert result.exit_code == 1
    assert "the orchestrator embedded uses a selection of 1 skill: accuracy 60 % on validation" in result.stdout
    git(git_repo, "add", ".")
    git(git_repo, "commit", "-q", "-m", "select")
    _select(root)
    queries = tmp_path / "q.jsonl"
    queries.write_text('{"id": 1, "query": "What is 2 + 2?"}\n', encoding="utf-8")
    shown = json.loads(run("diff", root, "--queries", queries, "-o", "json").stdout)
    Draft202012Validator(load_schema("diff")).validate(shown)
    assert shown["findings"][0]["before"]["skills"] == ["answer.math"]
    assert shown["effect"]["queries"] == 1


@pytest.mark.parametrize(("name", "output"), [("diff.txt", "text"), ("diff.md", "markdown")])
def test_what_people_read_is_as_reviewed(
    name: str, output: str, tmp_path: Path, run: Run, *, update_golden: bool
) -> None:
    for side, handbook in (("a", BEFORE), ("b", AFTER)):
        save_handbook(handbook, tmp_path / side)
    log = tmp_path / "t.jsonl"
    lines = (
        {"query_id": n, "query": f"What is {n} + {n}?", "agent": agent, "success": (n + len(agent)) % 3 > 0}
        for n in range(30)
        for agent in ("good", "other")
    )
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    shown = run("diff", tmp_path / "a", tmp_path / "b", "--queries", log, "-o", output).stdout
    shown = shown.replace(str(tmp_path), "handbooks")
    golden = Path(__file__).resolve().parents[1] / "data" / "golden" / name
    if update_golden:
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8")
