from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from skillctl.model.handbook import Agent, Handbook, Mode
from skillctl.store.handbook_dir import load_handbook, save_handbook

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Run


def git(repo: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=repo, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def root(git_repo: Path) -> Path:
    """A committed handbook within a repository that holds other things too."""
    root = git_repo / "books" / "h"
    agents = {"a": Agent("a", modes=("answer",))}  # type: ignore[arg-type]
    save_handbook(Handbook("h", modes={"answer": Mode("answer")}, skills={"answer": ()}, agents=agents), root)  # type: ignore[dict-item, arg-type]
    (git_repo / "other.txt").write_text("other\n", encoding="utf-8")
    git(git_repo, "add", ".")
    git(git_repo, "commit", "-q", "-m", "first")
    return root


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "runs.jsonl"
    lines = ({"query_id": n, "query": f"q{n}", "agent": "a", "success": n % 3 > 0} for n in range(30))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_commit_says_what_was_learned_from_what(root: Path, git_repo: Path, log: Path, run: Run) -> None:
    (git_repo / "other.txt").write_text("changed and not staged\n", encoding="utf-8")
    (root / "notes.txt").write_text("not part of the handbook\n", encoding="utf-8")
    result = run("profile", root, "--traces", log, "--commit")
    assert result.exit_code == 0
    assert "committed" in result.stderr
    message = git(git_repo, "log", "-1", "--format=%B")
    assert message.startswith("Rate 1 agent on 30 traces of runs.jsonl\n\n- a in answer is rated for the first time")
    trailers = git(git_repo, "log", "-1", "--format=%(trailers:only)").splitlines()
    assert trailers[0] == "Skillctl-Command: profile"
    assert trailers[1].startswith("Skillctl-Evidence: blake2b:")
    assert git(git_repo, "show", "--name-only", "--format=").split() == [
        "books/h/agents/a.yaml",
        "books/h/handbook.yaml",
    ]
    assert git(git_repo, "status", "--porcelain").splitlines() == [" M other.txt", "?? books/h/notes.txt"]


def test_a_revert_gives_back_the_bytes_before(root: Path, git_repo: Path, log: Path, run: Run) -> None:
    before = {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
    run("profile", root, "--traces", log, "--commit")
    git(git_repo, "revert", "--no-edit", "HEAD")
    assert {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()} == before


def test_nothing_learned_is_no_commit(root: Path, git_repo: Path, log: Path, run: Run) -> None:
    run("profile", root, "--traces", log, "--commit")
    head = git(git_repo, "rev-parse", "HEAD")
    assert "nothing is committed" in run("profile", root, "--traces", log, "--commit").stderr
    assert git(git_repo, "rev-parse", "HEAD") == head


def test_a_branch_is_made_and_then_used(root: Path, git_repo: Path, log: Path, run: Run) -> None:
    run("profile", root, "--traces", log, "--commit", "--branch", "learn")
    assert git(git_repo, "branch", "--show-current") == "learn\n"
    git(git_repo, "checkout", "-q", "main")
    assert load_handbook(root).evidence == ()
    run("profile", root, "--traces", log, "--update", "--commit", "--branch", "learn")
    assert git(git_repo, "rev-list", "--count", "learn") == "2\n"


def test_a_new_handbook_is_committed_as_a_whole(git_repo: Path, log: Path, run: Run) -> None:
    agents = {"a": Agent("a", modes=("answer",))}  # type: ignore[arg-type]
    save_handbook(
        Handbook("n", modes={"answer": Mode("answer")}, skills={"answer": ()}, agents=agents),  # type: ignore[dict-item, arg-type]
        git_repo / "n",
    )
    assert run("profile", git_repo / "n", "--traces", log, "--commit").exit_code == 0
    assert git(git_repo, "status", "--porcelain") == ""


def _stage_other(repo: Path) -> None:
    (repo / "other.txt").write_text("staged\n", encoding="utf-8")
    git(repo, "add", "other.txt")


def _stage_own(repo: Path) -> None:
    (repo / "books/h/agents/a.yaml").write_text("agent: a\nmodes: [answer]\ntools: [x]\n", encoding="utf-8")
    git(repo, "add", "books")


def _edit_own(repo: Path) -> None:
    (repo / "books/h/agents/a.yaml").write_text("agent: a\nmodes: [answer]\ntools: [x]\n", encoding="utf-8")


def _detach(repo: Path) -> None:
    git(repo, "checkout", "-q", "--detach")


def _start_merge(repo: Path) -> None:
    (repo / ".git" / "MERGE_HEAD").write_text(git(repo, "rev-parse", "HEAD"), encoding="utf-8")


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (_stage_other, "other.txt would be committed too: it is staged"),
        (_stage_own, "it is staged"),
        (_edit_own, "has changes that are not committed"),
        (_detach, "HEAD is on no branch"),
        (_start_merge, "a merge is under way"),
    ],
)
def test_a_commit_that_would_hold_more_is_refused_before_anything_changes(
    prepare: Callable[[Path], None], words: str, root: Path, log: Path, run: Run
) -> None:
    prepare(root.parents[1])
    before = {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
    result = run("profile", root, "--traces", log, "--commit")
    assert result.exit_code == 3
    assert words in result.stderr
    assert {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()} == before


def test_without_an_identity_nothing_is_changed(
    root: Path, log: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.delenv(f"GIT_{role}_NAME")
        monkeypatch.delenv(f"GIT_{role}_EMAIL")
    monkeypatch.delenv("EMAIL", raising=False)
    result = run("profile", root, "--traces", log, "--commit")
    assert result.exit_code == 3
    assert "git config user.name" in result.stderr
    assert load_handbook(root).evidence == ()


def test_outside_a_repository_nothing_is_changed(tmp_path: Path, log: Path, run: Run) -> None:
    save_handbook(Handbook("h", modes={"answer": Mode("answer")}, skills={"answer": ()}), tmp_path / "h")  # type: ignore[dict-item, arg-type]
    result = run("profile", tmp_path / "h", "--traces", log, "--commit")
    assert result.exit_code == 3
    assert "is not in a git repository (make one with `git init`, or leave out --commit)" in result.stderr


def test_a_branch_without_a_commit_and_a_bad_name_are_wrong_usage(root: Path, log: Path, run: Run) -> None:
    assert run("profile", root, "--traces", log, "--branch", "x").exit_code == 2
    assert run("profile", root, "--traces", log, "--commit", "--branch", "a..b").exit_code == 2


def test_a_hook_that_refuses_leaves_nothing_staged(root: Path, git_repo: Path, log: Path, run: Run) -> None:
    hook = git_repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no way >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    result = run("profile", root, "--traces", log, "--commit")
    assert result.exit_code == 3
    assert "no way" in result.stderr
    assert git(git_repo, "diff", "--cached", "--name-only") == ""


def test_a_dry_run_commits_nothing(root: Path, git_repo: Path, log: Path, run: Run) -> None:
    run("profile", root, "--traces", log, "--commit", "--branch", "x", "--dry-run")
    assert git(git_repo, "branch", "--list", "x") == ""
