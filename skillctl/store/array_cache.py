"""Cache entries: named arrays in one file that is written whole, and ignored when it cannot be read."""

from __future__ import annotations

import contextlib
import io
import zipfile
from typing import TYPE_CHECKING

import numpy as np

from skillctl.store.atomic import write_atomic
from skillctl.store.cache_dir import cache_root

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

Arrays = dict[str, "NDArray[np.generic]"]


def read_arrays(kind: str, key: str) -> Arrays | None:
    """Return the arrays of one entry, or ``None`` when there is none that can be read."""
    path = cache_root() / kind / f"{key}.npz"
    try:
        # The file is opened here, as np.load leaves a damaged one open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as entry:
            return dict(entry.items())
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def write_arrays(kind: str, key: str, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Write one entry; where the cache cannot be written, nothing happens: the next run computes it again."""
    data = io.BytesIO()
    np.savez(data, allow_pickle=False, **arrays)
    folder = cache_root() / kind
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / f"{key}.npz", data.getvalue())


def pack_text(text: str) -> NDArray[np.uint8]:
    """Return a text as an array of bytes."""
    return np.frombuffer(text.encode(), np.uint8)


def unpack_text(packed: NDArray[np.generic]) -> str:
    """Return the text of `pack_text`.

    Raises:
        ValueError: If it is no text.
    """
    return packed.tobytes().decode()
