from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from skillctl.store.handbook_dir import find_problems, handbook_files, load_handbook

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run


def _trace(agent: str, **fields: object) -> str:
    return json.dumps({"query": "q", "agent": agent, "success": True, **fields}) + "\n"


def test_a_new_handbook_is_valid_and_its_path_is_printed(tmp_path: Path, run: Run) -> None:
    root = tmp_path / "new" / "h"
    result = run("init", root)
    assert (result.exit_code, result.stdout) == (0, f"{root}\n")
    assert "made" in result.stderr
    assert "next: " in result.stderr
    handbook = load_handbook(root)
    assert (handbook.name, list(handbook.modes), handbook.settings.default_mode) == ("h", ["answer"], "answer")
    assert [str(path.relative_to(root)) for path in handbook_files(root)] == [
        "handbook.yaml",
        "modes/answer.yaml",
        "skills/answer.yaml",
    ]


def test_the_first_mode_is_the_default(tmp_path: Path, run: Run) -> None:
    run("init", tmp_path / "h", "--mode", "search", "--mode", "answer", "--name", "N", "--description", "D")
    handbook = load_handbook(tmp_path / "h")
    assert (handbook.name, handbook.description) == ("N", "D")
    assert (list(handbook.modes), handbook.settings.default_mode) == (["answer", "search"], "search")


def test_agents_and_modes_come_from_traces(tmp_path: Path, run: Run) -> None:
    one = tmp_path / "one.jsonl"
    one.write_text(
        _trace("GPT 5 [medium]")
        + _trace("gpt-4", mode="code")
        + _trace("GPT-4", mode="answer", steps=[{"mode": "search", "agent": "s1"}]),
        encoding="utf-8",
    )
    two = tmp_path / "two.jsonl.gz"
    two.write_bytes(gzip.compress(_trace("../../x", mode="code").encode()))
    result = run("init", tmp_path / "h", "--agents-from", one, "--agents-from", two)
    root = tmp_path / "h"
    steps = f"skillctl discover {root} --traces {one}, then skillctl profile {root} --traces {one}"
    assert f"next: {steps}\n" in result.stderr
    assert result.exit_code == 0
    assert f"skillctl profile {tmp_path}/h --traces {one}" in result.stderr
    handbook = load_handbook(tmp_path / "h")
    assert {agent.id: agent.modes for agent in handbook.agents.values()} == {
        "../../x": ("code",),
        "GPT 5 [medium]": ("answer",),
        "GPT-4": ("answer",),
        "gpt-4": ("code",),
        "s1": ("search",),
    }
    assert list(handbook.modes) == ["answer", "code", "search"]
    assert handbook.settings.default_mode == "answer"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["h", "one.jsonl", "two.jsonl.gz"]


def test_traces_without_a_mode_count_for_the_first_one_named(tmp_path: Path, run: Run) -> None:
    result = run("init", tmp_path / "h", "--mode", "solve", "--agents-from", "-", stdin=_trace("a"))
    assert result.exit_code == 0
    assert load_handbook(tmp_path / "h").agents["a"].modes == ("solve",)  # type: ignore[index]


def test_without_the_usual_mode_the_first_seen_is_the_default(tmp_path: Path, run: Run) -> None:
    run("init", tmp_path / "h", "--agents-from", "-", stdin=_trace("a", mode="z") + _trace("a", mode="b"))
    handbook = load_handbook(tmp_path / "h")
    assert (list(handbook.modes), handbook.settings.default_mode) == (["b", "z"], "b")


def test_bad_lines_are_reported_and_the_rest_is_used(tmp_path: Path, run: Run) -> None:
    log = tmp_path / "t.jsonl"
    log.write_text(_trace("a") + "{\n" + _trace("b") + '{"agent": "c"}\n', encoding="utf-8")
    result = run("init", tmp_path / "h", "--agents-from", log)
    assert (result.exit_code, result.stdout) == (1, f"{tmp_path}/h\n")
    assert f"{log}:2" in result.stderr
    assert f"{log}:4" in result.stderr
    assert "2 bad lines left out" in result.stderr
    assert list(load_handbook(tmp_path / "h").agents) == ["a", "b"]


def test_a_handbook_or_a_folder_in_use_is_left_alone(tmp_path: Path, run: Run) -> None:
    run("init", tmp_path / "h")
    again = run("init", tmp_path / "h")
    assert again.exit_code == 3
    assert "is a handbook already" in again.stderr
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").touch()
    used = run("init", tmp_path / "used")
    assert used.exit_code == 3
    assert "not empty" in used.stderr
    onto_file = run("init", tmp_path / "used" / "file")
    assert onto_file.exit_code == 3
    assert "is a file" in onto_file.stderr


def test_a_new_git_repository_may_become_a_handbook(git_repo: Path, run: Run) -> None:
    assert run("init", git_repo).exit_code == 0
    assert find_problems(git_repo) == []


def test_a_missing_log_makes_no_handbook(tmp_path: Path, run: Run) -> None:
    result = run("init", tmp_path / "h", "--agents-from", tmp_path / "none.jsonl")
    assert result.exit_code == 3
    assert "none.jsonl" in result.stderr
    assert not (tmp_path / "h").exists()


def test_a_locale_that_is_not_utf_8_garbles_no_name(tmp_path: Path) -> None:
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    root = tmp_path / "Händbuch 🤖"
    command = [sys.executable, "-m", "skillctl", "init", str(root), "--mode", "prüfen"]
    subprocess.run(command, env=env, check=True, capture_output=True)
    handbook = load_handbook(root)
    assert (handbook.name, list(handbook.modes)) == ("Händbuch 🤖", ["prüfen"])
    shown = subprocess.run(
        [sys.executable, "-m", "skillctl", "show", str(root)], env=env, check=True, capture_output=True
    )
    assert "prüfen" in shown.stdout.decode()


def test_a_dry_run_writes_nothing(tmp_path: Path, run: Run) -> None:
    result = run("init", tmp_path / "h", "--dry-run", "--agents-from", "-", stdin=_trace("a"))
    assert result.exit_code == 0
    assert "would make" in result.stderr
    assert "1 agent" in result.stderr
    assert list(tmp_path.iterdir()) == []
