"""Write a handbook: canonical text, comments kept, only files whose bytes change, all or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from skillctl.errors import InputError, InvalidHandbookError
from skillctl.store.agent_codec import encode_agent
from skillctl.store.atomic import remove_leftovers, write_together
from skillctl.store.canonical_yaml import emit_yaml
from skillctl.store.codec import Data, encode_handbook_file, encode_mode, encode_playbook, encode_skills
from skillctl.store.comments import read_trivia
from skillctl.store.cross_references import find_cross_problems
from skillctl.store.documents import Document, check_data, locate, read_document
from skillctl.store.handbook_files import (
    EXTENSION,
    FOLDER_KINDS,
    ROOT_KIND,
    SCHEMA_FOLDER,
    HandbookFile,
    Kind,
    list_files,
    new_path,
    schema_link,
)
from skillctl.store.handwritten import keep_handwritten
from skillctl.store.locking import complete_interrupted_save, handbook_lock, journal_path
from skillctl.store.schema import HANDBOOK_SCHEMAS, load_schema, schema_root
from skillctl.store.strict_yaml import parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillctl.model.handbook import Handbook

_MODE, _SKILLS, _AGENT, _SELECTION, _PLAYBOOK = FOLDER_KINDS


_Key = tuple[str, str]


class _Part(NamedTuple):
    kind: Kind
    id: str
    data: Data

    @property
    def key(self) -> _Key:
        """What tells the files of a handbook apart: folder and id."""
        return (self.kind.folder, self.id if self.kind.folder else "")


class _Plan(NamedTuple):
    writes: dict[Path, bytes]
    removals: list[Path]


def save_handbook(handbook: Handbook, root: Path) -> list[Path]:
    """Make a folder hold exactly this handbook, and return the files that were written or removed, in order.

    Files keep their names, comments and ``x-`` fields; the files of agents and modes that are gone are removed;
    selections are left alone.

    Raises:
        InvalidHandbookError: If the handbook would not validate, or an old file cannot be read; nothing is written.
        LockedError: If another process is writing the handbook.
        OSError: If the disk refuses; no file has changed then.
    """
    parts = list(_parts(handbook))
    _refuse_invalid(parts, root)
    with handbook_lock(root):
        complete_interrupted_save(root)
        for folder in ("", SCHEMA_FOLDER, *(kind.folder for kind in FOLDER_KINDS)):
            remove_leftovers(root / folder)
        plan = _plan(parts, root)
        for path in plan.writes:
            path.parent.mkdir(parents=True, exist_ok=True)
        if plan.writes or plan.removals:
            write_together(plan.writes, plan.removals, journal=journal_path(root))
    return sorted([*plan.writes, *plan.removals])


def _parts(handbook: Handbook) -> Iterator[_Part]:
    for mode in handbook.modes.values():
        yield _Part(_MODE, mode.id, encode_mode(mode))
        yield _Part(_SKILLS, mode.id, encode_skills(mode.id, handbook.skills.get(mode.id, ())))
    for playbook in handbook.playbooks.values():
        yield _Part(_PLAYBOOK, playbook.id, encode_playbook(playbook))
    for agent in handbook.agents.values():
        yield _Part(_AGENT, agent.id, encode_agent(agent))
    # Last: the ledger must not claim evidence that the profiles do not hold yet.
    yield _Part(ROOT_KIND, handbook.name, encode_handbook_file(handbook))


def _refuse_invalid(parts: list[_Part], root: Path) -> None:
    documents = [check_data(HandbookFile(new_path(root, part.kind, part.id), part.kind), part.data) for part in parts]
    problems = [problem for document in documents for problem in document.problems]
    for document, fault in find_cross_problems(documents):
        problems += locate(document.file, [fault])
    if problems:
        raise InvalidHandbookError(tuple(str(problem) for problem in sorted(problems)), where=str(root))


def _plan(parts: list[_Part], root: Path) -> _Plan:
    match = _Matcher(parts, root)
    files = [file for file in list_files(root) if file.kind is not _SELECTION]
    rendered: dict[_Key, tuple[Path, bytes]] = {}
    gone = set()
    for file in files:
        found = match(file)
        if found is None:
            gone.add(file.path)
        else:
            rendered[found.part.key] = (file.path, found.data)
    taken = {file.path for file in files} - gone
    for part in parts:
        if part.key not in rendered:
            rendered[part.key] = (_free_path(new_path(root, part.kind, part.id), taken), _render(part))
    writes = _schema_copies(root) | dict(rendered[part.key] for part in parts)
    changed = {path: data for path, data in writes.items() if _bytes_of(path) != data}
    return _Plan(changed, sorted(gone - set(writes)))


class _Match(NamedTuple):
    part: _Part
    data: bytes


class _Matcher:
    """Finds out for the files on the disk which part of the handbook they hold, and what they are to hold."""

    def __init__(self, parts: list[_Part], root: Path) -> None:
        self.root = root
        self.by_path = {new_path(root, part.kind, part.id): part for part in parts}
        self.by_key = {part.key: part for part in parts}

    def __call__(self, file: HandbookFile) -> _Match | None:
        expected = self.by_path.get(file.path)
        if expected is not None:
            data = _render(expected)
            if _bytes_of(file.path) == data:
                return _Match(expected, data)  # unchanged, and known to be so without reading the YAML
        old = _read_old(file, self.root)
        part = self.by_key.get((file.kind.folder, (old.id or "") if file.kind.folder else ""))
        return part and _Match(part, _render_over(part, old))


def _read_old(file: HandbookFile, root: Path) -> Document:
    document = read_document(file)
    if document.problems:
        raise InvalidHandbookError(tuple(str(problem) for problem in document.problems), where=str(root))
    return document


def _render(part: _Part, data: Any = None, trivia: Any = None) -> bytes:  # noqa: ANN401
    text = emit_yaml(part.data if data is None else data, load_schema(part.kind.schema), trivia)
    try:
        return (schema_link(part.kind) + text).encode("utf-8")
    except UnicodeEncodeError as error:
        message = f"{part.kind.schema} {part.id!r} holds a character that is half of a pair, which no file can hold"
        raise InputError(message, hint="remove it from the data that it came from") from error


def _render_over(part: _Part, old: Document) -> bytes:
    schema = load_schema(part.kind.schema)
    source = old.file.path.read_bytes()
    data = keep_handwritten(part.data, old.data, schema, schema.get("$defs", {}))
    return _render(part, data, read_trivia(source.decode("utf-8"), parse_yaml(source)))


def _free_path(path: Path, taken: set[Path]) -> Path:
    """Step aside where a person gave another id's file this name."""
    number = 2
    free = path
    while free in taken:
        free = path.with_name(f"{path.name.removesuffix(EXTENSION)}~~{number}{EXTENSION}")
        number += 1
    taken.add(free)
    return free


def _schema_copies(root: Path) -> dict[Path, bytes]:
    names = [f"{name}.schema.json" for name in HANDBOOK_SCHEMAS]
    return {root / SCHEMA_FOLDER / name: (schema_root() / name).read_bytes() for name in names}


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
