"""Write a file whole or not at all, and several files all or none."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NEW_FILE_MODE = 0o666
_SUFFIX = ".skillctl-tmp"


class Staged(NamedTuple):
    """A file that waits beside the one that it will replace."""

    temporary: Path
    target: Path


def write_atomic(path: Path, data: bytes) -> None:
    """Replace a file by ``data``, or leave it as it is if that fails; its mode stays, a symbolic link stays a link.

    Raises:
        OSError: With the name of the file, for a full disk, a read-only file or folder.
    """
    with contextlib.ExitStack() as cleanup:
        _swap([_stage(path, data, cleanup)], ())


def write_together(files: Mapping[Path, bytes], removals: Iterable[Path], *, journal: Path) -> None:
    """Replace and remove several files: if a kill interrupts the last step, ``finish_writes`` completes it.

    Args:
        files: New contents.
        removals: Files that go.
        journal: Names what is to be done while it is being done.

    Raises:
        OSError: With the name of the file; no file has changed then.
    """
    gone = list(removals)
    with contextlib.ExitStack() as cleanup:
        staged = [_stage(path, data, cleanup) for path, data in files.items()]
        # From here on an interruption must not take the staged files away: the journal may name them already.
        kept = cleanup.pop_all()
    plan = {"swaps": [[str(path) for path in pair] for pair in staged], "removals": [str(path) for path in gone]}
    try:
        write_atomic(journal, json.dumps(plan).encode())
    except OSError:
        kept.close()
        raise
    _swap(staged, gone)
    journal.unlink()


def remove_leftovers(folder: Path) -> None:
    """Remove the staged files of killed processes; only for who holds the lock of the folder."""
    for path in folder.glob(f".*{_SUFFIX}"):
        path.unlink()


def finish_writes(journal: Path) -> None:
    """Complete what a killed process had decided to write; do nothing where there is nothing to complete."""
    try:
        plan = json.loads(journal.read_bytes())
        staged = [Staged(Path(temporary), Path(target)) for temporary, target in plan["swaps"]]
        gone = [Path(path) for path in plan["removals"]]
    except FileNotFoundError:
        return
    except (ValueError, KeyError, TypeError):
        journal.unlink()  # not of our making: a journal is written whole
        return
    _swap([pair for pair in staged if pair.temporary.exists()], gone)
    journal.unlink()


def _swap(staged: Iterable[Staged], removals: Iterable[Path]) -> None:
    touched = set()
    for temporary, target in staged:
        temporary.replace(target)
        touched.add(target.parent)
    for path in removals:
        path.unlink(missing_ok=True)
        touched.add(path.parent)
    for folder in touched:
        _sync_folder(folder)


def _stage(path: Path, data: bytes, cleanup: contextlib.ExitStack) -> Staged:
    target = path.resolve()
    mode = _mode_for(target)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=_SUFFIX, dir=target.parent)
    temporary = Path(name)
    cleanup.callback(temporary.unlink, missing_ok=True)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
    temporary.chmod(mode)
    return Staged(temporary, target)


def _mode_for(target: Path) -> int:
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return _NEW_FILE_MODE & ~_umask()
    if not os.access(target, os.W_OK):
        # The rename would succeed, against the wish of whoever made the file read-only.
        raise PermissionError(13, "the file is read-only", str(target))
    return mode


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
