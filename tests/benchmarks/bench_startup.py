"""Start-up: ``--help`` and one routed query, next to a process that only imports NumPy."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import SKILLCTL, run_alternately
from synthetic import write_handbook


def run(*, quick: bool) -> dict[str, Any]:
    """Return the measured figures."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        root = write_handbook(work / "h", 20, 6)
        query = work / "query.jsonl"
        query.write_text(json.dumps({"id": 1, "query": "what is the capital of France?"}) + "\n", encoding="utf-8")
        commands = {
            "python": [sys.executable, "-c", "pass"],
            "numpy": [sys.executable, "-c", "import numpy"],
            "help": [*SKILLCTL, "--help"],
            "one_query": [*SKILLCTL, "route", str(root), "--in", str(query)],
        }
        run_alternately(commands, work / "cache", 1)
        time.sleep(0.1)  # until the files are older than a tick of the file system's clock
        runs = run_alternately(commands, work / "cache", 2 if quick else 10)
    base = runs["numpy"]
    return {
        "wall_ms": {name: round(run.wall_s * 1e3) for name, run in runs.items()},
        "times_numpy": {name: round(run.wall_s / base.wall_s, 2) for name, run in runs.items()},
    }
