"""Measures processes: wall time, processor time and peak memory, each as the best of several runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SKILLCTL = [sys.executable, "-m", "skillctl"]


class Run(NamedTuple):
    """One finished process with its children."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def run_process(command: Sequence[str], cache: Path) -> Run:
    """Run a command to its end; it must succeed.

    Peak memory is that of the largest process.
    """
    env = {**os.environ, "SKILLCTL_CACHE_DIR": str(cache), "OPENBLAS_NUM_THREADS": "1"}
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env) as process:
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        message = f"{command} ended with {process.returncode}: {errors.decode()}"
        raise RuntimeError(message)
    return Run(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def run_alternately(commands: dict[str, Sequence[str]], cache: Path, repeats: int) -> dict[str, Run]:
    """Run commands in turns, so that all meet the same load, and return the fastest run of each."""
    best: dict[str, Run] = {}
    for _ in range(repeats):
        for name, command in commands.items():
            run = run_process(command, cache)
            best[name] = min(best.get(name, run), run)
    return best
