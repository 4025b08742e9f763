from __future__ import annotations

import gzip
import io
import json
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.store.byte_stream import PIECE
from skillctl.store.jsonl import parse_object, parse_objects, read_batches, read_lines

if TYPE_CHECKING:
    from pathlib import Path

    from skillctl.model.problem import Problem


def _read(path: Path, **options: int) -> tuple[list[tuple[int, bytes]], list[Problem]]:
    problems: list[Problem] = []
    return list(read_lines(str(path), problems.append, **options)), problems


def _write(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        pytest.param(b"", [], id="an empty file"),
        pytest.param(b'{"a":1}', [(1, b'{"a":1}')], id="no final newline"),
        pytest.param(b"\xef\xbb\xbf{}\n", [(1, b"{}")], id="a byte-order mark"),
        pytest.param(b"\xef\xbb\xbf\n{}\n", [(2, b"{}")], id="a mark alone on its line"),
        pytest.param(b"{}\n\n \t\r\n{}\n", [(1, b"{}"), (4, b"{}")], id="blank lines keep the numbers"),
        pytest.param("{\u2028\u2029\x85}\n".encode(), [(1, "{\u2028\u2029\x85}".encode())], id="unicode separators"),
    ],
)
def test_lines_end_at_line_feeds_only(tmp_path: Path, data: bytes, lines: list[tuple[int, bytes]]) -> None:
    assert _read(_write(tmp_path, data)) == (lines, [])


def test_gzip_is_told_by_its_first_bytes_and_may_have_several_members(tmp_path: Path) -> None:
    path = _write(tmp_path, gzip.compress(b"1\n2") + gzip.compress(b"3\n") + b"\0" * 512 + gzip.compress(b"4\n"))
    assert _read(path) == ([(1, b"1"), (2, b"23"), (3, b"4")], [])


def test_truncated_gzip_gives_what_could_be_read_and_a_problem(tmp_path: Path) -> None:
    whole = b"".join(b"%d\n" % (number * 7919) for number in range(50_000))
    lines, problems = _read(_write(tmp_path, gzip.compress(whole)[:-4000]))
    assert 1000 < len(lines) < 50_000
    assert b"\n".join(raw for _, raw in lines) == whole[: sum(len(raw) + 1 for _, raw in lines) - 1]
    assert "ends too early" in problems[0].message


def test_damaged_gzip_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(b"".join(b"%d\n" % (number * 7919) for number in range(50_000))))
    data[len(data) // 2] ^= 0xFF
    lines, problems = _read(_write(tmp_path, bytes(data)))
    assert lines
    assert "damaged" in problems[0].message


def test_what_follows_gzip_without_being_gzip_is_reported(tmp_path: Path) -> None:
    lines, problems = _read(_write(tmp_path, gzip.compress(b"1\n") + b"junk"))
    assert lines == [(1, b"1")]
    assert "not gzip" in problems[0].message


def test_standard_input_may_be_gzip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"1\n2\n"))))
    assert list(read_lines("-", pytest.fail)) == [(1, b"1"), (2, b"2")]


def test_a_line_beyond_the_limit_is_a_problem_and_the_rest_is_read(tmp_path: Path) -> None:
    path = _write(tmp_path, b"1\n" + b"x" * (3 * PIECE) + b"\n2\n" + b"y" * (2 * PIECE))
    lines, problems = _read(path, max_line=PIECE // 2)
    assert lines == [(1, b"1"), (3, b"2")]
    assert [(problem.file, problem.line) for problem in problems] == [(str(path), 2), (str(path), 4)]


@given(
    content=st.lists(st.sampled_from([b"a", b"bb\n", b"\n", b"c" * 40, b"\r\n"]), max_size=30).map(b"".join),
    boundary=st.integers(0, 60),
)
def test_batches_give_every_byte_back_and_one_starts_at_the_boundary(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, boundary: int
) -> None:
    path = _write(tmp_path_factory.getbasetemp(), content)
    boundary = content.rfind(b"\n", 0, boundary) + 1
    batches = list(read_batches(str(path), pytest.fail, boundary=boundary))
    assert b"".join(batch.data for batch in batches) == content
    assert not any(batch.offset < boundary < batch.offset + len(batch.data) for batch in batches)
    lines = [line for batch in batches for line in batch.lines]
    assert b"\n".join(lines) == content.removesuffix(b"\n")
    assert [batch.is_torn for batch in batches if batch.is_torn] == [True] * bool(content and content[-1:] != b"\n")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"a":"\xff"}', "invalid UTF-8 at byte 7"),
        (b'{"query":"caf\xc3', "invalid UTF-8"),
        (b'{"a":"\xed\xa0\x80"}', "invalid UTF-8"),
        (b'{"a":NaN}', "NaN and Infinity"),
        (b'{"a":-Infinity}', "NaN and Infinity"),
        (b'{"a":1e400}', "too large"),
        (b'{"a":' + b"1" * 5000 + b"}", "too large"),
        (b'{"a":"\\ud800"}', "surrogate"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"id":' + b"[" * 300 + b"]" * 300 + b"}", "nested too deeply"),
        (b'{"a":{"b":' + b"[" * 300 + b"]" * 300 + b"}}", "nested too deeply"),
        (b'{"a":1,"a":2,"b":"\\u0022:"}', "'a' occurs twice"),
        (b'{"a":1,"a":"\\"\\u003a"}', "'a' occurs twice"),
        (b'{"a":1,"a":2}', "'a' occurs twice"),
        (b'{"a" : 1, "a": 2}', "'a' occurs twice"),
        (b'{"a"\t:1,"a":"\\":"}', "'a' occurs twice"),
        (b'{"a":1,"\\u0061":2}', "'a' occurs twice"),
        (b'{"a":{"b":[{"c":1,"c":1}]}}', "'c' occurs twice"),
        (b"[1]", "found a list"),
        (b"null", "found null"),
        (b'"x"', "found a string"),
        (b'{"a":1}{"b":2}', "not valid JSON"),
        (b'{"a":', "not valid JSON"),
    ],
)
def test_a_line_that_is_no_strict_object_is_refused_with_its_reason(raw: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_object(raw)
    assert parse_objects([b"{}", raw, b'{"x":{"y":[{"z":1}]}}']) is None


@pytest.mark.parametrize(
    "raw",
    [
        b'{"answer":"{\\"a\\":1,\\"a\\":2}"}',
        b'{"a":{"b":1},"c":[{"b":1},[{"b":2}]]}',
        b'{"a" : "x :y"}',
        b'{"deep":' + b"[" * 250 + b"]" * 250 + b',"x":{"y":1}}',
        b'{"big": 123456789012345678901234567890, "t" : 1}',
        b'{"a":1}\r',
    ],
)
def test_text_that_looks_like_keys_and_deep_nesting_are_content(raw: bytes) -> None:
    assert parse_object(raw)


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(value=st.dictionaries(st.text(max_size=5), _values, max_size=4), spaced=st.booleans(), ascii_only=st.booleans())
def test_every_object_that_json_writes_is_read_alike(
    value: dict[str, object], *, spaced: bool, ascii_only: bool
) -> None:
    separators = (" , ", " : ") if spaced else (",", ":")
    assert parse_object(json.dumps(value, ensure_ascii=ascii_only, separators=separators).encode()) == value


@given(st.lists(st.dictionaries(st.text("ab", max_size=2), _values, max_size=4), max_size=4))
def test_many_objects_are_read_at_once(values: list[dict[str, object]]) -> None:
    assert parse_objects([json.dumps(value, ensure_ascii=False).encode() for value in values]) == values
