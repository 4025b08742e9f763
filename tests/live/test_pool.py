"""Exploration of real models on loopback: start them with ``pool.py serve``, then run with ``--live``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from typing import TYPE_CHECKING

import pytest
from pool import MODELS, api_base

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.live

QUESTIONS = (("What is 3 + 4?", "7"), ("What is 10 - 4?", "6"), ("What is 2 * 5?", "10"), ("What is 9 - 8?", "1"))


@pytest.fixture(scope="module")
def keys() -> list[str]:
    """Return the models that are being served."""
    found = [key for key in MODELS if _is_served(key)]
    if not found:
        pytest.fail("no model is served; start some with `python tests/live/pool.py serve FOLDER`")
    return found


def _is_served(key: str) -> bool:
    try:
        with urllib.request.urlopen(f"{api_base(key)}/models", timeout=20) as reply:  # noqa: S310 - loopback
            return bool(reply.status == 200)
    except OSError:
        return False


def _write_inputs(folder: Path, keys: list[str]) -> None:
    params = {"temperature": 0, "max_tokens": 40}
    agents = [{"agent": key, "model": f"openai/{key}", "api_base": api_base(key), "params": params} for key in keys]
    (folder / "pool.json").write_text(json.dumps({"agents": agents}))
    lines = [
        json.dumps({"id": n, "query": f"{question} Answer with the number only.", "reference": answer})
        for n, (question, answer) in enumerate(QUESTIONS)
    ]
    (folder / "q.jsonl").write_text("\n".join(lines) + "\n")


def _start(folder: Path, cache: str, out: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "skillctl", "explore", "pool.json", "--queries", "q.jsonl", "--out", out]
    return subprocess.Popen(
        [*command, "--scoring", "numeric", "--agent-concurrency", "1"],
        cwd=folder,
        env={**os.environ, "SKILLCTL_CACHE_DIR": str(folder / cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _without_latency(path: Path) -> list[dict[str, object]]:
    traces = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in trace.items() if key != "latency_s"} for trace in traces]


def test_a_killed_run_of_real_models_yields_the_traces_of_an_undisturbed_one(tmp_path: Path, keys: list[str]) -> None:
    _write_inputs(tmp_path, keys)
    undisturbed = _start(tmp_path, "cache-a", "a.jsonl")
    _, stderr = undisturbed.communicate(timeout=600)
    assert undisturbed.returncode == 0, stderr
    killed = _start(tmp_path, "cache-b", "b.jsonl")
    out = tmp_path / "b.jsonl"
    deadline = time.monotonic() + 300
    while (not out.exists() or out.read_bytes().count(b"\n") < 2) and time.monotonic() < deadline:
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    again = _start(tmp_path, "cache-b", "b.jsonl")
    _, stderr = again.communicate(timeout=600)
    assert again.returncode == 0, stderr
    assert _without_latency(out) == _without_latency(tmp_path / "a.jsonl")


def test_real_replies_have_tokens_and_verdicts_and_an_unknown_cost(tmp_path: Path, keys: list[str]) -> None:
    _write_inputs(tmp_path, keys)
    run = _start(tmp_path, "cache", "out.jsonl")
    _, stderr = run.communicate(timeout=600)
    assert run.returncode == 0, stderr
    traces = _without_latency(tmp_path / "out.jsonl")
    assert len(traces) == len(keys) * len(QUESTIONS)
    assert all(trace["prompt_tokens"] and trace["completion_tokens"] for trace in traces)
    assert all("cost_usd" not in trace for trace in traces)
    assert {trace["success"] for trace in traces} <= {True, False}
