from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from routing_handbooks import ANSWER, SKILLS, make_handbook

from skillctl.model.handbook import Indicator, ModeId, OrchestratorSettings
from skillctl.store.cache_dir import cache_root
from skillctl.store.orchestrators import index_key, open_cached_orchestrator, open_orchestrator

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ["Solve 3x = 12 for x", "a poem about a triangle", "", "nothing of the kind"]


def weigh(**changes: object) -> list[list[float]]:
    handbook = replace(make_handbook(), **changes)  # type: ignore[arg-type]
    return [part.tolist() for part in open_orchestrator(handbook, ANSWER).weigh(TEXTS)]


def entries() -> list[Path]:
    return sorted((cache_root() / "skills").iterdir())


def test_a_cached_index_gives_the_same_weights() -> None:
    built = weigh()
    assert len(entries()) == 1
    assert open_cached_orchestrator(index_key(SKILLS), OrchestratorSettings()) is not None
    assert weigh() == built


@pytest.mark.parametrize("keep", [0, 1, 0.5, 0.99])
def test_a_damaged_cache_is_rebuilt(keep: float) -> None:
    built = weigh()
    (entry,) = entries()
    content = entry.read_bytes()
    entry.write_bytes(content[: int(len(content) * keep)] if keep < 1 else b"\0" * len(content))
    assert weigh() == built
    assert entry.read_bytes() == content


def test_the_cache_may_be_deleted_or_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = weigh()
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("SKILLCTL_CACHE_DIR", str(tmp_path / "file"))
    assert weigh() == built


def test_the_key_follows_every_text_of_the_skills() -> None:
    math = SKILLS[0]
    changed = [
        replace(math, description="Other."),
        replace(math, indicators=(Indicator("other"),)),
        replace(math, indicators=(Indicator("equation", is_regex=True),)),
        replace(math, examples=("other",)),
    ]
    keys = {index_key(SKILLS), *(index_key((skill, *SKILLS[1:])) for skill in changed)}
    assert len(keys) == 5
    assert index_key((replace(math, extra={"x-note": 1}), *SKILLS[1:])) == index_key(SKILLS)


def test_settings_are_not_cached() -> None:
    handbook = make_handbook()
    sharp = replace(handbook.settings, orchestrator=OrchestratorSettings(min_similarity=9.0))
    weigh()
    assert weigh(settings=sharp)[1] == [0, 0, 0, 0]


def test_several_may_build_the_same_index_at_once() -> None:
    results: list[list[list[float]]] = []
    threads = [threading.Thread(target=lambda: results.append(weigh())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all(result == results[0] for result in results)
    assert len(entries()) == 1


def test_a_mode_without_skills_needs_nothing_but_its_root() -> None:
    weights = open_orchestrator(make_handbook(), ModeId("elsewhere")).weigh(["a", "b"])
    assert weights.skills.tolist() == [0, 0]
