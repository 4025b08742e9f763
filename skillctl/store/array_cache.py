"""Cache entries: named arrays in one file that is written whole, and ignored when it is damaged.

A file holds a mark, the length and the checksum of the rest, a JSON header with the names, types and shapes, and the
arrays' bytes. It is read twice as fast as NumPy's own archive, without importing zipfile; it is never a pickle.
"""

from __future__ import annotations

import contextlib
import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np
import orjson

from skillctl.store.cache_dir import cache_root

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

Arrays = dict[str, "NDArray[np.generic]"]

_MARK = b"skillctl"
_PREFIX = struct.Struct("<8sIII")  # the mark, checksum, bytes of the header, bytes of the padding before the arrays
_ALIGNMENT = 64


def read_arrays(kind: str, key: str) -> Arrays | None:
    """Return the arrays of one entry, or ``None`` when there is none that is whole."""
    try:
        return _unpack((cache_root() / kind / f"{key}.arrays").read_bytes())
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return None


def write_arrays(kind: str, key: str, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Write one entry; where the cache cannot be written, nothing happens: the next run computes it again."""
    from skillctl.store.atomic import write_atomic  # not needed where the cache is warm

    folder = cache_root() / kind
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / f"{key}.arrays", _pack(arrays))


def pack_text(text: str) -> NDArray[np.uint8]:
    """Return a text as an array of bytes."""
    return np.frombuffer(text.encode(), np.uint8)


def unpack_text(packed: NDArray[np.generic]) -> str:
    """Return the text of `pack_text`.

    Raises:
        ValueError: If it is no text.
    """
    return packed.tobytes().decode()


def _pack(arrays: Mapping[str, NDArray[np.generic]]) -> bytes:
    header = orjson.dumps([[name, array.dtype.str, array.shape] for name, array in arrays.items()])
    parts = [np.ascontiguousarray(array).tobytes() for array in arrays.values()]
    padded = [part + b"\0" * (-len(part) % _ALIGNMENT) for part in parts]
    padding = -(_PREFIX.size + len(header)) % _ALIGNMENT
    body = b"".join([header, b"\0" * padding, *padded])
    return _PREFIX.pack(_MARK, zlib.crc32(body), len(header), padding) + body


def _unpack(data: bytes) -> Arrays:
    mark, checksum, header_size, padding = _PREFIX.unpack_from(data)
    body = memoryview(data)[_PREFIX.size :]
    if mark != _MARK or zlib.crc32(body) != checksum:
        message = "the cache entry is damaged"
        raise ValueError(message)
    offset = _PREFIX.size + header_size + padding
    arrays: Arrays = {}
    for name, dtype, shape in orjson.loads(body[:header_size]):
        array = np.frombuffer(data, dtype, int(np.prod(shape)), offset).reshape(shape)
        arrays[name] = array
        offset += array.nbytes + -array.nbytes % _ALIGNMENT
    return arrays
