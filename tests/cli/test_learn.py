"""``skillctl learn``: the whole loop, as commits that tell a story."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from mixtures import make_mixture, write_lines
from scripted_models import MODEL, asked, make_install
from sums_and_poems import write_planted_traces

from skillctl.llm.base import Completion
from skillctl.store.handbook_dir import load_handbook

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run

    from skillctl.llm.base import Request


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
    assert [subject.split()[0] for subject in subjects] == ["Start", "Discover", "Rate", "Select", "Rate"]
    assert _git(handbook, "branch", "--show-current") == "learn-one\n"
    assert _git(handbook, "status", "--porcelain") == ""
    learned = load_handbook(handbook)
    assert learned.agents["poet"].profiles["answer"].runs == 90  # type: ignore[index]
    assert [source.name for source in learned.evidence] == ["traces.jsonl"]
    assert (handbook / "selections" / "embedded.yaml").is_file()


def test_learning_again_from_the_same_traces_changes_nothing_and_commits_nothing(
    handbook: Path, traces: Path, run: Run
) -> None:
    first = run("learn", handbook, "--traces", traces, "--commit")
    before = _git(handbook, "log", "--format=%H")
    again = run("learn", handbook, "--traces", traces, "--commit")
    assert again.exit_code == 0
    assert _git(handbook, "log", "--format=%H") == before
    assert _git(handbook, "status", "--porcelain") == ""
    assert "nothing is left to learn" in again.stderr
    assert "== select" in again.stderr
    assert first.stdout.splitlines()[-1] == again.stdout.splitlines()[-1]  # the results are shown all the same


def _write_twins(path: Path, seed: int) -> Path:
    """Write traces of two labels that no agent tells apart and a third one."""
    rates = {"a": (0.9, 0.9, 0.1), "b": (0.2, 0.2, 0.9), "c": (0.6, 0.6, 0.4), "d": (0.4, 0.4, 0.7)}
    kinds = ("sums", "rhymes", "code")
    lines = make_mixture(kinds, rates, 600, seed)
    return write_lines(path, [line | {"task": kinds[int(line["query_id"][1:]) % 3]} for line in lines])


def test_what_was_refined_is_not_discovered_again(git_repo: Path, tmp_path: Path, run: Run) -> None:
    traces = _write_twins(tmp_path / "t.jsonl", 1)
    root = git_repo / "h"
    assert run("init", root, "--agents-from", traces).exit_code == 0
    assert run("learn", root, "--traces", traces, "--commit").exit_code == 0
    before = _git(root, "log", "--format=%s")
    assert "Merge answer.rhymes, answer.sums into " in before
    again = run("learn", root, "--traces", traces, "--commit")
    assert again.exit_code == 0
    assert "discover is left out" in again.stderr
    assert _git(root, "log", "--format=%s") == before


def _list_roots(root: Path) -> list[str]:
    skills = load_handbook(root).skills["answer"]  # type: ignore[index]
    return [skill.id for skill in skills if skill.parent is None]


def test_another_log_replaces_what_was_refined_and_the_log_that_is_left_out_is_named(
    git_repo: Path, tmp_path: Path, run: Run
) -> None:
    june, july = _write_twins(tmp_path / "june.jsonl", 1), _write_twins(tmp_path / "july.jsonl", 2)
    root = git_repo / "h"
    assert run("init", root, "--agents-from", june).exit_code == 0
    assert "counted before" not in run("learn", root, "--traces", june, "--commit").stderr
    assert _list_roots(root) == ["answer.code", "answer.rhymes"]  # sums and rhymes are one
    result = run("learn", root, "--traces", july, "--commit")
    assert result.exit_code == 0
    assert result.stderr.count("counted before") == 1
    assert "june.jsonl was counted before" in result.stderr
    assert len(_list_roots(root)) == 2
    assert "counted before" not in run("-q", "learn", root, "--traces", june).stderr
    assert run("discover", root, "--traces", july).exit_code == 0
    assert _list_roots(root) == ["answer.code", "answer.rhymes", "answer.sums"]


def test_a_log_that_grew_is_learned_from_and_no_count_is_negative(handbook: Path, traces: Path, run: Run) -> None:
    run("learn", handbook, "--traces", traces, "--commit")
    write_planted_traces(traces, 120)
    assert run("learn", handbook, "--traces", traces, "--commit").exit_code == 0
    assert load_handbook(handbook).agents["poet"].profiles["answer"].runs == 120  # type: ignore[index]
    assert " on -" not in _git(handbook, "log", "--format=%s")


def test_a_dry_run_shows_the_difference_and_leaves_the_handbook_alone(handbook: Path, traces: Path, run: Run) -> None:
    result = run("learn", handbook, "--traces", traces, "--dry-run")
    assert result.exit_code == 0
    assert "skill answer.poems was added" in result.stdout
    assert f"{handbook} → what was learned\n" in result.stdout
    assert "skillctl-learn-" not in result.stdout + result.stderr
    assert _git(handbook, "status", "--porcelain") == ""


def test_the_errors_of_a_dry_run_name_the_handbook_and_not_its_copy(handbook: Path, traces: Path, run: Run) -> None:
    with (handbook / "handbook.yaml").open("a", encoding="utf-8") as file:
        file.write("wings: 2\n")
    result = run("learn", handbook, "--traces", traces, "--dry-run")
    assert result.exit_code == 3
    assert f"{handbook / 'handbook.yaml'}:" in result.stderr
    assert f"error: {handbook}: the handbook has 1 problem" in result.stderr
    assert "skillctl-learn-" not in result.stderr


def test_a_language_model_names_the_skills_in_each_step_and_its_money_is_one(
    handbook: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces = write_planted_traces(tmp_path / "few.jsonl", 50)  # 50 calls at 0.00101 USD, 36 of them to profile

    def reply(request: Request) -> Completion:
        skill = "answer.poems" if "poem" in asked(request) else "answer.sums"
        return Completion(json.dumps({"skills": {skill: 1}}), prompt_tokens=1000, completion_tokens=10)

    client = make_install(monkeypatch)(reply)
    options = ("--traces", traces, "--orchestrator", MODEL, "--retries", "0")
    stopped = run("learn", handbook, *options, "--max-cost", "0.045", "--dry-run")
    assert stopped.exit_code == 1
    assert "stopped before --max-cost could be passed" in stopped.stderr
    assert "== refine" in stopped.stderr
    assert 0 < len(client.requests) * 0.00101 <= 0.045
    learned = run("learn", handbook, *options)
    assert learned.exit_code == 0, learned.stderr
    (selection,) = (handbook / "selections").iterdir()
    assert f"orchestrator: {MODEL}\n" in selection.read_text(encoding="utf-8")
    assert load_handbook(handbook).agents["poet"].profiles["answer"].runs == 50  # type: ignore[index]


def test_logged_skills_are_for_selection_alone(handbook: Path, traces: Path, run: Run) -> None:
    result = run("learn", handbook, "--traces", traces, "--orchestrator", "logged")
    assert result.exit_code == 0, result.stderr
    assert [path.name for path in (handbook / "selections").iterdir()] == ["logged.yaml"]


def test_own_validation_traces_are_used_and_their_overlap_stops_the_loop(
    handbook: Path, traces: Path, run: Run
) -> None:
    result = run("learn", handbook, "--traces", traces, "--validation", traces)
    assert result.exit_code == 3
    assert "== select" not in result.stderr


def test_standard_input_and_a_branch_without_commit_are_refused(handbook: Path, traces: Path, run: Run) -> None:
    assert run("learn", handbook, "--traces", "-").exit_code == 2
    assert run("learn", handbook, "--traces", traces, "--branch", "b").exit_code == 2
