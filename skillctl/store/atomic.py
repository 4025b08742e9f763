"""Write a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import NamedTuple

_NEW_FILE_MODE = 0o666


class _Staged(NamedTuple):
    temporary: Path
    target: Path


def write_atomic(path: Path, data: bytes) -> None:
    """Replace a file by ``data``, or leave it as it is if that fails; its mode stays, a symbolic link stays a link.

    Raises:
        OSError: With the name of the file, for a full disk, a read-only file or folder.
    """
    write_all_atomic({path: data})


def write_all_atomic(files: dict[Path, bytes]) -> None:
    """Replace several files: all are on the disk before the first takes its place.

    Raises:
        OSError: With the name of the file; none of the files has changed then.
    """
    staged: list[_Staged] = []
    try:
        for path, data in files.items():
            staged.append(_stage(path, data))
        for temporary, target in staged:
            temporary.replace(target)
    finally:
        for temporary, _ in staged:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()
    for folder in {target.parent for _, target in staged}:
        _sync_folder(folder)


def _stage(path: Path, data: bytes) -> _Staged:
    target = path.resolve()
    mode = _mode_for(target)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
    except BaseException as error:
        Path(name).unlink()
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)
        raise
    return _Staged(Path(name), target)


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
