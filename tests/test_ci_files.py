from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from skillctl.model.handbook import Agent, Handbook, Mode
from skillctl.store.handbook_dir import save_handbook

PROJECT = Path(__file__).resolve().parent.parent
ACTION = PROJECT / ".github" / "actions" / "skillctl" / "action.yml"


def _load(path: Path) -> Any:  # noqa: ANN401 - any YAML
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _steps() -> dict[str, dict[str, Any]]:
    return {step["name"]: step for step in _load(ACTION)["runs"]["steps"]}


@pytest.fixture
def changed(git_repo: Path) -> Path:
    """A repository with a branch on which a handbook got another agent."""
    root = git_repo / "h"
    save_handbook(Handbook("h", modes={"m": Mode("m")}, skills={"m": ()}), root)  # type: ignore[dict-item, arg-type]
    for message in ("first", "second"):
        subprocess.run(["git", "add", "."], cwd=git_repo, check=True)
        subprocess.run(["git", "commit", "-q", "-m", message], cwd=git_repo, check=True)
        subprocess.run(["git", "checkout", "-q", "-B", "learn"], cwd=git_repo, check=True)
        agents = {"a": Agent("a", modes=("m",))}  # type: ignore[arg-type]
        save_handbook(Handbook("h", modes={"m": Mode("m")}, skills={"m": ()}, agents=agents), root)  # type: ignore[dict-item, arg-type]
    return git_repo


def _run_step(name: str, repo: Path, tmp_path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    places = {key: str(tmp_path / key.lower()) for key in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", _steps()[name]["run"]],
        cwd=repo,
        env={**os.environ, **places, "RUNNER_TEMP": str(tmp_path), "HANDBOOK": "h", "PATH": path, **env},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_action_says_what_changed(changed: Path, tmp_path: Path) -> None:
    assert _run_step("Validate", changed, tmp_path).returncode == 0
    done = _run_step("Say what changed", changed, tmp_path, BASE="main", TRACES="")
    assert done.returncode == 0, done.stderr
    assert "agent `a` was added" in (tmp_path / "skillctl-diff.md").read_text(encoding="utf-8")
    assert "changed=true" in (tmp_path / "github_output").read_text(encoding="utf-8")


def test_the_action_stops_at_an_unknown_base(changed: Path, tmp_path: Path) -> None:
    done = _run_step("Say what changed", changed, tmp_path, BASE="origin/main", TRACES="")
    assert done.returncode == 3
    assert "there is no revision" in done.stderr


def test_the_action_gives_inputs_to_the_shell_only_as_variables() -> None:
    for step in _steps().values():
        assert "${{" not in step["run"]


def test_the_pre_commit_hook_is_given_the_files_of_handbooks_and_no_others() -> None:
    (hook,) = _load(PROJECT / ".pre-commit-hooks.yaml")
    matches = re.compile(hook["files"]).search
    assert all(map(matches, ["handbook.yaml", "handbooks/x/handbook.yaml", "h/agents/a.yaml", "skills/m.yaml"]))
    assert not any(map(matches, ["README.md", "h/.schemas/agent.schema.json", "agents/deep/a.yaml"]))
