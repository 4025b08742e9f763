"""Handbooks as they stand in a folder or at a git revision, without checking anything out."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from skillctl.errors import InputError, InvalidHandbookError
from skillctl.model.handbook import Handbook
from skillctl.store.canonical_yaml import emit_yaml
from skillctl.store.codec import encode_handbook_file
from skillctl.store.competence_lines import put_back_competences, take_out_competences
from skillctl.store.cross_references import find_cross_problems
from skillctl.store.documents import Document, locate, read_document
from skillctl.store.git import is_link, open_repository
from skillctl.store.handbook_dir import assemble_handbook
from skillctl.store.handbook_files import (
    EXTENSION,
    FOLDER_KINDS,
    HANDBOOK_FILE,
    ROOT_KIND,
    HandbookFile,
    Kind,
    list_files,
    require_folder,
)
from skillctl.store.schema import load_schema

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from skillctl.model.problem import Problem
    from skillctl.model.selection import Selection
    from skillctl.store.git import Repository
    from skillctl.store.typed_values import Fault

_KINDS = {kind.folder: kind for kind in FOLDER_KINDS}
_AGENTS = _KINDS["agents"]
_SELECTIONS = _KINDS["selections"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of a handbook at one time.

    Attributes:
        label: How people call it: a folder, or ``REVISION:path``.
        files: Contents by path within the handbook.
    """

    label: str
    files: Mapping[str, bytes]

    @property
    def is_missing(self) -> bool:
        """Tell whether there is no handbook at all."""
        return HANDBOOK_FILE not in self.files


def snapshot_folder(root: Path) -> Snapshot:
    """Return the handbook in a folder as it stands.

    Raises:
        InputError: If there is no such folder.
    """
    require_folder(root)
    return Snapshot(
        str(root), {file.path.relative_to(root).as_posix(): file.path.read_bytes() for file in list_files(root)}
    )


def snapshot_revision(repository: Repository, root: Path, revision: str) -> Snapshot:
    """Return the handbook of a folder as it stood at a revision; without files where there was none.

    Raises:
        GitError: If there is no such revision.
        InputError: If a file of it cannot be read at a revision.
    """
    commit = repository.resolve(revision)
    folder = repository.path_of(root)
    entries = [entry for entry in repository.list_tree(commit, folder) if kind_of(entry.path) is not None]
    label = f"{revision}:{folder or '.'}"
    for entry in entries:
        if is_link(entry):
            message = "is a symbolic link, which is not followed at a revision"
            raise InputError(message, where=f"{label}/{entry.path}", hint="keep the file itself in the handbook")
    contents = repository.read_blobs(entry.blob for entry in entries)
    return Snapshot(label, {entry.path: contents[entry.blob] for entry in entries})


def empty_like(snapshot: Snapshot) -> Mapping[str, bytes]:
    """Return the files of a handbook that has nothing but the name of another one.

    Raises:
        InputError: If the other one is missing too.
        InvalidHandbookError: With all problems of its files.
    """
    data = encode_handbook_file(Handbook(load_snapshot(snapshot).name))
    return {HANDBOOK_FILE: emit_yaml(data, load_schema(ROOT_KIND.schema)).encode()}


def kind_of(path: str) -> Kind | None:
    """Return the kind of a file by its path within a handbook, ``None`` for what is not part of it."""
    if path == HANDBOOK_FILE:
        return ROOT_KIND
    parts = PurePosixPath(path)
    if str(parts.parent) not in _KINDS or parts.suffix != EXTENSION or parts.name.startswith("."):
        return None
    return _KINDS[str(parts.parent)]


def load_handbook_at(root: Path, revision: str) -> Handbook:
    """Return the handbook of a folder as it stood at a git revision.

    Raises:
        InputError: If there was none, or no such revision.
        InvalidHandbookError: With all problems of all files.
    """
    return load_snapshot(snapshot_revision(open_repository(root), root, revision))


def load_snapshot(snapshot: Snapshot) -> Handbook:
    """Return the handbook of a snapshot.

    Raises:
        InputError: If there is none.
        InvalidHandbookError: With all problems of all files.
    """
    return _load(snapshot, snapshot.files, {})


class Pair(NamedTuple):
    """Two handbooks; agents whose files are the same may be left out of both.

    Attributes:
        before: The older.
        after: The newer.
        selected_before: What was selected in the older, by orchestrator.
        selected_after: What was selected in the newer.
    """

    before: Handbook
    after: Handbook
    selected_before: Mapping[str, Selection]
    selected_after: Mapping[str, Selection]


def load_pair(before: Snapshot, after: Snapshot, *, is_whole: bool) -> Pair:
    """Return two handbooks to compare; a file that is the same in both is parsed once.

    Args:
        before: The older.
        after: The newer.
        is_whole: Whether agents whose files are the same are needed too.
    """
    same = {path for path, data in before.files.items() if after.files.get(path) == data}
    skipped = set() if is_whole else {path for path in same if kind_of(path) is _AGENTS}
    parsed: dict[bytes, Document] = {}
    handbooks = [_load(side, side.files.keys() - skipped, parsed) for side in (before, after)]
    return Pair(handbooks[0], handbooks[1], load_selections(before), load_selections(after))


def load_selections(snapshot: Snapshot) -> dict[str, Selection]:
    """Return what was selected, by orchestrator.

    Raises:
        InvalidHandbookError: With all problems of the files.
    """
    from skillctl.store.selections import decode_selection  # loads numpy, which git's drivers do without

    documents = _read_all(snapshot, [path for path in snapshot.files if kind_of(path) is _SELECTIONS], {})
    selections = [decode_selection(document.data) for document in documents]
    return {selection.orchestrator: selection for selection in sorted(selections, key=lambda one: one.orchestrator)}


def _load(snapshot: Snapshot, paths: Collection[str], parsed: dict[bytes, Document]) -> Handbook:
    if snapshot.is_missing:
        message = f"there is no {HANDBOOK_FILE} here"
        raise InputError(message, where=snapshot.label, hint="name the folder of a handbook")
    wanted = [path for path in paths if kind_of(path) is not _SELECTIONS]
    return assemble_handbook(_read_all(snapshot, wanted, parsed, are_whole=True))


def _read_all(
    snapshot: Snapshot, paths: Collection[str], parsed: dict[bytes, Document], *, are_whole: bool = False
) -> list[Document]:
    """Return checked files; those that make a whole handbook are checked against each other too."""
    with tempfile.TemporaryDirectory(prefix="skillctl-") as folder:
        root = Path(folder)
        documents = [_read(root, path, snapshot.files[path], parsed) for path in sorted(paths)]
        problems = [problem for document in documents for problem in document.problems]
        if are_whole and not problems:
            problems = _locate_all(find_cross_problems(documents))
    if problems:
        shown = sorted(_relabel(problem, root, snapshot.label) for problem in problems)
        raise InvalidHandbookError(tuple(map(str, shown)), where=snapshot.label)
    return documents


def _read(root: Path, path: str, data: bytes, parsed: dict[bytes, Document]) -> Document:
    kind = kind_of(path)
    if kind is None:
        raise ValueError(path)
    file = HandbookFile(root / path, kind)
    _write(file.path, data)
    known = parsed.get(data)
    if known is not None and known.kind is kind:
        return replace(known, file=file)
    document = read_fast(file, data) if kind is _AGENTS else read_document(file)
    parsed[data] = document
    return document


def read_fast(file: HandbookFile, data: bytes) -> Document:
    """Read an agent's file that holds ``data``, with its competences by the fast lane where that is sure."""
    rest, blocks = take_out_competences(data)
    if blocks:
        _write(file.path, rest)
        document = read_document(file)
        _write(file.path, data)
        if not document.problems and put_back_competences(document.data, blocks):
            return document
    return read_document(file)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _locate_all(found: Iterable[tuple[Document, Fault]]) -> list[Problem]:
    by_file = defaultdict(list)
    for document, fault in found:
        by_file[document.file].append(fault)
    return [problem for file, faults in by_file.items() for problem in locate(file, faults)]


def _relabel(problem: Problem, root: Path, label: str) -> Problem:
    return replace(problem, file=f"{label}/{Path(problem.file).relative_to(root).as_posix()}")
