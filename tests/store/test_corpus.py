from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.errors import InputError
from skillctl.store.cache_dir import cache_root
from skillctl.store.corpus import Corpus, Passage, build_expression

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "corpus"
    (root / "deep").mkdir(parents=True)
    (root / "tower.md").write_text("# The Tower\n\nIt is 30 metres\nhigh.\n\nIts keeper is Ada.\n", encoding="utf-8")
    (root / "deep" / "blue_bay.txt").write_text("A bay with seven boats.", encoding="utf-8")
    lines = [{"title": "Ferry", "text": "A ticket costs 11 crowns."}, {"id": "x", "text": "Größe zählt."}]
    (root / "more.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (root / "picture.png").write_bytes(b"\0")
    return root


def test_the_passage_that_fits_best_comes_first(folder: Path) -> None:
    corpus = Corpus(folder)
    assert corpus.search("Who is the keeper of the tower?", 1) == [Passage("The Tower", "Its keeper is Ada.")]
    assert corpus.search("How much is a ferry ticket?", 1)[0].text == "A ticket costs 11 crowns."
    assert corpus.search("boat", 3) == [Passage("blue bay", "A bay with seven boats.")]
    assert corpus.search("größe", 3)[0].title == "x"


def test_nothing_found_is_an_empty_list(folder: Path) -> None:
    assert Corpus(folder).search("zeppelin", 3) == []
    assert Corpus(folder).search("", 3) == []
    assert Corpus(folder).search("?!", 3) == []


@given(st.text())
def test_no_text_is_taken_for_an_operator(text: str) -> None:
    expression = build_expression(text)
    assert expression.replace(" OR ", " ").count('"') % 2 == 0


@pytest.mark.parametrize("terms", ['"', "NEAR(", "a AND NOT", "title:x", "x*", "-", "tower) OR (", "\0"])
def test_strange_terms_are_searched_like_any_other(folder: Path, terms: str) -> None:
    Corpus(folder).search(terms, 3)


def test_the_index_is_built_once_and_again_when_it_is_damaged_or_the_files_change(folder: Path) -> None:
    Corpus(folder)
    (index,) = (cache_root() / "corpora").iterdir()
    before = index.stat().st_mtime_ns
    Corpus(folder)
    assert index.stat().st_mtime_ns == before
    index.write_bytes(b"damaged")
    assert Corpus(folder).search("boats", 1)
    (folder / "new.txt").write_text("zeppelin", encoding="utf-8")
    assert Corpus(folder).search("zeppelin", 1)
    assert len(list((cache_root() / "corpora").iterdir())) == 2


def test_several_threads_may_search_at_once(folder: Path) -> None:
    corpus, found = Corpus(folder), []
    threads = [threading.Thread(target=lambda: found.append(corpus.search("keeper", 1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[Passage("The Tower", "Its keeper is Ada.")]] * 8


def test_a_corpus_that_is_missing_empty_or_faulty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such corpus"):
        Corpus(tmp_path / "none")
    with pytest.raises(InputError, match="holds no documents"):
        Corpus(tmp_path)
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"title": "no text"}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.jsonl:1.*has a `text`"):
        Corpus(bad)
