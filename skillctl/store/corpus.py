"""A folder of documents, searched by full text with SQLite's FTS5; the index lives in the cache, keyed by content."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from skillctl.errors import InputError
from skillctl.store.cache_dir import cache_root
from skillctl.store.jsonl import parse_object, read_lines

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES = (".txt", ".md", ".jsonl")
_FORMAT = "1"  # to be raised whenever the same files give another index
_PASSAGE_CHARS = 1_200
_TERMS = 32
_WORD = re.compile(r"\w+")
# Words that stand in most questions and say nothing about what is asked.
_STOP_WORDS = frozenset(
    _WORD.findall(
        "a about an and are as at be been by can did do does for from had has have how i if in into is it its many me "
        "much name of on or please question should tell than that the their them then there these they this to was "
        "were what when where which who whom whose why will with would you your answer give only"
    )
)


class Passage(NamedTuple):
    """A part of a document."""

    title: str
    text: str


class Corpus:
    """Searches documents; used from several threads at once.

    Args:
        path: A folder of .txt and .md files, whose paragraphs are the passages, and of .jsonl files with one
            ``{"title": …, "text": …}`` a line; or one such file.
    """

    def __init__(self, path: Path) -> None:
        files = _list_files(path)
        digest = blake2b(_FORMAT.encode(), digest_size=16)
        for file in files:
            digest.update(f"\0{file.name}\0".encode("utf-8", "surrogateescape") + file.read_bytes())
        self._index = cache_root() / "corpora" / f"{digest.hexdigest()}.sqlite"
        if not _is_sound(self._index):
            _build(self._index, files)

    def search(self, terms: str, results: int) -> list[Passage]:
        """Return the passages that fit best by BM25, best first."""
        expression = build_expression(terms)
        if not expression:
            return []
        with contextlib.closing(_open(self._index)) as index:
            rows = index.execute(
                "SELECT title, text FROM passages WHERE passages MATCH ? "
                "ORDER BY bm25(passages, 2.0, 1.0), rowid LIMIT ?",
                (expression, results),
            )
            return [Passage(*row) for row in rows]


def build_expression(terms: str) -> str:
    """Return an FTS5 expression that any of the telling words satisfies; nothing in the text is an operator."""
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(terms)))
    telling = [word for word in words if word not in _STOP_WORDS] or words
    return " OR ".join(f'"{word}"' for word in telling[:_TERMS])


def _list_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        message = "there is no such corpus"
        raise InputError(message, where=str(path), hint="name a folder of .txt, .md or .jsonl files")
    files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    if not files:
        message = "the corpus holds no documents"
        raise InputError(message, where=str(path), hint=f"add files that end in {', '.join(SUFFIXES)}")
    return files


def _read_passages(file: Path) -> Iterator[Passage]:
    if file.suffix == ".jsonl":
        yield from _read_records(file)
        return
    text = file.read_text(encoding="utf-8", errors="replace")
    heading = re.match(r"#+ *(.+)", text)
    title = heading[1].strip() if heading else file.stem.replace("_", " ").replace("-", " ")
    for paragraph in re.split(r"\n\s*\n", text):
        words = " ".join(paragraph.split())
        for start in range(0, len(words), _PASSAGE_CHARS):
            if not words.startswith("#"):
                yield Passage(title, words[start : start + _PASSAGE_CHARS])


def _read_records(file: Path) -> Iterator[Passage]:
    def refuse(problem: object) -> None:
        raise InputError(str(problem), hint="mend the corpus")

    for line, raw in read_lines(str(file), refuse):
        try:
            record = parse_object(raw)
        except ValueError as error:
            raise InputError(str(error), where=f"{file}:{line}") from error
        text = record.get("text")
        if not isinstance(text, str):
            message = "a document has a `text`"
            raise InputError(message, where=f"{file}:{line}")
        yield Passage(str(record.get("title") or record.get("id") or ""), text)


def _open(path: Path, *, is_new: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}{'' if is_new else '?mode=ro&immutable=1'}", uri=True)


def _is_sound(path: Path) -> bool:
    if not path.exists():
        return False
    try:
        with contextlib.closing(_open(path)) as index:
            return bool(index.execute("SELECT count(*) FROM passages").fetchone())
    except sqlite3.Error:
        return False


def _build(path: Path, files: list[Path]) -> None:
    """Build beside the place and move there, so that another process never sees half an index."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    draft.unlink(missing_ok=True)
    try:
        with contextlib.closing(_open(draft, is_new=True)) as index:
            _fill(index, files)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _fill(index: sqlite3.Connection, files: list[Path]) -> None:
    try:
        index.execute("CREATE VIRTUAL TABLE passages USING fts5(title, text, tokenize = 'porter unicode61')")
    except sqlite3.OperationalError as error:
        message = f"this Python's SQLite {sqlite3.sqlite_version} cannot search full text: {error}"
        raise InputError(message, hint="use a Python whose SQLite has FTS5, or give the mode a `url`") from error
    with index:
        for file in files:
            index.executemany("INSERT INTO passages VALUES (?, ?)", _read_passages(file))
