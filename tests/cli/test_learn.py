"""``skillctl learn``: the whole loop, as commits that tell a story."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from sums_and_poems import write_planted_traces

from skillctl.store.handbook_dir import load_handbook

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    return write_planted_traces(tmp_path / "traces.jsonl", 90)


@pytest.fixture
def handbook(git_repo: Path, traces: Path, run: Run) -> Path:
    root = git_repo / "h"
    assert run("init", root, "--agents-from", traces).exit_code == 0
    _git(root, "add", "-A")
    _git(root, "commit", "-qm", "Start")
    return root


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True, text=True).stdout


def test_each_step_is_a_commit_on_the_branch_and_all_traces_count_in_the_end(
    handbook: Path, traces: Path, run: Run
) -> None:
    result = run("learn", handbook, "--traces", traces, "--commit", "--branch", "learn-one")
    assert result.exit_code == 0
    subjects = _git(handbook, "log", "--format=%s", "--reverse").splitlines()
    assert [subject.split()[0] for subject in subjects] == ["Start", "Discover", "Rate", "Find", "Select", "Rate"]
    assert _git(handbook, "branch", "--show-current") == "learn-one\n"
    assert _git(handbook, "status", "--porcelain") == ""
    learned = load_handbook(handbook)
    assert learned.agents["poet"].profiles["answer"].runs == 90  # type: ignore[index]
    assert [source.name for source in learned.evidence] == ["traces.jsonl"]
    assert (handbook / "selections" / "embedded.yaml").is_file()


def test_a_dry_run_shows_the_difference_and_leaves_the_handbook_alone(handbook: Path, traces: Path, run: Run) -> None:
    result = run("learn", handbook, "--traces", traces, "--dry-run")
    assert result.exit_code == 0
    assert "skill answer.poems was added" in result.stdout
    assert _git(handbook, "status", "--porcelain") == ""


def test_own_validation_traces_are_used_and_their_overlap_stops_the_loop(
    handbook: Path, traces: Path, run: Run
) -> None:
    result = run("learn", handbook, "--traces", traces, "--validation", traces)
    assert result.exit_code == 3
    assert "== select" not in result.stderr


def test_standard_input_and_a_branch_without_commit_are_refused(handbook: Path, traces: Path, run: Run) -> None:
    assert run("learn", handbook, "--traces", "-").exit_code == 2
    assert run("learn", handbook, "--traces", traces, "--branch", "b").exit_code == 2
