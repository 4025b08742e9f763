"""A trace log that is appended to line by line and survives a kill at any moment."""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

import orjson

from skillctl.errors import InputError, LockedError
from skillctl.store.jsonl import parse_object

if TYPE_CHECKING:
    from types import TracebackType

_SYNC_INTERVAL_S = 5.0
_BLOCK = 1 << 16


class TraceLog:
    """The log of one run; ``-`` is standard output, without a past.

    Opening it takes a lock that a second writer meets, and cuts away a last line that a killed run left torn.

    Args:
        path: A ``.jsonl`` file that need not exist, or ``-``.
    """

    def __init__(self, path: str) -> None:
        if path.endswith(".gz"):
            message = "traces cannot be appended to a compressed file"
            raise InputError(message, where=path, hint="write a .jsonl file and compress it afterwards")
        self._path = path
        self._file: IO[bytes] | None = None
        self._stdout: IO[bytes] | None = None
        self._synced_at = time.monotonic()

    def __enter__(self) -> Self:
        """Open, lock and mend the file."""
        if self._path == "-":
            # Taken now: what prints later, such as a library's banner, is sent elsewhere by the caller.
            self._stdout = sys.stdout.buffer
            return self
        self._file = Path(self._path).open("a+b", buffering=0)
        try:
            _lock(self._file, self._path)
            _mend(self._file)
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Bring everything to the disk and let go of the lock."""
        if self._file is None:
            return
        os.fsync(self._file.fileno())
        self._file.close()

    def read(self) -> list[dict[str, Any]]:
        """Return the objects that the log holds already.

        Raises:
            InputError: If a line is no JSON object: then this is not a log to append to.
        """
        if self._file is None:
            return []
        self._file.seek(0)
        return _parse_all(self._file, self._path)

    def append(self, trace: Mapping[str, Any]) -> None:
        """Write one line with one write; a write that fails half-way, as on a full disk, is taken back."""
        line = orjson.dumps(trace, option=orjson.OPT_APPEND_NEWLINE)
        if self._file is not None:
            self._append(self._file, line)
        elif self._stdout is not None:
            self._stdout.write(line)
            self._stdout.flush()

    def _append(self, file: IO[bytes], line: bytes) -> None:
        end = file.seek(0, os.SEEK_END)
        try:
            _write_all(file, line)
        except OSError as error:
            file.truncate(end)
            error.filename = self._path
            raise
        now = time.monotonic()
        if now - self._synced_at > _SYNC_INTERVAL_S:
            os.fsync(file.fileno())
            self._synced_at = now


def peek_log(path: str) -> list[dict[str, Any]]:
    """Return what a log holds without touching or locking it; a torn last line is left out."""
    if path == "-" or not Path(path).exists():
        return []
    with Path(path).open("rb") as file:
        return _parse_all((raw for raw in file if raw.endswith(b"\n")), path)


def _parse_all(lines: Iterable[bytes], path: str) -> list[dict[str, Any]]:
    return [_parse(raw, f"{path}:{number}") for number, raw in enumerate(lines, 1) if not raw.isspace()]


def _write_all(file: IO[bytes], line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[file.write(rest) :]


def _lock(file: IO[bytes], path: str) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        message = "another run is writing to this file"
        raise LockedError(message, where=path, hint="wait for it, or write to another file") from error


def _mend(file: IO[bytes]) -> None:
    """Cut a torn last line away; one that only lacks its line feed is whole and gets it."""
    size = file.seek(0, os.SEEK_END)
    start = _start_of_last_line(file, size)
    if start == size:
        return
    file.seek(start)
    try:
        parse_object(file.read())
    except ValueError:
        file.truncate(start)
        file.seek(0, os.SEEK_END)
    else:
        file.write(b"\n")


def _start_of_last_line(file: IO[bytes], size: int) -> int:
    """Return the position after the last line feed, reading from the end."""
    end = size
    while end > 0:
        begin = max(0, end - _BLOCK)
        file.seek(begin)
        at = file.read(end - begin).rfind(b"\n")
        if at >= 0:
            return begin + at + 1
        end = begin
    return 0


def _parse(raw: bytes, where: str) -> dict[str, Any]:
    try:
        return parse_object(raw.rstrip(b"\r\n"))
    except ValueError as error:
        message = f"the line is no trace: {error}"
        raise InputError(message, where=where, hint="append to a trace log, or write to a new file") from error
