"""Time to open a large handbook for routing with a warm cache, next to reading the same numbers with NumPy."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from synthetic import MODE, write_handbook

from skillctl.store.routing_cache import open_routing_table

if TYPE_CHECKING:
    from collections.abc import Callable

_ARRAYS = ("works", "alpha", "beta", "low", "high", "evidence", "cost")


def run(*, quick: bool) -> dict[str, Any]:
    """Return the measured figures."""
    skills, agents = (100, 20) if quick else (1000, 100)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SKILLCTL_CACHE_DIR"] = f"{folder}/cache"
        root = write_handbook(Path(folder) / "h", skills, agents)
        started = time.perf_counter()
        table = open_routing_table(root)
        cold = time.perf_counter() - started
        time.sleep(0.1)  # until the files are older than a tick of the file system's clock
        open_routing_table(root)
        numbers = Path(folder) / "numbers.npz"
        np.savez(numbers, **{name: getattr(table.modes[MODE], name) for name in _ARRAYS})
        times = _time_alternately(
            {"numpy": lambda: _load(numbers), "warm": lambda: open_routing_table(root)}, 5 if quick else 60
        )
    return {
        "skills": skills,
        "agents": agents,
        "cold_ms": round(cold * 1e3, 1),
        **{f"{name}_ms": round(best * 1e3, 2) for name, best in times.items()},
        "warm_times_numpy": round(times["warm"] / times["numpy"], 2),
    }


def _load(path: Path) -> None:
    with np.load(path) as file:
        dict(file.items())


def _time_alternately(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - started)
    return best
