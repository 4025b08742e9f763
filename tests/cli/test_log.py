from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from skillctl.model.handbook import Agent, Handbook, Mode, Skill
from skillctl.store.handbook_dir import save_handbook
from skillctl.store.schema import load_schema

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run


def git(repo: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=repo, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def root(git_repo: Path, tmp_path: Path, run: Run) -> Path:
    """A handbook that was made by hand, profiled twice, and reworded."""
    root = git_repo / "h"
    skills = (Skill("answer.math", "Computes."),)  # type: ignore[arg-type]
    agents = {"a": Agent("a", modes=("answer",))}  # type: ignore[arg-type]
    handbook = Handbook("h", modes={"answer": Mode("answer")}, skills={"answer": skills}, agents=agents)  # type: ignore[dict-item, arg-type]
    save_handbook(handbook, root)
    git(git_repo, "add", ".")
    git(git_repo, "commit", "-q", "-m", "Start by hand")
    for number in (1, 2):
        path = tmp_path / f"log{number}.jsonl"
        lines = (
            {
                "query_id": n,
                "query": f"{number} {n}",
                "agent": "a",
                "success": number == 2,
                "skills": {"answer.math": 1},
            }
            for n in range(20)
        )
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        assert run("profile", root, "--traces", path, "--update", "--commit").exit_code == 0
    file = root / "skills" / "answer.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("Computes.", "Calculates."), encoding="utf-8")
    git(git_repo, "commit", "-q", "-am", "Reword")
    (git_repo / "unrelated").write_text("x", encoding="utf-8")
    git(git_repo, "add", ".")
    git(git_repo, "commit", "-q", "-m", "Unrelated")
    return root


def test_the_history_says_what_was_learned_from_which_evidence(root: Path, run: Run) -> None:
    shown = run("log", root).stdout
    assert [line.strip() for line in shown.splitlines() if line.startswith("  ") and not line.startswith("  -")] == [
        "Reword",
        "Rate 1 agent on 20 traces of log2.jsonl",
        "Rate 1 agent on 20 traces of log1.jsonl",
        "Start by hand",
    ]
    assert "- by skillctl profile" in shown
    assert "- evidence: log2.jsonl (20 traces)" in shown
    assert "- a is better than thought in all of answer" in shown
    assert "- skill answer.math is described anew: “Calculates.”" in shown


@pytest.mark.parametrize("command", [["log"], ["blame", "--agent", "a"]], ids=["log", "blame"])
def test_json_follows_its_schema(command: list[str], root: Path, run: Run) -> None:
    shown = json.loads(run(command[0], root, *command[1:], "-o", "json").stdout)
    Draft202012Validator(load_schema("log")).validate(shown)
    assert shown["commits"]


def test_a_limit_and_a_revision_narrow_the_history(root: Path, run: Run) -> None:
    assert run("log", root, "-n", "1").stdout.count("commit ") == 1
    assert "Reword" not in run("log", root, "HEAD~2").stdout
    assert run("log", root, "nonsense").exit_code == 3


def test_blame_names_commit_and_traces_of_a_competence(root: Path, run: Run) -> None:
    shown = run("blame", root, "--agent", "a", "--skill", "answer.math").stdout
    assert "log1.jsonl (20 traces)" in shown
    assert "log2.jsonl (20 traces)" in shown
    assert "Reword" not in shown
    assert "better than thought in answer.math" in shown


def test_blame_names_who_worded_a_skill(root: Path, run: Run) -> None:
    shown = run("blame", root, "--skill", "answer.math").stdout
    assert "Reword" in shown
    assert "Start by hand" in shown
    assert "log1" not in shown


def test_blame_of_something_unknown_is_an_error(root: Path, run: Run) -> None:
    assert run("blame", root).exit_code == 2
    result = run("blame", root, "--skill", "none")
    assert result.exit_code == 3
    assert "no commit is about none" in result.stderr


def test_a_shallow_clone_says_that_more_came_before(root: Path, git_repo: Path, tmp_path: Path, run: Run) -> None:
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{git_repo}", "shallow")
    result = run("log", tmp_path / "shallow" / root.name)
    assert result.exit_code == 0
    assert "git fetch --deepen" in result.stderr


def test_a_commit_with_a_broken_handbook_is_told_and_not_skipped(root: Path, git_repo: Path, run: Run) -> None:
    (root / "agents" / "a.yaml").write_text("agent: a\nmodell: x\n", encoding="utf-8")
    git(git_repo, "commit", "-q", "-am", "Break")
    result = run("log", root, "-n", "1")
    assert result.exit_code == 0
    assert "- the handbook is not valid here" in result.stdout


def test_a_handbook_without_commits_has_no_history(git_repo: Path, run: Run) -> None:
    save_handbook(Handbook("n"), git_repo / "n")
    result = run("log", git_repo / "n")
    assert result.exit_code == 3
    assert "git has no commit yet" in result.stderr
