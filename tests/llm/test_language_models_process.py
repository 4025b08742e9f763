"""A language model as orchestrator in a process of its own, through litellm, to a server on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from chat_server import Answer, ChatServer, completion

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = (sys.executable, "-m", "skillctl", "route")


def test_route_through_litellm_writes_decisions_alone_to_standard_output(demo: Path, tmp_path: Path) -> None:
    def reply(_: dict[str, Any]) -> Answer:
        return completion('Sure:\n```json\n{"skills": {"answer.arithmetic": 0.9, "made.up": 0.1}}\n```')

    with ChatServer(reply).running() as server:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "skillctl",
                "route",
                str(demo),
                "--orchestrator",
                "openai/any",
                "--api-base",
                server.api_base,
            ],
            input='{"id": 1, "query": "What is 2 + 2?"}\n',
            env={**os.environ, "SKILLCTL_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        )
        (request,) = server.requests
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["skills"] == {"answer.arithmetic": 1.0}
    assert "1 skill ids of openai/any are unknown: made.up (1)" in done.stderr
    assert "unknown for 1 calls" in done.stderr
    assert (request["model"], request["temperature"], request["max_tokens"]) == ("any", 0, 400)
    assert "drop_params" not in request
