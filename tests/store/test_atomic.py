from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from skillctl.store.atomic import finish_writes, write_atomic, write_together

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_atomic(path, b"one")
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_mode_and_symbolic_link_are_kept(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"one")
    target.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to("target")
    write_atomic(link, b"two")
    assert link.is_symlink()
    assert target.read_bytes() == b"two"
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_new_file_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomic(tmp_path / "a", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_nothing_changes_when_one_of_several_cannot_be_written(tmp_path: Path) -> None:
    good = tmp_path / "good"
    good.write_bytes(b"old")
    with pytest.raises(FileNotFoundError):
        write_together({good: b"new", tmp_path / "missing" / "bad": b"new"}, [good], journal=tmp_path / "journal")
    assert good.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["good"]


def test_an_interrupted_write_of_several_files_is_completed(tmp_path: Path) -> None:
    names = ("a", "b", "c", "gone")
    for name in names:
        (tmp_path / name).write_bytes(b"old")
    journal = tmp_path / "journal"
    code = (
        "import os, sys; from pathlib import Path; from skillctl.store import atomic\n"
        "root = Path(sys.argv[1])\n"
        "os.fsync, count = lambda _: None, 0\n"
        "def replace(self, target, original=Path.replace):\n"
        "    global count\n"
        "    count += 1\n"
        "    if count == 3: os._exit(9)\n"  # the journal, then a, then no more
        "    return original(self, target)\n"
        "Path.replace = replace\n"
        "files = {root / name: b'new' for name in 'abc'}\n"
        "atomic.write_together(files, [root / 'gone'], journal=root / 'journal')\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 9
    assert [(tmp_path / name).read_bytes() for name in names] == [b"new", b"old", b"old", b"old"]
    finish_writes(journal)
    assert [(tmp_path / name).read_bytes() for name in "abc"] == [b"new"] * 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]


def test_a_journal_that_is_none_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "journal").write_bytes(b"[]")
    finish_writes(tmp_path / "journal")
    finish_writes(tmp_path / "journal")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_old_file_and_names_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            write_atomic(path, b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert caught.value.errno == errno.EFBIG
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"


def test_a_kill_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    code = (
        "import sys; from pathlib import Path; from skillctl.store.atomic import write_atomic\n"
        "n = 0\n"
        "while True:\n"
        "    write_atomic(Path(sys.argv[1]), str(n % 10).encode() * 300_000); n += 1\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(path)])
    deadline = time.monotonic() + 20
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    writer.kill()
    writer.wait()
    data = path.read_bytes()
    assert len(data) == 300_000
    assert len(set(data)) == 1
