"""One writer at a time: the second waits, or fails with a clear error."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from typing import TYPE_CHECKING

from skillctl.errors import LockedError
from skillctl.store.atomic import finish_writes
from skillctl.store.cache_dir import cache_root

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WAIT_S = 10.0
_POLL_S = 0.05
# Saving takes the lock that its command may already hold, and a process cannot wait for itself.
_HELD: ContextVar[frozenset[Path]] = ContextVar("held", default=frozenset())


@contextmanager
def handbook_lock(root: Path, *, wait_s: float = WAIT_S) -> Iterator[None]:
    """Hold the lock of a handbook; a command that reads, changes and writes holds it all the while.

    Raises:
        LockedError: If another process holds it for longer than ``wait_s``.
    """
    path = _lock_path(root)
    held = _HELD.get()
    if path in held:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # The file stays: removing it would let two processes lock two files of one name.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        _wait_for(descriptor, root, wait_s)
        token = _HELD.set(held | {path})
        try:
            yield
        finally:
            _HELD.reset(token)
    finally:
        os.close(descriptor)


def complete_interrupted_save(root: Path) -> None:
    """Finish what a killed process was writing, and wait for one that is writing just now."""
    if journal_path(root).exists():
        with handbook_lock(root):
            finish_writes(journal_path(root))


def journal_path(root: Path) -> Path:
    """Return where a save of this handbook notes what it is about to do; outside, so that no clone can bring one."""
    return _lock_path(root).with_suffix(".journal")


def _lock_path(root: Path) -> Path:
    digest = blake2b(os.fsencode(root.resolve()), digest_size=16).hexdigest()
    return cache_root() / "locks" / f"{digest}.lock"


def _wait_for(descriptor: int, root: Path, wait_s: float) -> None:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                message = "another skillctl command is writing this handbook"
                raise LockedError(message, where=str(root), hint="try again when it has ended") from error
            time.sleep(_POLL_S)
        else:
            return
