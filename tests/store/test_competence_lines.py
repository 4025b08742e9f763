from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
import strategies as handmade
from hypothesis import HealthCheck, given, settings

from skillctl.errors import InvalidHandbookError
from skillctl.store.handbook_dir import find_problems, load_handbook, save_handbook
from skillctl.store.handbook_revision import load_pair, load_snapshot, snapshot_folder

if TYPE_CHECKING:
    from pathlib import Path

    from skillctl.model.handbook import Handbook

AGENT = """agent: a
modes: [m]
profiles:
  m:
    runs: 2
    competence:
      m: {alpha: 2.0, beta: 2.0, successes: 1.0, failures: 1.0}
      s.one: {alpha: 2.5, beta: 1.5e+00, successes: 1.5, failures: 0.5}
"""


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(handmade.handbooks())
def test_the_fast_lane_reads_what_the_strict_reader_reads(
    tmp_path_factory: pytest.TempPathFactory, handbook: Handbook
) -> None:
    root = tmp_path_factory.mktemp("h")
    save_handbook(handbook, root)
    snapshot = snapshot_folder(root)
    assert load_snapshot(snapshot) == load_handbook(root)
    assert load_pair(snapshot, snapshot, is_whole=True).after == handbook
    shutil.rmtree(root)


def _write(root: Path, agent: str) -> Path:
    for name, text in {
        "handbook.yaml": "schema_version: 1\nname: h\n",
        "modes/m.yaml": "mode: m\n",
        "skills/m.yaml": "mode: m\nskills:\n- {id: s.one, description: One.}\n",
        "agents/a.yaml": agent,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    "agent",
    [
        AGENT,
        AGENT.replace("}\n", "}  # why\n", 1),
        AGENT.replace("beta: 2.0", "beta: 2", 1),
        AGENT + "    signals:\n    - |\n      competence:\n",
        AGENT + "x-note: |\n    competence:\n      m: {alpha: 9.0, beta: 9.0, successes: 1.0, failures: 1.0}\n",
        AGENT + "x-note: block-of-competences-0\n",
    ],
    ids=["canonical", "comment", "integer", "text", "look-alike", "mark"],
)
def test_hand_written_files_read_the_same(agent: str, tmp_path: Path) -> None:
    root = _write(tmp_path / "h", agent)
    assert load_snapshot(snapshot_folder(root)) == load_handbook(root)


@pytest.mark.parametrize(
    "agent",
    [
        AGENT + "      m: {alpha: 2.0, beta: 2.0, successes: 1.0, failures: 1.0}\n",
        AGENT.replace("s.one", "s.two"),
        AGENT.replace("alpha: 2.5", "alpha: 1.0e+999"),
        AGENT + "      broken\n",
    ],
    ids=["twice", "dangling", "infinite", "no mapping"],
)
def test_faults_are_reported_as_the_strict_reader_does(agent: str, tmp_path: Path) -> None:
    root = _write(tmp_path / "h", agent)
    with pytest.raises(InvalidHandbookError) as caught:
        load_snapshot(snapshot_folder(root))
    assert caught.value.problems == tuple(str(problem) for problem in find_problems(root))
