from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from skillctl.errors import LockedError
from skillctl.model.handbook import Handbook
from skillctl.store.cache_dir import cache_root
from skillctl.store.handbook_dir import load_handbook, save_handbook
from skillctl.store.locking import handbook_lock, journal_path

HOLD = (
    "import sys, time; from pathlib import Path; from skillctl.store.locking import handbook_lock\n"
    "with handbook_lock(Path(sys.argv[1])):\n"
    "    print('held', flush=True); sys.stdin.read()\n"
)
ADD_AGENT = (
    "import sys; from dataclasses import replace; from pathlib import Path\n"
    "from skillctl.model.handbook import Agent\n"
    "from skillctl.store.handbook_dir import handbook_lock, load_handbook, save_handbook\n"
    "root = Path(sys.argv[1])\n"
    "for n in range(5):\n"
    "    with handbook_lock(root):\n"
    "        h = load_handbook(root); name = f'{sys.argv[2]}-{n}'\n"
    "        save_handbook(replace(h, agents={**h.agents, name: Agent(name)}), root)\n"
)


def test_the_second_writer_waits_and_then_says_why_it_gave_up(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ,
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    with pytest.raises(LockedError, match="another skillctl command is writing"), handbook_lock(tmp_path, wait_s=0.1):
        pass
    holder.communicate()
    with handbook_lock(tmp_path, wait_s=0.1):
        pass


def test_two_writers_lose_no_update(tmp_path: Path) -> None:
    root = tmp_path / "h"
    save_handbook(Handbook("h"), root)
    writers = [subprocess.Popen([sys.executable, "-c", ADD_AGENT, str(root), name]) for name in ("a", "b")]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert len(load_handbook(root).agents) == 10


def test_a_command_that_holds_the_lock_can_save(tmp_path: Path) -> None:
    root = tmp_path / "h"
    start = time.monotonic()
    with handbook_lock(root):
        save_handbook(replace(Handbook("h"), description="d"), root)
    assert time.monotonic() - start < 5
    assert load_handbook(root).description == "d"


def test_the_lock_is_outside_the_handbook(tmp_path: Path) -> None:
    with handbook_lock(tmp_path):
        assert not list(tmp_path.iterdir())
    assert list((cache_root() / "locks").iterdir())


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", "/home/h")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_root() == Path("/home/h/.cache/skillctl")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_root() == Path("/x/skillctl")
    monkeypatch.setenv("SKILLCTL_CACHE_DIR", str(tmp_path))
    assert cache_root() == tmp_path


def test_reading_completes_a_save_that_was_killed(tmp_path: Path) -> None:
    root = tmp_path / "h"
    save_handbook(Handbook("h"), root)
    ready = root / ".handbook.yaml.x.skillctl-tmp"
    ready.write_bytes((root / "handbook.yaml").read_bytes().replace(b"name: h", b"name: new"))
    journal_path(root).write_text(json.dumps({"swaps": [[str(ready), str(root / "handbook.yaml")]], "removals": []}))
    assert load_handbook(root).name == "new"
    assert not ready.exists()
    assert not journal_path(root).exists()


def test_saving_clears_what_a_killed_save_left_behind(tmp_path: Path) -> None:
    root = tmp_path / "h"
    save_handbook(Handbook("h"), root)
    leftover = root / ".handbook.yaml.x.skillctl-tmp"
    leftover.touch()
    save_handbook(Handbook("h"), root)
    assert not leftover.exists()
