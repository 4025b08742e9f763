"""One file of a handbook by itself, as git's drivers get it: any name, any content."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from skillctl.errors import InputError
from skillctl.model.handbook import Handbook, ModeId
from skillctl.store.agent_codec import decode_agent, encode_agent
from skillctl.store.canonical_yaml import emit_yaml
from skillctl.store.codec import (
    decode_handbook_file,
    decode_mode,
    decode_skills,
    encode_handbook_file,
    encode_mode,
    encode_skills,
)
from skillctl.store.comments import read_trivia
from skillctl.store.documents import Document, check_data
from skillctl.store.handbook_files import HandbookFile, schema_link
from skillctl.store.handbook_revision import kind_of, read_fast
from skillctl.store.handwritten import keep_handwritten
from skillctl.store.schema import load_schema
from skillctl.store.strict_yaml import parse_yaml

if TYPE_CHECKING:
    from skillctl.store.handbook_files import Kind

_HANDLED = ("handbook", "mode", "skills", "agent")
_NAME_DEPTH = 2


def kind_of_path(path: str) -> Kind | None:
    """Return the kind of a file by its last folder and its name, ``None`` for what drivers leave alone."""
    kind = kind_of("/".join(PurePosixPath(path).parts[-_NAME_DEPTH:])) or kind_of(PurePosixPath(path).name)
    return kind if kind is not None and kind.schema in _HANDLED else None


def read_part(data: bytes, kind: Kind) -> Document:
    """Return the checked data of one file.

    Raises:
        InputError: If it is not what a file of this kind must be.
    """
    with tempfile.TemporaryDirectory(prefix="skillctl-") as folder:
        file = HandbookFile(Path(folder) / "file.yaml", kind)
        file.path.write_bytes(data)
        document = read_fast(file, data)
    if document.problems or document.data is None:
        problem = next(iter(document.problems), None)
        message = problem.message if problem else "holds nothing"
        raise InputError(message, where=f"line {problem.line}" if problem else "")
    return document


def decode_part(document: Document | None) -> Handbook:
    """Return a handbook that holds what one file says and nothing else; an absent file says nothing."""
    empty = Handbook("")
    if document is None:
        return empty
    schema, data = document.kind.schema, document.data
    if schema == "handbook":
        return decode_handbook_file(data)
    if schema == "mode":
        mode = decode_mode(data)
        return replace(empty, modes={mode.id: mode})
    if schema == "skills":
        return replace(empty, skills={ModeId(data["mode"]): decode_skills(data)})
    agent = decode_agent(data)
    return replace(empty, agents={agent.id: agent})


def encode_part(handbook: Handbook, kind: Kind) -> dict[str, Any]:
    """Return the data of the only file of this kind in a handbook made by `decode_part`."""
    if kind.schema == "handbook":
        return encode_handbook_file(handbook)
    if kind.schema == "mode":
        return encode_mode(next(iter(handbook.modes.values())))
    if kind.schema == "skills":
        mode, skills = next(iter(handbook.skills.items()))
        return encode_skills(mode, skills)
    return encode_agent(next(iter(handbook.agents.values())))


def render_part(handbook: Handbook, kind: Kind, source: bytes) -> bytes:
    """Return the text of a file over an older text, with the comments and hand-written fields of that.

    Raises:
        InputError: If the result would not be valid.
    """
    data, schema = encode_part(handbook, kind), load_schema(kind.schema)
    problems = check_data(HandbookFile(Path("merged.yaml"), kind), data).problems
    if problems:
        raise InputError(str(problems[0]))
    old = read_part(source, kind).data
    kept = keep_handwritten(data, old, schema, schema.get("$defs", {}))
    text = emit_yaml(kept, schema, read_trivia(source.decode(), parse_yaml(source)))
    return (schema_link(kind) + text).encode()
