"""Which files make a handbook, and what each of them holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from skillctl.errors import InputError
from skillctl.store.file_names import file_name_of

if TYPE_CHECKING:
    from pathlib import Path

HANDBOOK_FILE = "handbook.yaml"
SCHEMA_FOLDER = ".schemas"
EXTENSION = ".yaml"


class Kind(NamedTuple):
    """A kind of file: its folder ('' for the root), its schema, and the key that holds its id."""

    folder: str
    schema: str
    id_key: str


ROOT_KIND = Kind("", "handbook", "name")
FOLDER_KINDS = (
    Kind("modes", "mode", "mode"),
    Kind("skills", "skills", "mode"),
    Kind("agents", "agent", "agent"),
    Kind("selections", "selection", "orchestrator"),
    Kind("playbooks", "playbook", "playbook"),
)


class HandbookFile(NamedTuple):
    """A file of a handbook."""

    path: Path
    kind: Kind


def is_handbook(folder: Path) -> bool:
    """Tell whether a folder is a handbook."""
    return (folder / HANDBOOK_FILE).is_file()


def require_folder(root: Path) -> None:
    """Refuse a handbook that is not there.

    Raises:
        InputError: If there is no folder at ``root``.
    """
    if root.is_dir():
        return
    if root.exists():
        message = "is a file, but a handbook is a folder"
        raise InputError(message, where=str(root), hint=f"name the folder that holds {HANDBOOK_FILE}")
    message = "there is no such handbook"
    raise InputError(message, where=str(root), hint=f"make one with `skillctl init {root}`")


def list_files(root: Path) -> list[HandbookFile]:
    """Return the files of a handbook with their kinds, ``handbook.yaml`` first."""
    found = [HandbookFile(root / HANDBOOK_FILE, ROOT_KIND)] if (root / HANDBOOK_FILE).exists() else []
    for kind in FOLDER_KINDS:
        found += [HandbookFile(path, kind) for path in _entries(root / kind.folder) if path.suffix == EXTENSION]
    return found


def list_strays(root: Path) -> list[Path]:
    """Return what stands in the folders of a handbook and is no YAML file; hidden files are the editor's business."""
    folders = [root / kind.folder for kind in FOLDER_KINDS]
    files = [folder for folder in folders if folder.exists() and not folder.is_dir()]
    return files + [path for folder in folders for path in _entries(folder) if path.suffix != EXTENSION]


def handbook_files(root: Path) -> list[Path]:
    """Return every file that belongs to a handbook, in a fixed order: what a cache is keyed by."""
    return [file.path for file in list_files(root)]


def new_path(root: Path, kind: Kind, name: str) -> Path:
    """Return where a file for a new id goes."""
    return root / kind.folder / f"{file_name_of(name)}{EXTENSION}" if kind.folder else root / HANDBOOK_FILE


def schema_link(kind: Kind) -> str:
    """Return the first line of a file: it tells an editor which schema to check it by."""
    up = "../" if kind.folder else ""
    return f"# yaml-language-server: $schema={up}{SCHEMA_FOLDER}/{kind.schema}.schema.json\n"


def _entries(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
