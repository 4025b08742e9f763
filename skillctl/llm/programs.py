"""Runs a program with a JSON request on stdin and a JSON answer on stdout, within limits of time and size."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import orjson

from skillctl.errors import OutsideError

if TYPE_CHECKING:
    from pathlib import Path

MAX_OUTPUT_BYTES = 10_000_000
SHOWN_STDERR_CHARS = 300
_CHUNK = 65_536


class _Output(NamedTuple):
    data: bytes
    is_cut: bool


class ProgramRunner:
    """Runs programs and can end all that still run.

    Every program leads a process group of its own, so that ending it ends its children too.
    """

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._is_stopped = False

    def run(
        self, command: Sequence[str], request: Mapping[str, Any], *, folder: Path | None, timeout_s: float
    ) -> object:
        """Return the decoded JSON that the program prints.

        Raises:
            OutsideError: If it cannot start, takes too long, prints too much, fails, or prints no JSON.
        """
        process = self._start(command, folder)
        timer = threading.Timer(timeout_s, _end, [process])
        timer.start()
        try:
            output, stderr = _talk(process, orjson.dumps(request))
        finally:
            is_late = not timer.is_alive()
            timer.cancel()
            _end(process)
            with self._lock:
                self._running.discard(process)
        return _read_answer(command, process.returncode, output, stderr, timeout_s if is_late else None)

    def stop(self) -> None:
        """End every program that still runs, and start no other."""
        with self._lock:
            self._is_stopped = True
            running = list(self._running)
        for process in running:
            _end(process)

    def _start(self, command: Sequence[str], folder: Path | None) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_stopped:
                message = "the run was interrupted"
                raise OutsideError(message, code="interrupted")
            try:
                process = subprocess.Popen(
                    _resolve(command),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=folder,
                    start_new_session=True,
                )
            except OSError as error:
                message = f"cannot start {command[0]!r}: {error.strerror or error}"
                raise OutsideError(message, code="command_failed") from error
            self._running.add(process)
        return process


def read_cost(reply: Mapping[str, Any]) -> float | None:
    """Return what a program says that it cost: nothing where it is silent, unknown where that is no amount."""
    cost = reply.get("cost_usd", 0.0)
    is_amount = isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0
    return float(cost) if is_amount else None


def _resolve(command: Sequence[str]) -> list[str]:
    """Run a script's ``python`` with our own interpreter where the machine has only ``python3``."""
    if command[0] in {"python", "python3"} and shutil.which(command[0]) is None:
        return [sys.executable, *command[1:]]
    return list(command)


def _talk(process: subprocess.Popen[bytes], request: bytes) -> tuple[_Output, bytes]:
    """Feed stdin and read both outputs at once, so that no full pipe can block the program."""
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    if stdin is None or stdout is None or stderr is None:  # pragma: no cover - all three are pipes
        message = "the program has no pipes"
        raise AssertionError(message)
    notes: list[bytes] = []
    helpers = [
        threading.Thread(target=_feed, args=(stdin, request), daemon=True),
        threading.Thread(target=_drain_tail, args=(stderr, notes), daemon=True),
    ]
    for helper in helpers:
        helper.start()
    with stdout:
        output = _read_capped(stdout)
    if output.is_cut:
        _end(process)
    process.wait()
    # A grandchild that left the group may keep stderr open for ever; its words are not worth the wait.
    helpers[1].join(timeout=1.0)
    return output, b"".join(notes)


def _feed(stdin: IO[bytes], request: bytes) -> None:
    try:
        with stdin:
            stdin.write(request)
    except BrokenPipeError:
        return  # a program may answer without reading all of its request


def _drain_tail(stderr: IO[bytes], notes: list[bytes]) -> None:
    with stderr:
        while chunk := os.read(stderr.fileno(), _CHUNK):
            notes[:] = [(b"".join(notes) + chunk)[-4 * SHOWN_STDERR_CHARS :]]


def _read_capped(stdout: IO[bytes]) -> _Output:
    chunks: list[bytes] = []
    size = 0
    while chunk := os.read(stdout.fileno(), _CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_OUTPUT_BYTES:
            return _Output(b"", is_cut=True)
    return _Output(b"".join(chunks), is_cut=False)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the whole process group, also what is left of it after its leader ended."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    except PermissionError:  # macOS says so of a group that only has zombies left
        return


def _read_answer(
    command: Sequence[str], returncode: int, output: _Output, stderr: bytes, late_after_s: float | None
) -> object:
    name = " ".join(command)
    if output.is_cut:
        message = f"`{name}` printed more than {MAX_OUTPUT_BYTES} bytes"
        raise OutsideError(message, code="command_failed")
    if late_after_s is not None and returncode != 0:
        message = f"`{name}` took longer than {late_after_s:g} s"
        raise OutsideError(message, code="timeout")
    if returncode != 0:
        message = f"`{name}` ended with exit code {returncode}{_shown(stderr)}"
        raise OutsideError(message, code="command_failed")
    try:
        return orjson.loads(output.data)
    except orjson.JSONDecodeError as error:
        message = f"`{name}` printed no JSON: {error}{_shown(stderr)}"
        raise OutsideError(message, code="bad_reply") from error


def _shown(stderr: bytes) -> str:
    text = stderr.decode("utf-8", "replace").strip()[-SHOWN_STDERR_CHARS:]
    return f": {text}" if text else ""
