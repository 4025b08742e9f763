"""Runs Python that a model wrote, contained: time, memory, processes, files, network and output."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import orjson

from skillctl.errors import InputError
from skillctl.llm import sandbox_child

MEASURES = ("time", "memory", "processes", "files", "network", "output")
Fault = Literal["timeout", "output", "crash", "refused"]

_CHUNK = 65_536
_GRACE_S = 1.0


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What code may use.

    Attributes:
        timeout_s: Seconds by the clock.
        memory_mb: Memory in MiB, that of the interpreter among it.
        disk_mb: What it may write in its temporary folder.
        output_bytes: What it may print; it is ended when it prints more.
    """

    timeout_s: float = 10.0
    memory_mb: int = 512
    disk_mb: int = 16
    output_bytes: int = 64_000


@dataclass(frozen=True, slots=True)
class SandboxResult:
    """What came of the code.

    Attributes:
        output: What it printed, up to the limit.
        notes: The end of what it printed on standard error, such as a traceback.
        exit_code: 0 when it ran to its end.
        fault: Why it was ended, ``None`` if it ended by itself.
        missing: Measures that could not be taken.
    """

    output: str
    notes: str
    exit_code: int
    fault: Fault | None = None
    missing: tuple[str, ...] = ()

    @property
    def is_ok(self) -> bool:
        """Whether the code ran to its end without an error."""
        return self.exit_code == 0 and self.fault is None


class Sandbox:
    """Runs code in processes that can reach nothing; used from several threads at once.

    Args:
        limits: What code may use.
        required: Measures without which no code is run.
    """

    def __init__(self, limits: SandboxLimits, *, required: tuple[str, ...] = MEASURES) -> None:
        self._limits = limits
        self._required = required
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()

    def run(self, code: str) -> SandboxResult:
        """Run code to its end or to the first limit that it meets."""
        with tempfile.TemporaryDirectory(prefix="skillctl-sandbox-", ignore_cleanup_errors=True) as folder:
            status_out, status_in = os.pipe()
            try:
                process = self._start(folder, status_in)
            finally:
                os.close(status_in)
            with self._lock:
                self._running.add(process)
            try:
                return _Watch(process, self._limits, self._required).watch(code.encode("utf-8", "replace"), status_out)
            finally:
                _end(process)
                os.close(status_out)
                with self._lock:
                    self._running.discard(process)

    def stop(self) -> None:
        """End all code that still runs."""
        with self._lock:
            running = list(self._running)
        for process in running:
            _end(process)

    def _start(self, folder: str, status_fd: int) -> subprocess.Popen[bytes]:
        limits = self._limits
        config = {
            "folder": str(Path(folder).resolve()),
            "cpu_s": int(limits.timeout_s) + 2,
            "memory_mb": limits.memory_mb,
            "disk_mb": limits.disk_mb,
            "required": [measure for measure in self._required if measure != "output"],
            "status_fd": status_fd,
        }
        return subprocess.Popen(
            [sys.executable, "-I", "-S", sandbox_child.__file__, orjson.dumps(config).decode()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "HOME": folder, "TMPDIR": folder, "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"},
            pass_fds=[status_fd],
            start_new_session=True,
        )


def find_uncontained() -> tuple[str, ...]:
    """Return the measures that this machine cannot take, by trying."""
    return Sandbox(SandboxLimits()).run("").missing


def refuse_uncontained(missing: tuple[str, ...]) -> None:
    """Refuse to run code where it cannot be contained.

    Raises:
        InputError: Naming what cannot be contained.
    """
    if missing:
        message = f"this machine cannot contain code that models write: no limit of {', '.join(missing)}"
        raise InputError(message, hint="run it on Linux 6.2 or later, or accept it with --unsafe-sandbox")


class _Watch:
    """Follows one process to its end, or ends it."""

    def __init__(self, process: subprocess.Popen[bytes], limits: SandboxLimits, required: tuple[str, ...]) -> None:
        self._process = process
        self._limits = limits
        self._required = required
        self._fault: Fault | None = None

    def watch(self, code: bytes, status_fd: int) -> SandboxResult:
        output, notes = _Tail(self._limits.output_bytes), _Tail(self._limits.output_bytes)
        timer = threading.Timer(self._limits.timeout_s, self._stop, ["timeout"])
        helpers = [
            threading.Thread(target=_feed, args=(self._process.stdin, code), daemon=True),
            threading.Thread(target=self._read, args=(self._process.stderr, notes), daemon=True),
        ]
        for helper in (timer, *helpers):
            helper.start()
        try:
            self._read(self._process.stdout, output)
            self._process.wait()
        finally:
            timer.cancel()
        helpers[1].join(timeout=_GRACE_S)
        return self._result(output.data, notes.data, _read_status(status_fd))

    def _stop(self, fault: Fault) -> None:
        self._fault = self._fault or fault
        _end(self._process)

    def _read(self, pipe: IO[bytes] | None, kept: _Tail) -> None:
        if pipe is None:  # pragma: no cover - all are pipes
            return
        with pipe:
            while chunk := os.read(pipe.fileno(), _CHUNK):
                if not kept.add(chunk):
                    self._stop("output")
                    return

    def _result(self, output: bytes, notes: bytes, status: dict[str, list[str]] | None) -> SandboxResult:
        code = self._process.returncode
        missing = tuple(status["missing"]) if status else self._required
        fault = self._fault
        if fault is None and missing:
            fault = "refused"
        elif fault is None and (code < 0 or code > sandbox_child.SIGNALLED):
            fault = "crash"
        return SandboxResult(output.decode("utf-8", "replace"), notes.decode("utf-8", "replace"), code, fault, missing)


class _Tail:
    """Keeps what comes, up to a limit."""

    def __init__(self, limit: int) -> None:
        self.data = b""
        self._limit = limit

    def add(self, chunk: bytes) -> bool:
        """Keep a chunk; ``False`` when that is more than the limit."""
        self.data = (self.data + chunk)[: self._limit]
        return len(self.data) < self._limit


def _feed(pipe: IO[bytes] | None, code: bytes) -> None:
    if pipe is None:  # pragma: no cover - all are pipes
        return
    with contextlib.suppress(BrokenPipeError), pipe:
        pipe.write(code)


def _read_status(status_fd: int) -> dict[str, list[str]] | None:
    """Return what the child said before it ran the code, ``None`` if it did not get that far."""
    os.set_blocking(status_fd, False)
    try:
        status: dict[str, list[str]] = orjson.loads(os.read(status_fd, _CHUNK))
    except (BlockingIOError, orjson.JSONDecodeError):
        return None
    return status


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
