"""Selections on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from skillctl.errors import InvalidHandbookError
from skillctl.model.selection import Candidate, Excluded, Selection
from skillctl.store.selections import list_selections, load_selection, save_selection

if TYPE_CHECKING:
    from pathlib import Path

CHOICE = Candidate(("a", "no"), 0.75, (0.5, 1.0), 4e-7, (1e-7, 5e-7))
SELECTION = Selection(
    orchestrator="openrouter/meta-llama/llama:free",
    cost_weight=2.5,
    rule="one-se",
    digest="blake2b:" + "0" * 32,
    queries=12,
    candidates=3,
    choice=CHOICE,
    front=(Candidate((), 0.5), CHOICE),
    excluded=(Excluded(("a",), "no answer within 60 s"),),
)


def test_a_selection_comes_back_as_it_was(tmp_path: Path) -> None:
    save_selection(SELECTION, tmp_path)
    assert load_selection(tmp_path, SELECTION.orchestrator) == SELECTION
    assert load_selection(tmp_path, "embedded") is None


def test_the_name_of_an_orchestrator_is_no_path(tmp_path: Path) -> None:
    (written,) = save_selection(SELECTION, tmp_path)
    assert written.parent == tmp_path / "selections"


def test_saving_again_changes_nothing(tmp_path: Path) -> None:
    assert save_selection(SELECTION, tmp_path)
    assert save_selection(SELECTION, tmp_path) == []


def test_comments_and_the_name_of_the_file_stay(tmp_path: Path) -> None:
    (path,) = save_selection(SELECTION, tmp_path)
    mine = path.with_name("mine.yaml")
    mine.write_text(path.read_text(encoding="utf-8").replace("rule:", "# by hand\nrule:"), encoding="utf-8")
    path.unlink()
    from dataclasses import replace

    assert save_selection(replace(SELECTION, cost_weight=1.0), tmp_path) == [mine]
    assert "# by hand\nrule: one-se" in mine.read_text(encoding="utf-8")
    assert [found.cost_weight for found in list_selections(tmp_path)] == [1.0]


def test_a_faulty_selection_is_refused_with_its_place(tmp_path: Path) -> None:
    (path,) = save_selection(SELECTION, tmp_path)
    path.write_text("orchestrator: x\nchoise: {skills: []}\n", encoding="utf-8")
    with pytest.raises(InvalidHandbookError) as caught:
        list_selections(tmp_path)
    assert any("choise" in problem for problem in caught.value.problems)
