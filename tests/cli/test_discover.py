"""``skillctl discover`` on traces as users have them."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator
from sums_and_poems import write_planted_traces

from skillctl.store.handbook_dir import load_handbook
from skillctl.store.schema import load_schema

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    return write_planted_traces(tmp_path / "traces.jsonl", 60, with_steps=True)


@pytest.fixture
def handbook(tmp_path: Path, traces: Path, run: Run) -> Path:
    root = tmp_path / "h"
    assert run("init", root, "--agents-from", traces).exit_code == 0
    return root


def _bytes(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*.yaml"))}


def test_skills_insights_and_words_are_found_and_route_better(
    handbook: Path, traces: Path, run: Run, tmp_path: Path
) -> None:
    result = run("discover", handbook, "--traces", traces)
    assert result.exit_code == 0
    assert "answer.poems" in result.stdout
    assert "skills foresee held-out outcomes better" in result.stderr
    found = load_handbook(handbook)
    assert found.settings.prior_strength is not None
    assert found.settings.orchestrator.temperature is not None
    (start,) = found.modes["look"].insights  # type: ignore[index]
    assert (start.after, start.confidence) == (None, 1.0)
    poet = found.agents["poet"].profiles["answer"]  # type: ignore[index]
    assert any("answer.poems" in sentence for sentence in poet.strengths)
    assert run("profile", handbook, "--traces", traces).exit_code == 0
    assert run("validate", handbook).exit_code == 0
    queries = tmp_path / "q.jsonl"
    queries.write_text('{"id": 1, "query": "Write a poem about stars 99."}\n{"id": 2, "query": "Add 5 and 9."}\n')
    decisions = [json.loads(line) for line in run("route", handbook, "--in", queries).stdout.splitlines()]
    assert [decision["agent"] for decision in decisions] == ["poet", "adder"]


def test_a_log_without_steps_leaves_the_insights_of_an_earlier_one(
    handbook: Path, traces: Path, run: Run, tmp_path: Path
) -> None:
    assert run("discover", handbook, "--traces", traces).exit_code == 0
    before = (handbook / "modes" / "look.yaml").read_bytes()
    plain = write_planted_traces(tmp_path / "plain.jsonl", 60)
    assert run("discover", handbook, "--traces", plain).exit_code == 0
    assert (handbook / "modes" / "look.yaml").read_bytes() == before


def test_where_labels_tell_nothing_skills_are_sought_without_them(
    handbook: Path, traces: Path, run: Run, tmp_path: Path
) -> None:
    mixed = tmp_path / "mixed.jsonl"
    lines = [json.loads(line) for line in traces.read_text().splitlines()]
    mixed.write_text("".join(json.dumps({**line, "task": f"t{line['query_id'] // 2 % 2}"}) + "\n" for line in lines))
    result = run("discover", handbook, "--traces", mixed)
    assert "answer: the labels foresee no held-out outcomes: sought without them" in result.stderr
    kinds = [{int(query) % 2 for query in skill.origin.queries} for skill in load_handbook(handbook).skills["answer"]]  # type: ignore[index,union-attr]
    assert sorted(map(sorted, kinds)) == [[0], [1]]


def test_a_log_that_is_too_small_leaves_the_skills_of_an_earlier_one(
    handbook: Path, traces: Path, run: Run, tmp_path: Path
) -> None:
    assert run("discover", handbook, "--traces", traces).exit_code == 0
    assert run("profile", handbook, "--traces", traces).exit_code == 0
    before = _bytes(handbook)
    result = run("discover", handbook, "--traces", write_planted_traces(tmp_path / "few.jsonl", 5))
    assert result.exit_code == 0
    assert result.stdout == "no skills found\n"
    assert "too few queries to find skills" in result.stderr
    assert "answer: the 2 skills found before stay as they are" in result.stderr
    assert {path: data for path, data in _bytes(handbook).items() if "agents" not in path} == {
        path: data for path, data in before.items() if "agents" not in path
    }
    poet = load_handbook(handbook).agents["poet"].profiles["answer"]  # type: ignore[index]
    assert "answer.poems" in poet.competence


def test_a_second_run_changes_nothing(handbook: Path, traces: Path, run: Run) -> None:
    for command in ("discover", "profile"):
        run(command, handbook, "--traces", traces)
    before = _bytes(handbook)
    for command in ("discover", "profile"):
        run(command, handbook, "--traces", traces)
    assert _bytes(handbook) == before


def test_a_dry_run_and_json_write_nothing_and_keep_to_the_schema(handbook: Path, traces: Path, run: Run) -> None:
    before = _bytes(handbook)
    result = run("discover", handbook, "--traces", traces, "--dry-run", "-o", "json", "--no-labels")
    Draft202012Validator(load_schema("discovery")).validate(json.loads(result.stdout))
    assert _bytes(handbook) == before


def test_hand_written_skills_and_words_stay(handbook: Path, traces: Path, run: Run) -> None:
    skills = handbook / "skills" / "answer.yaml"
    skills.write_text(
        skills.read_text().replace(
            "skills: []", "skills:\n# ours\n- id: answer.ours\n  description: Written by hand.\n"
        )
    )
    assert run("discover", handbook, "--traces", traces).exit_code == 0
    text = skills.read_text()
    assert "# ours\n- id: answer.ours" in text
    assert "answer.poems" in text


def test_competence_in_skills_that_are_gone_goes_with_them(
    handbook: Path, traces: Path, run: Run, tmp_path: Path
) -> None:
    for command in ("discover", "profile"):
        run(command, handbook, "--traces", traces)
    renamed = tmp_path / "renamed.jsonl"
    renamed.write_text(traces.read_text().replace('"poems"', '"verses"'))
    assert run("discover", handbook, "--traces", renamed).exit_code == 0
    after = load_handbook(handbook)
    assert [skill.id for skill in after.skills["answer"]] == ["answer.sums", "answer.verses"]  # type: ignore[index]
    for agent in after.agents.values():
        assert set(agent.profiles["answer"].competence) <= {"answer", "answer.sums"}  # type: ignore[index]
    assert run("validate", handbook).exit_code == 0


def test_bad_lines_duplicates_and_unknown_agents_are_reported(handbook: Path, traces: Path, run: Run) -> None:
    lines = traces.read_text().splitlines(keepends=True)
    traces.write_text(
        "".join([*lines, lines[0], "{broken\n", '{"query": "q", "agent": "stranger", "success": true}\n'])
    )
    result = run("discover", handbook, "--traces", traces)
    assert result.exit_code == 1
    assert f"{traces}:122" in result.stderr
    assert "1 trace seen before" in result.stderr
    assert "'stranger'" in result.stderr


def test_an_unknown_mode_is_named(handbook: Path, traces: Path, run: Run) -> None:
    result = run("discover", handbook, "--traces", traces, "--mode", "nope")
    assert result.exit_code == 3
    assert "'nope'" in result.stderr


def test_each_run_with_commit_is_one_commit(git_repo: Path, handbook: Path, traces: Path, run: Run) -> None:
    import subprocess

    root = git_repo / "h"
    shutil.copytree(handbook, root)
    subprocess.run(["git", "-C", str(git_repo), "add", "-A"], check=True)
    subprocess.run(["git", "-C", str(git_repo), "commit", "-qm", "Start"], check=True)
    assert run("discover", root, "--traces", traces, "--commit").exit_code == 0
    log = subprocess.run(
        ["git", "-C", str(git_repo), "log", "-1", "--format=%B"], check=True, capture_output=True, text=True
    ).stdout
    assert log.startswith("Discover ")
    assert "skills from 60 queries" in log
