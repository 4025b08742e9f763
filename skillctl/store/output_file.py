"""A result that is written in pieces and takes its place only when it is whole."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEW_FILE_MODE = 0o666


@contextmanager
def open_output(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing; it replaces the old one when the block ends without an error.

    A device or a pipe is written to directly.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    if target.exists() and not os.access(target, os.W_OK):
        # The rename would succeed, against the wish of whoever made the file read-only.
        raise PermissionError(13, "the file is read-only", str(path))
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".tmp", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(_find_mode(target))
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _find_mode(target: Path) -> int:
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return _NEW_FILE_MODE & ~mask
