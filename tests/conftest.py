"""Fixtures for every test: a clean environment, the command runner, and switches."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
from click.testing import CliRunner

if TYPE_CHECKING:
    from click.testing import Result

PROJECT = Path(__file__).resolve().parent.parent
DEMO = PROJECT / "handbooks" / "demo"


class Run(Protocol):
    """Invoke skillctl in this process."""

    def __call__(self, *args: str | Path, stdin: str | bytes | None = None) -> Result: ...


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--live", action="store_true", help="also run the tests that call real models on loopback")
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/data/golden from what is printed now")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--live"):
        return
    skip = pytest.mark.skip(reason="needs --live")
    for item in items:
        if "live" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test sees the caller's settings, keys, repository or caches."""
    for name in list(os.environ):
        if name.startswith(("GIT_", "SKILLCTL_")) or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def run() -> Run:
    """Invoke the command line as a user would; a bug raises instead of becoming exit code 70."""

    def invoke(*args: str | Path, stdin: str | bytes | None = None) -> Result:
        from skillctl.cli.main import group

        result = CliRunner().invoke(group, [str(arg) for arg in args], input=stdin, catch_exceptions=False)
        if result.exit_code == 70:
            raise AssertionError(result.stderr)
        return result

    return invoke


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """Return a copy of the demo handbook that a test may change."""
    return Path(shutil.copytree(DEMO, tmp_path / "demo"))


@pytest.fixture
def git_repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a new, empty git repository with an identity."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "test@example.org")
    root = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    return root


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Return whether golden files are to be rewritten."""
    return bool(request.config.getoption("--update-golden"))
