"""JSON lines as people really write them: plain or gzip'd files and standard input, read in constant memory.

Lines end at a line feed and nowhere else: U+2028, U+2029 and U+0085 are content.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import orjson

from skillctl.model.problem import Problem
from skillctl.store.byte_stream import read_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MAX_LINE = 64 << 20  # bytes; a longer line is a fault of the file, not a record
_MAX_DEPTH = 250  # what is read can be written again
_BOM = b"\xef\xbb\xbf"
# A key whose colon does not follow at once; the quick test for duplicate keys does not see it.
_SPACED_KEY = re.compile(rb'"[ \t\r]+:')
_ESCAPED = re.compile(rb"\\u00(?:22|3[aA])")  # a quote or a colon that the test does not see either


class LineBatch(NamedTuple):
    """Some complete lines of a file.

    Attributes:
        first_line: 1-based number of the first line.
        offset: Decompressed bytes before the batch.
        data: The bytes of the batch with their line feeds.
        lines: Its lines without line feeds; empty where ``data`` is part of a line that is too long.
        is_torn: Whether the batch is a last line that no line feed ends.
    """

    first_line: int
    offset: int
    data: bytes
    lines: list[bytes]
    is_torn: bool = False


def read_batches(
    path: str,
    on_problem: Callable[[Problem], None],
    *,
    boundary: int = 0,
    max_line: int = MAX_LINE,
    on_read: Callable[[int], object] | None = None,
) -> Iterator[LineBatch]:
    """Yield a file's lines in batches of about a megabyte.

    Args:
        path: A ``.jsonl`` or gzip'd file (told by its first bytes), or ``-`` for standard input.
        on_problem: Told of damaged gzip data and of lines longer than ``max_line``.
        boundary: A position, in decompressed bytes and at a line's end, where one batch ends and another starts.
        max_line: Bytes of the longest line that is read.
        on_read: Told of the bytes read from the file, for a progress bar.
    """
    splitter = _Splitter(path, on_problem, boundary, max_line)

    def report(message: str) -> None:
        on_problem(Problem(path, 0, "$", message))

    for piece in read_pieces(path, report, on_read):
        yield from splitter.feed(piece)
    yield from splitter.finish()


class _Splitter:
    """Cuts pieces into batches of lines and knows where in the file it is."""

    def __init__(self, path: str, on_problem: Callable[[Problem], None], boundary: int, max_line: int) -> None:
        self._path = path
        self._on_problem = on_problem
        self._boundary = boundary
        self._max_line = max_line
        self._line = 1
        self._offset = 0
        self._rest: list[bytes] = []  # pieces of a line that has not ended yet
        self._rest_size = 0
        self._is_skipping = False  # within a line that is too long

    def feed(self, piece: bytes) -> Iterator[LineBatch]:
        """Yield the batches that ``piece`` completes."""
        distance = self._boundary - self._offset - self._rest_size
        if 0 < distance < len(piece):
            yield from self._feed(piece[:distance])
            piece = piece[distance:]
        yield from self._feed(piece)

    def finish(self) -> Iterator[LineBatch]:
        """Yield the last line where no line feed ends it."""
        rest = b"".join(self._rest)
        if rest:
            yield LineBatch(self._line, self._offset, rest, [rest], is_torn=True)

    def _feed(self, piece: bytes) -> Iterator[LineBatch]:
        end = piece.rfind(b"\n") + 1
        if self._is_skipping and end:
            first = piece.index(b"\n") + 1
            yield self._drop(piece[:first])
            self._is_skipping = False
            self._line += 1
            yield from self._feed(piece[first:])
            return
        if end:
            data = b"".join([*self._rest, piece[:end]])
            self._rest, self._rest_size = [], 0
            yield self._take(data)
        yield from self._keep(piece[end:])

    def _keep(self, rest: bytes) -> Iterator[LineBatch]:
        if self._is_skipping:
            yield self._drop(rest)
            return
        if rest:
            self._rest.append(rest)
            self._rest_size += len(rest)
        if self._rest_size > self._max_line:
            message = f"the line is longer than {self._max_line} bytes; it was ignored"
            self._on_problem(Problem(self._path, self._line, "$", message))
            self._is_skipping = True
            rest = b"".join(self._rest)
            self._rest, self._rest_size = [], 0
            yield self._drop(rest)

    def _take(self, data: bytes) -> LineBatch:
        lines = data.split(b"\n")
        lines.pop()
        batch = LineBatch(self._line, self._offset, data, lines)
        self._line += len(lines)
        self._offset += len(data)
        return batch

    def _drop(self, data: bytes) -> LineBatch:
        batch = LineBatch(self._line, self._offset, data, [])
        self._offset += len(data)
        return batch


def read_lines(
    path: str, on_problem: Callable[[Problem], None], *, max_line: int = MAX_LINE
) -> Iterator[tuple[int, bytes]]:
    """Yield ``(line number, bytes)`` for every line that is not blank, without its line end.

    Args:
        path: A ``.jsonl`` or gzip'd file, or ``-`` for standard input.
        on_problem: Told of damaged gzip data and of lines that are too long.
        max_line: Bytes of the longest line that is read.
    """
    for numbers, lines in read_runs(path, on_problem, max_line=max_line):
        yield from zip(numbers, lines, strict=True)


def read_runs(
    path: str, on_problem: Callable[[Problem], None], *, max_line: int = MAX_LINE
) -> Iterator[tuple[Sequence[int], list[bytes]]]:
    """Yield what `read_lines` does, many lines at a time: their numbers, and their bytes."""
    for batch in read_batches(path, on_problem, max_line=max_line):
        numbers: Sequence[int] = range(batch.first_line, batch.first_line + len(batch.lines))
        lines = batch.lines
        if batch.first_line == 1 or not all(map(bytes.strip, lines)):
            kept = [(number, strip_mark(raw, number)) for number, raw in zip(numbers, lines, strict=True)]
            kept = [(number, raw) for number, raw in kept if raw and not raw.isspace()]
            numbers, lines = [number for number, _ in kept], [raw for _, raw in kept]
        yield numbers, lines


def strip_mark(raw: bytes, number: int) -> bytes:
    """Return the line without the byte-order mark that a first line may carry."""
    return raw.removeprefix(_BOM) if number == 1 else raw


def parse_object(raw: bytes) -> dict[str, Any]:
    """Return the JSON object on one line.

    Raises:
        ValueError: In words, if the line is no strict JSON object: invalid UTF-8, NaN, Infinity or a number beyond
            a double, a lone surrogate, nesting beyond 250 levels, a key twice, something other than an object.
    """
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        _refuse(raw, error)
    if type(value) is not dict:
        message = f"expected a JSON object, found {_kind(value)}"
        raise ValueError(message)
    # Each key leaves a `":`, so as many of them as the object has keys mean that none was dropped as a duplicate.
    if raw.count(b'":') != len(value) or raw.count(b"[") > _MAX_DEPTH or _SPACED_KEY.search(raw):
        _look_closer(raw, value)
    return value


def parse_objects(lines: Sequence[bytes]) -> list[dict[str, Any]] | None:
    """Return the JSON objects on many lines, or ``None`` where `parse_object` has to look at each line.

    What `parse_object` counts in one line is counted over all of them at once, in half of the time: no line has
    fewer of `":` than its objects have keys, so where the sums are equal, no line has a key twice.
    """
    try:
        values = list(map(orjson.loads, lines))
    except orjson.JSONDecodeError:
        return None
    data = b"\n".join(lines)
    if set(map(type, values)) - {dict} or _is_deep(data, lines):
        return None
    keys = _count_keys(data)
    inner = [value for fields in values for value in fields.values() if type(value) is dict]
    is_sound = keys == sum(map(len, values)) + sum(map(len, inner)) or _keeps_keys(data, keys, values)
    return values if is_sound else None


def _count_keys(data: bytes) -> int:
    """Return how many `":` there are, or -1 where a key's colon does not follow at once.

    By what stands before each colon; to search the bytes for both takes eight times as long.
    """
    import numpy as np  # not needed where single lines are read

    codes = np.frombuffer(data, np.uint8)
    before = codes[np.flatnonzero(codes == ord(":")) - 1]
    if (before <= ord(" ")).any() and _SPACED_KEY.search(data):
        return -1
    return int(np.count_nonzero(before == ord('"')))


def _is_deep(data: bytes, lines: Sequence[bytes]) -> bool:
    return data.count(b"[") > _MAX_DEPTH and any(line.count(b"[") > _MAX_DEPTH for line in lines)


def _keeps_keys(data: bytes, keys: int, values: object) -> bool:
    try:
        written = orjson.dumps(values)
    except TypeError:  # 254 levels are its limit
        return False
    # Within strings a `":` has a backslash before it, in the line and when written again, unless it is escaped.
    return keys == written.count(b'":') and not _ESCAPED.search(data)


def _look_closer(raw: bytes, value: dict[str, Any]) -> None:
    """Refuse duplicate keys and deep nesting, by the object written again or else by reading the line slowly."""
    try:
        written = orjson.dumps(value)
    except TypeError as error:  # 254 levels are its limit
        message = "the JSON is nested too deeply"
        raise ValueError(message) from error
    # Within strings a `":` has a backslash before it, in the line and when written again, unless it is escaped.
    is_plain = not _ESCAPED.search(raw) and not _SPACED_KEY.search(raw)
    if is_plain and raw.count(b'":') == written.count(b'":'):
        return
    try:
        json.loads(raw, object_pairs_hook=_build_without_duplicates, parse_int=_ignore_number)
    except RecursionError as error:
        message = "the JSON is nested too deeply"
        raise ValueError(message) from error


def _ignore_number(_: str) -> None:
    """Stand for an integer: its value was read already, and Python refuses very long ones."""


def _build_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        message = f"the key {twice!r} occurs twice"
        raise ValueError(message)
    return built


def _refuse(raw: bytes, error: orjson.JSONDecodeError) -> NoReturn:
    """Raise the fault in the reader's words rather than the parser's."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        message = f"invalid UTF-8 at byte {fault.start + 1} of the line"
        raise ValueError(message) from error
    reason = error.msg.partition(": line ")[0]
    place = f"column {error.pos + 1}"
    if raw[error.pos : error.pos + 9].lstrip(b"-").startswith((b"NaN", b"Infinity", b"nan", b"inf")):
        reason = "NaN and Infinity are no JSON; write null"
    elif "infinity" in reason:
        reason = "a number is too large"
    elif "surrogate" in reason:
        reason = "a \\u escape is half of a surrogate pair"
    elif "depth limit" in reason:
        reason = "the JSON is nested too deeply"
    message = f"not valid JSON: {reason} ({place})"
    raise ValueError(message) from error


def _kind(value: object) -> str:
    names = {list: "a list", str: "a string", int: "a number", float: "a number", bool: "a boolean"}
    return names.get(type(value), "null")
