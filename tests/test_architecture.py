"""What keeps the architecture visible: import layers, late imports, documentation that cannot drift."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
PACKAGE = PROJECT / "skillctl"

# Each layer may import itself and what is listed; nothing imports cli.
MAY_IMPORT = {
    "errors": set(),
    "model": {"errors"},
    "core": {"errors", "model"},
    "store": {"errors", "model", "core"},
    "llm": {"errors", "model", "core"},
    "report": {"errors", "model", "core"},
    "cli": {"errors", "model", "core", "store", "llm", "report"},
}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE)


def _imported(path: Path) -> set[str]:
    """Return the layers that a module imports, at the top, late, or for types."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update([node.module] if node.module != "skillctl" else [f"skillctl.{a.name}" for a in node.names])
    return {name.split(".")[1] for name in names if name.startswith("skillctl.")}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_the_layers_below_it(path: Path) -> None:
    layer = path.relative_to(PACKAGE).parts[0]
    assert _imported(path) - {layer, "__version__"} <= MAY_IMPORT[layer]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_command_layer_prints(path: Path) -> None:
    calls = {
        node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    }
    if path.relative_to(PACKAGE).parts[0] != "cli":
        assert not calls & {"print", "echo", "secho"}


def _modules_loaded_by(*args: str) -> set[str]:
    """Return the top-level modules in a fresh process after skillctl ran with these arguments."""
    code = (
        "import sys\n"
        "from skillctl.cli.main import group\n"
        f"group({list(args)!r}, standalone_mode=False)\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_help_loads_nothing_heavy() -> None:
    loaded = _modules_loaded_by("--help")
    assert not loaded & {"numpy", "scipy", "litellm", "jsonschema", "yaml", "orjson", "tokenizers", "wordllama"}


def test_route_loads_neither_litellm_nor_scipy_stats(demo: Path, tmp_path: Path) -> None:
    queries = tmp_path / "q.jsonl"
    queries.write_text('{"id": 1, "query": "What is 2 + 2?"}\n', encoding="utf-8")
    loaded = _modules_loaded_by("-q", "route", str(demo), "--in", str(queries), "--out", str(tmp_path / "d.jsonl"))
    assert not loaded & {"litellm", "scipy.stats", "wordllama"}


def _commands() -> list[str]:
    from skillctl.cli.main import COMMANDS

    return list(COMMANDS)


@pytest.mark.parametrize("command", _commands())
def test_every_command_has_help_with_an_example_and_stands_in_the_readme(command: str, run) -> None:  # noqa: ANN001
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"skillctl {command}" in result.stdout
    assert "\\b" not in result.stdout  # an example that click was not told to leave as it is
    assert f"`{command}`" in (PROJECT / "README.md").read_text(encoding="utf-8")
