"""The trace log under kills, full disks and second writers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from skillctl.errors import InputError, LockedError
from skillctl.store.trace_log import TraceLog, peek_log

if TYPE_CHECKING:
    from pathlib import Path

LINE = b'{"trace_id":"a"}\n'


def append(path: Path, *traces: dict[str, object]) -> None:
    with TraceLog(str(path)) as log:
        for trace in traces:
            log.append(trace)


def test_each_run_appends_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    append(path, {"trace_id": "a"})
    append(path, {"trace_id": "é\u2028"})
    with TraceLog(str(path)) as log:
        assert [trace["trace_id"] for trace in log.read()] == ["a", "é\u2028"]


@pytest.mark.parametrize("size", range(len('{"trace_id":"bé"}\n'.encode()) + 1))
def test_a_line_torn_anywhere_is_cut_away_or_completed(tmp_path: Path, size: int) -> None:
    path = tmp_path / "t.jsonl"
    second = '{"trace_id":"bé"}\n'.encode()
    path.write_bytes(LINE + second[:size])
    append(path, {"trace_id": "c"})
    kept = [json.loads(line)["trace_id"] for line in path.read_bytes().splitlines()]
    assert kept == (["a", "bé", "c"] if size >= len(second) - 1 else ["a", "c"])


def test_a_torn_line_longer_than_a_block_is_cut_away(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(LINE + b'{"x": "' + b"y" * 200_000)
    append(path)
    assert path.read_bytes() == LINE


def test_a_file_of_something_else_is_not_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(LINE + b"dear diary\n")
    with TraceLog(str(path)) as log, pytest.raises(InputError, match=r"notes.txt:2: the line is no trace"):
        log.read()


def test_a_second_writer_is_refused_and_the_lock_ends_with_the_first(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with TraceLog(str(path)), pytest.raises(LockedError, match="another run"), TraceLog(str(path)):
        pass
    append(path, {"trace_id": "a"})


def test_gzip_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="compress it afterwards"):
        TraceLog(str(tmp_path / "t.jsonl.gz"))


def test_peeking_changes_nothing_and_leaves_a_torn_line_out(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    assert peek_log(str(path)) == []
    assert not path.exists()
    path.write_bytes(LINE + b'{"tor')
    assert peek_log(str(path)) == [{"trace_id": "a"}]
    assert path.read_bytes() == LINE + b'{"tor'
    assert peek_log("-") == []


FULL_DISK = """
import resource, signal, sys
from skillctl.store.trace_log import TraceLog
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
with TraceLog(sys.argv[1]) as log:
    for number in range(100):
        log.append({"trace_id": number, "text": "x" * 20})
"""


def test_a_full_disk_leaves_only_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=False)
    assert "OSError" in done.stderr
    assert "t.jsonl" in done.stderr
    lines = path.read_bytes().splitlines(keepends=True)
    assert lines
    assert all(line.endswith(b"\n") and json.loads(line) for line in lines)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(LINE)
    path.chmod(0o444)
    with pytest.raises(PermissionError), TraceLog(str(path)):
        pass
