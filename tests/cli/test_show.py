from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from skillctl.model.handbook import Agent, Handbook, Mode
from skillctl.store.handbook_dir import save_handbook
from skillctl.store.schema import load_schema

if TYPE_CHECKING:
    from conftest import Run

DATA = Path(__file__).resolve().parents[1] / "data"
BASIC = DATA / "valid" / "basic"
LOOP = DATA / "valid" / "loop"  # with actions and playbooks

GOLDEN = {
    "show.txt": [BASIC],
    "show.md": [BASIC, "-o", "markdown"],
    "show.json": [BASIC, "-o", "json"],
    "show_agent.txt": [BASIC, "--agent", "gpt-4o"],
    "show_skill.txt": [BASIC, "--skill", "answer.math.algebra"],
    "show_insights.txt": [BASIC, "--mode", "answer"],
    "show_mode.md": [BASIC, "--mode", "search", "-o", "markdown"],
    "show_loop.txt": [LOOP],
    "show_loop.md": [LOOP, "-o", "markdown"],
    "show_loop.json": [LOOP, "-o", "json"],
    "show_loop_mode.txt": [LOOP, "--mode", "code"],
}


@pytest.mark.parametrize(("name", "options"), GOLDEN.items(), ids=GOLDEN)
def test_what_people_read_is_as_reviewed(
    name: str, options: list[str | Path], run: Run, *, update_golden: bool
) -> None:
    result = run("show", *options)
    assert result.exit_code == 0
    assert result.stderr == ""
    golden = DATA / "golden" / name
    if update_golden:
        golden.write_text(result.stdout, encoding="utf-8")
    assert result.stdout == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "options",
    [
        [BASIC],
        [BASIC, "--mode", "search"],
        [BASIC, "--agent", "no"],
        [BASIC, "--skill", "answer.math.algebra"],
        [LOOP],
        [LOOP, "--agent", "bold"],
    ],
)
def test_json_follows_its_schema(options: list[str | Path], run: Run) -> None:
    shown = json.loads(run("show", "-o", "json", *options).stdout)
    Draft202012Validator(load_schema("show")).validate(shown)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ([], ["brief", "program", "wordy"]),
        (["--agent", "bold"], ["wordy"]),
        (["--skill", "answer.verse"], ["wordy"]),
        (["--mode", "answer"], ["brief"]),
        (["--mode", "search"], []),
    ],
)
def test_the_playbooks_that_the_shown_part_names_are_shown(options: list[str], names: list[str], run: Run) -> None:
    shown = json.loads(run("show", LOOP, "-o", "json", *options).stdout)
    assert [playbook["playbook"] for playbook in shown["playbooks"]] == names
    text = run("show", LOOP, *options).stdout
    assert ("Playbooks\n" in text) == bool(names)


def test_evidence_is_never_the_prior(run: Run) -> None:
    shown = json.loads(run("show", BASIC, "-o", "json", "--agent", "gpt-4o").stdout)
    evidence = {row["skill"]: row["evidence"] for row in shown["competence"]}
    assert evidence == {"answer": 12.0, "answer.math": 8.0, "answer.math.algebra": 0.0}
    lines = run("show", BASIC, "--skill", "answer.math.algebra").stdout.splitlines()
    assert any(line.startswith("answer.math.algebra") and line.endswith("prior only") for line in lines)


def test_an_unknown_cost_is_unknown_and_a_free_one_is_zero(tmp_path: Path, run: Run) -> None:
    root = Path(shutil.copytree(BASIC, tmp_path / "h"))
    (root / "agents" / "free.yaml").write_text(
        "agent: free\nprice: {prompt_usd_per_mtok: 0, completion_usd_per_mtok: 0}\n"
        "profiles: {answer: {runs: 1, cost: {mean_usd: 0, runs: 1}}}\n",
        encoding="utf-8",
    )
    lines = {line.split()[0]: line for line in run("show", root, "--mode", "answer").stdout.splitlines() if line}
    assert lines["free"].split()[3:] == ["$0", "/", "$0", "1", "$0"]
    assert "unknown" in run("show", root, "--agent", "no").stdout


@pytest.mark.parametrize(
    ("option", "name", "hint"),
    [
        ("--mode", "anser", "did you mean answer?"),
        ("--skill", "answer.meth", "did you mean answer.math"),
        ("--agent", "gpt4o", "did you mean gpt-4o?"),
        ("--agent", "zzz", "known are gpt-4o, no"),
    ],
)
def test_an_unknown_id_names_its_neighbours(option: str, name: str, hint: str, run: Run) -> None:
    result = run("show", BASIC, option, name)
    assert result.exit_code == 3
    assert result.stdout == ""
    assert hint in result.stderr


def test_an_invalid_handbook_is_not_shown_but_its_problems_are(tmp_path: Path, run: Run) -> None:
    root = Path(shutil.copytree(BASIC, tmp_path / "h"))
    (root / "agents" / "bad.yaml").write_text("agent: a\nmodell: m\n", encoding="utf-8")
    result = run("show", root)
    assert result.exit_code == 3
    assert result.stdout == ""
    assert f"{root}/agents/bad.yaml:2::$.modell: unknown key: did you mean `model`?" in result.stderr


def test_a_missing_handbook_points_to_init(tmp_path: Path, run: Run) -> None:
    result = run("show", tmp_path / "none")
    assert result.exit_code == 3
    assert "skillctl init" in result.stderr


@pytest.mark.parametrize("output", ["text", "markdown", "json"])
def test_ids_are_never_cut_and_cannot_command_a_terminal(output: str, tmp_path: Path, run: Run) -> None:
    names = ["a" * 300, "1e3", "x|y", "\x1b[31mred", "two\nlines", "🤖"]
    agents = {name: Agent(name, modes=("answer",)) for name in sorted(names)}  # type: ignore[arg-type]
    handbook = Handbook("h", modes={"answer": Mode("answer")}, agents=agents)  # type: ignore[arg-type, dict-item]
    save_handbook(handbook, tmp_path / "h")
    shown = run("show", tmp_path / "h", "-o", output).stdout
    assert "a" * 300 in shown
    assert "1e3" in shown
    assert "🤖" in shown
    assert "\x1b" not in shown
    assert "two\nlines" not in shown


def test_nothing_is_coloured_or_cut_on_a_narrow_terminal_or_a_closed_pipe() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "skillctl", "show", str(BASIC)],
        env={**os.environ, "COLUMNS": "20"},
        capture_output=True,
        check=True,
    ).stdout
    assert shown == (DATA / "golden" / "show.txt").read_bytes()
    assert b"\x1b" not in shown
    command = f"{sys.executable} -m skillctl show {BASIC} | head -c 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"b", b"")
