"""The decompressed bytes of a file or of standard input, in bounded pieces."""

from __future__ import annotations

import sys
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STDIN = "-"
PIECE = 1 << 20  # bytes
_PACKED_PIECE = 1 << 15  # damage costs what was packed with it, so it is fed in small pieces
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS  # zlib's way to say: expect the header and the checksum of gzip


class Readable(Protocol):
    """Something that gives bytes."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes, none at the end."""
        ...


class _Watched:
    """A file that tells how much was read from it."""

    def __init__(self, file: Readable, on_read: Callable[[int], object]) -> None:
        self._file = file
        self._on_read = on_read

    def read(self, size: int, /) -> bytes:
        data = self._file.read(size)
        self._on_read(len(data))
        return data


@contextmanager
def open_binary(path: str) -> Iterator[BinaryIO]:
    """Open a file for reading, or standard input for ``-``."""
    if path == STDIN:
        yield sys.stdin.buffer
        return
    with open(path, "rb") as file:  # noqa: PTH123 - paths arrive as the user's text
        yield file


def read_pieces(
    path: str, on_fault: Callable[[str], None], on_read: Callable[[int], object] | None = None
) -> Iterator[bytes]:
    """Yield the content in pieces of at most ``PIECE`` bytes, unpacked where it starts like gzip.

    Args:
        path: A file, or ``-``.
        on_fault: Told in words when compressed data is damaged; what came before the damage was yielded.
        on_read: Told of the bytes read from the file, packed as they are, for a progress bar.
    """
    with open_binary(path) as opened:
        file: Readable = opened if on_read is None else _Watched(opened, on_read)
        head = file.read(_PACKED_PIECE)
        if head.startswith(_GZIP_MAGIC):
            yield from _join_small(_unpack(file, head, on_fault))
            return
        while head:
            yield head
            head = file.read(_PACKED_PIECE)


def _read(file: BinaryIO) -> bytes:
    return file.read(PIECE)


def _join_small(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Join pieces until they are about as long as pieces may be; whoever takes them works in batches."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        if size + len(piece) > PIECE:
            if held:
                yield b"".join(held)
            held, size = [], 0
        held.append(piece)
        size += len(piece)
    if held:
        yield b"".join(held)


def _unpack(file: Readable, data: bytes, on_fault: Callable[[str], None]) -> Iterator[bytes]:
    """Unpack one gzip member after the other; zero bytes after a member are padding."""
    while data:
        member = zlib.decompressobj(_GZIP_WINDOW)
        try:
            yield from _unpack_member(file, member, data)
        except zlib.error as error:
            on_fault(f"the gzip data is damaged ({error}); what came before was used")
            return
        if not member.eof:
            on_fault("the gzip data ends too early; what could be read was used")
            return
        data = _skip_padding(file, member.unused_data)
        if data and not data.startswith(_GZIP_MAGIC[: len(data)]):
            on_fault("something that is not gzip follows the gzip data; it was ignored")
            return


def _unpack_member(file: Readable, member: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    while data and not member.eof:
        piece = member.decompress(data, PIECE)
        if piece:
            yield piece
        data = member.unconsumed_tail or _read_on(file, member)


def _read_on(file: Readable, member: zlib._Decompress) -> bytes:
    return b"" if member.eof else file.read(_PACKED_PIECE)


def _skip_padding(file: Readable, data: bytes) -> bytes:
    data = data.lstrip(b"\0") or file.read(_PACKED_PIECE)
    while data and not data.strip(b"\0"):
        data = file.read(_PACKED_PIECE)
    return data.lstrip(b"\0")
