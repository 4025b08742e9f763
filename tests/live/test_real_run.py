"""`run` with a real small model: start it with ``pool.py serve FOLDER smol``, then run with ``--live``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from processes import skillctl

from skillctl.core.run.protocol import ProtocolChecker
from skillctl.store.handbook_dir import load_handbook
from skillctl.store.traces import read_traces

pytestmark = pytest.mark.live

DEMO = Path(__file__).resolve().parents[2] / "handbooks" / "run-demo"
# The smallest model, whose endpoint stands in the handbook; without code, so that no sandbox is needed.
OPTIONS = ("--agent", "smol", "--agent", "library", "--mode", "answer", "--mode", "search", "--limit", "3")


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DEMO, tmp_path / "book"))


def converse(folder: Path, book: Path, out: str, *options: str) -> tuple[list[dict[str, Any]], str]:
    """Run the conversations, and return their traces without times, and what was said."""
    queries = book / "data" / "test.jsonl"
    result = skillctl(folder, "run", book, "--queries", queries, "--out", out, "--timeout", "600", *OPTIONS, *options)
    assert result.returncode == 0, result.stderr
    traces = [json.loads(line) for line in (folder / out).read_text(encoding="utf-8").splitlines()]
    return [{key: value for key, value in trace.items() if key != "latency_s"} for trace in traces], result.stderr


def test_real_conversations_keep_the_protocol_and_a_rerun_pays_nothing(tmp_path: Path, book: Path) -> None:
    traces, _ = converse(tmp_path, book, "first.jsonl")
    assert [trace["stop"] for trace in traces] == ["answered"] * 3
    assert all(trace["cost_usd"] > 0 and trace["prompt_tokens"] > 0 for trace in traces)
    assert {trace["success"] for trace in traces} <= {True, False}
    checker = ProtocolChecker(load_handbook(book), max_turns=6)
    logged = read_traces(str(tmp_path / "first.jsonl"), on_problem=lambda problem: pytest.fail(str(problem)))
    assert [breach for trace in logged for breach in checker.find_breaches(trace)] == []
    again, said = converse(tmp_path, book, "again.jsonl")
    assert again == traces
    assert "spent in this run: 0.000000 USD" in said


def test_a_real_model_as_orchestrator_names_known_skills_and_its_cost_is_told(tmp_path: Path, book: Path) -> None:
    traces, said = converse(tmp_path, book, "named.jsonl", "--orchestrator", "smol")
    skills = load_handbook(book).skills
    known = {str(mode) for mode in skills} | {skill.id for own in skills.values() for skill in own}
    assert all(set(trace["skills"]) <= known for trace in traces)
    assert all(trace["costs"]["orchestrator"] > 0 for trace in traces)
    assert "smol: " in said
    assert "calls to make" in said
