"""A handbook folder: read it strictly, list its problems, write it back with the smallest change."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from skillctl.errors import InvalidHandbookError
from skillctl.model.handbook import Handbook, ModeId
from skillctl.model.problem import Problem
from skillctl.store.agent_codec import decode_agent
from skillctl.store.codec import decode_handbook_file, decode_mode, decode_playbook, decode_skills
from skillctl.store.cross_references import find_cross_problems
from skillctl.store.documents import Document, locate, read_document
from skillctl.store.handbook_files import (
    EXTENSION,
    FOLDER_KINDS,
    HANDBOOK_FILE,
    ROOT_KIND,
    handbook_files,
    list_files,
    list_strays,
    require_folder,
)
from skillctl.store.handbook_writer import save_handbook
from skillctl.store.locking import complete_interrupted_save, handbook_lock

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from skillctl.store.typed_values import Fault

__all__ = ["assemble_handbook", "find_problems", "handbook_files", "handbook_lock", "load_handbook", "save_handbook"]


def load_handbook(root: Path) -> Handbook:
    """Return the handbook in a folder.

    Raises:
        InputError: If there is no such folder.
        InvalidHandbookError: With all problems of all files.
    """
    documents, problems = _read(root)
    if problems:
        raise InvalidHandbookError(tuple(str(problem) for problem in problems), where=str(root))
    return assemble_handbook(documents)


def find_problems(root: Path) -> list[Problem]:
    """Return all problems of all files of a handbook, in order of file and line.

    Raises:
        InputError: If there is no such folder.
    """
    return _read(root)[1]


def _read(root: Path) -> tuple[list[Document], list[Problem]]:
    require_folder(root)
    complete_interrupted_save(root)
    documents = []
    problems = [] if (root / HANDBOOK_FILE).exists() else [_missing(root)]
    for file in list_files(root):
        document = read_document(file)
        problems += document.problems
        if file.kind is ROOT_KIND and document.data is None:
            # Not readable, or of another version: what the other files would be blamed for may follow from that.
            return [], sorted(problems)
        documents.append(document)
    problems += [_stray(path) for path in list_strays(root)]
    problems += _located(find_cross_problems(documents))
    return documents, sorted(problems)


def _missing(root: Path) -> Problem:
    return Problem(str(root / HANDBOOK_FILE), 0, "$", f"is missing: make it with `skillctl init {root}` or add it")


def _stray(path: Path) -> Problem:
    if not path.suffix and path.name in {kind.folder for kind in FOLDER_KINDS}:
        return Problem(str(path), 0, "$", "is a file, but must be a folder: move it away")
    if path.suffix == ".yml":
        return Problem(str(path), 0, "$", f"rename it to {path.stem}{EXTENSION}")
    return Problem(str(path), 0, "$", f"does not belong here: only {EXTENSION} files do, move it out of the folder")


def _located(found: Iterable[tuple[Document, Fault]]) -> list[Problem]:
    by_file = defaultdict(list)
    for document, fault in found:
        by_file[document.file].append(fault)
    return [problem for file, faults in by_file.items() for problem in locate(file, faults)]


def assemble_handbook(documents: Iterable[Document]) -> Handbook:
    """Return the handbook that documents without problems make."""
    by_schema = defaultdict(list)
    for document in documents:
        by_schema[document.kind.schema].append(document.data)
    modes = {mode.id: mode for mode in sorted(map(decode_mode, by_schema["mode"]), key=lambda mode: mode.id)}
    agents = {agent.id: agent for agent in sorted(map(decode_agent, by_schema["agent"]), key=lambda agent: agent.id)}
    skills = {ModeId(data["mode"]): decode_skills(data) for data in by_schema["skills"]}
    playbooks = {
        book.id: book for book in sorted(map(decode_playbook, by_schema["playbook"]), key=lambda book: book.id)
    }
    return replace(
        decode_handbook_file(by_schema["handbook"][0]),
        modes=modes,
        skills={mode: skills.get(mode, ()) for mode in modes},
        agents=agents,
        playbooks=playbooks,
    )
