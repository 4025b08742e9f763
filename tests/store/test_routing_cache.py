from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from routing_handbooks import ANSWER, CHEAP, STRONG, make_agent, make_handbook

from skillctl.core.route.routing_table import RoutingTable, compile_table
from skillctl.errors import InputError, InvalidHandbookError
from skillctl.store import routing_cache
from skillctl.store.cache_dir import cache_root
from skillctl.store.handbook_dir import save_handbook
from skillctl.store.orchestrators import index_key
from skillctl.store.routing_cache import open_routing_table

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    save_handbook(make_handbook(CHEAP, STRONG, make_agent("unseen")), tmp_path / "h")
    return tmp_path / "h"


def let_the_clock_tick() -> None:
    time.sleep(0.05)


def assert_same(left: RoutingTable, right: RoutingTable) -> None:
    assert (left.default_mode, left.cost_weight, left.orchestrator) == (
        right.default_mode, right.cost_weight, right.orchestrator,
    )  # fmt: skip
    assert left.agents == right.agents
    assert left.modes.keys() == right.modes.keys()
    for mode, mine in left.modes.items():
        theirs = right.modes[mode]
        assert (mine.skills, mine.index_key) == (theirs.skills, theirs.index_key)
        for name in ("works", "alpha", "beta", "low", "high", "evidence", "cost"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))


def test_the_cached_table_is_the_compiled_one(root: Path) -> None:
    handbook = make_handbook(CHEAP, STRONG, make_agent("unseen"))
    compiled = compile_table(handbook, {ANSWER: index_key(handbook.skills[ANSWER])})
    assert_same(open_routing_table(root), compiled)
    assert_same(open_routing_table(root), compiled)


def test_a_warm_table_reads_no_yaml(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_routing_table(root)
    let_the_clock_tick()
    open_routing_table(root)
    monkeypatch.setattr(routing_cache, "_compile", lambda _: pytest.fail("the handbook was compiled again"))
    monkeypatch.setattr(routing_cache, "_content_key", lambda *_: pytest.fail("the files were read again"))
    assert open_routing_table(root).default_mode == ANSWER


def test_a_file_that_changed_within_a_tick_with_its_size_and_time_kept_is_seen(root: Path) -> None:
    path = root / "agents" / "strong.yaml"
    before = open_routing_table(root)
    content, times = path.read_text(), path.stat()
    changed = content.replace("mean_usd: 0.01", "mean_usd: 0.02")
    assert len(changed) == len(content)
    assert changed != content
    path.write_text(changed)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    after = open_routing_table(root)
    assert before.modes[ANSWER].cost[1] == 0.01
    assert after.modes[ANSWER].cost[1] == 0.02


def test_touched_files_with_the_same_content_use_the_same_entry(root: Path) -> None:
    open_routing_table(root)
    for path in root.rglob("*.yaml"):
        path.touch()
    open_routing_table(root)
    assert len(list((cache_root() / "tables").glob("*.arrays"))) == 1


@pytest.mark.parametrize("pattern", ["*.arrays", "*.json"])
@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"skillctl torn"])
def test_a_damaged_entry_is_rebuilt(root: Path, pattern: str, content: bytes) -> None:
    before = open_routing_table(root)
    let_the_clock_tick()
    open_routing_table(root)
    (entry,) = (cache_root() / "tables").glob(pattern)
    entry.write_bytes(content)
    assert_same(open_routing_table(root), before)


def test_an_added_agent_is_seen_and_a_stray_file_refused(root: Path) -> None:
    open_routing_table(root)
    let_the_clock_tick()
    save_handbook(make_handbook(CHEAP, STRONG, make_agent("unseen"), make_agent("new")), root)
    assert [agent.id for agent in open_routing_table(root).agents] == ["cheap", "new", "strong", "unseen"]
    (root / "agents" / "notes.txt").write_text("stray")
    with pytest.raises(InvalidHandbookError):
        open_routing_table(root)


def test_an_invalid_handbook_is_not_cached(root: Path) -> None:
    path = root / "modes" / "answer.yaml"
    path.write_text(path.read_text() + "unknown_key: 1\n")
    for _ in range(2):
        with pytest.raises(InvalidHandbookError):
            open_routing_table(root)
    assert not list(cache_root().glob("tables/*"))


def test_a_cache_that_cannot_be_written_costs_time_only(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("SKILLCTL_CACHE_DIR", str(tmp_path / "file"))
    assert open_routing_table(root).default_mode == ANSWER


def test_a_missing_handbook_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="skillctl init"):
        open_routing_table(tmp_path / "none")
