"""Selections: ``selections/<orchestrator>.yaml``, read, written, and applied to an orchestrator."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from skillctl.core.select.candidates import CutOrchestrator, Tree
from skillctl.errors import InvalidHandbookError
from skillctl.model.selection import Candidate, Excluded, Selection
from skillctl.store.array_cache import read_arrays, write_arrays
from skillctl.store.file_names import file_name_of
from skillctl.store.handbook_files import EXTENSION, FOLDER_KINDS, HandbookFile, list_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from skillctl.core.orchestrate.orchestration import Orchestrator
    from skillctl.model.handbook import Handbook

_KIND = next(kind for kind in FOLDER_KINDS if kind.schema == "selection")
_CACHE = "cuts"
_DIGITS = 6  # significant


def list_selections(root: Path) -> list[Selection]:
    """Return all selections of a handbook in order of orchestrator.

    Raises:
        InvalidHandbookError: With the problems of the files.
    """
    files = [file for file in list_files(root) if file.kind is _KIND]
    return sorted((_read(file, root) for file in files), key=lambda selection: selection.orchestrator)


def load_selection(root: Path, orchestrator: str) -> Selection | None:
    """Return what was selected for one orchestrator, or ``None``."""
    return next((found for found in list_selections(root) if found.orchestrator == orchestrator), None)


def save_selection(selection: Selection, root: Path) -> list[Path]:
    """Write a selection; comments and hand-written fields of the old file stay. Returns the file if it changed."""
    from skillctl.store.atomic import write_atomic
    from skillctl.store.canonical_yaml import emit_yaml
    from skillctl.store.comments import read_trivia
    from skillctl.store.documents import check_data, read_document
    from skillctl.store.handbook_files import schema_link
    from skillctl.store.handwritten import keep_handwritten
    from skillctl.store.schema import load_schema
    from skillctl.store.strict_yaml import parse_yaml

    file = _find(root, selection.orchestrator) or _new(root, selection.orchestrator)
    data, schema = encode_selection(selection), load_schema(_KIND.schema)
    checked = check_data(file, data)
    if checked.problems:
        raise InvalidHandbookError(tuple(map(str, checked.problems)), where=str(root))
    trivia: Any = None
    old = file.path.read_bytes() if file.path.exists() else b""
    if old:
        data = keep_handwritten(data, read_document(file).data, schema, schema.get("$defs", {}))
        trivia = read_trivia(old.decode("utf-8"), parse_yaml(old))
    new = (schema_link(_KIND) + emit_yaml(data, schema, trivia)).encode("utf-8")
    if new == old:
        return []
    file.path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file.path, new)
    return [file.path]


def apply_selection(
    root: Path, orchestrator: str, index_key: str, mode: str, *, inner: Orchestrator, load: Callable[[], Handbook]
) -> Orchestrator:
    """Let an orchestrator name only skills of what was selected for it; without a selection it stays as it is.

    Args:
        root: Folder of the handbook.
        orchestrator: Its name.
        index_key: Digest of the mode's skills.
        mode: Which mode it was opened for.
        inner: The orchestrator.
        load: Loads the handbook, where the cache does not know the cut.
    """
    file = _find(root, orchestrator)
    if file is None:
        return inner
    key = hashlib.blake2b(f"1\n{index_key}\n".encode() + file.path.read_bytes(), digest_size=16).hexdigest()
    cached = read_arrays(_CACHE, key)
    nearest = None if cached is None else cached.get("nearest")
    if nearest is None:
        nearest = find_cut(load(), mode, _read(file, root))
        write_arrays(_CACHE, key, {"nearest": nearest})
    return CutOrchestrator(inner, np.asarray(nearest, np.int32))


def find_cut(handbook: Handbook, mode: str, selection: Selection) -> NDArray[np.int32]:
    """Return for each row of a mode's table the row that its weight moves to."""
    tree = Tree(next(skills for name, skills in handbook.skills.items() if name == mode))
    return tree.find_nearest(frozenset(selection.choice.skills))


def encode_selection(selection: Selection) -> dict[str, Any]:
    """Return the data of a selection's file."""
    data: dict[str, Any] = {
        "orchestrator": selection.orchestrator,
        "lambda": float(selection.cost_weight),
        "rule": selection.rule,
        "validation": {"digest": selection.digest, "queries": selection.queries},
        "candidates": selection.candidates,
        "choice": _encode(selection.choice),
        "front": [_encode(candidate) for candidate in selection.front],
    }
    if selection.excluded:
        data["excluded"] = [{"skills": list(one.skills), "reason": one.reason} for one in selection.excluded]
    return data | dict(selection.extra)


def decode_selection(data: dict[str, Any]) -> Selection:
    """Return the selection that checked data holds."""
    validation = data.get("validation", {})
    return Selection(
        orchestrator=data["orchestrator"],
        cost_weight=data.get("lambda", 0.0),
        rule=data.get("rule", ""),
        digest=validation.get("digest", ""),
        queries=validation.get("queries", 0),
        candidates=data.get("candidates", 0),
        choice=_decode(data["choice"]),
        front=tuple(map(_decode, data.get("front", ()))),
        excluded=tuple(Excluded(tuple(one["skills"]), one["reason"]) for one in data.get("excluded", ())),
        extra={key: value for key, value in data.items() if key.startswith("x-")},
    )


def _encode(candidate: Candidate) -> dict[str, Any]:
    fields = {
        "accuracy": _shorten(candidate.accuracy),
        "accuracy_interval": _shorten_pair(candidate.accuracy_interval),
        "mean_cost_usd": _shorten(candidate.mean_cost_usd),
        "mean_cost_interval": _shorten_pair(candidate.mean_cost_interval),
    }
    return {"skills": list(candidate.skills)} | {key: value for key, value in fields.items() if value is not None}


def _decode(data: dict[str, Any]) -> Candidate:
    accuracy, cost = data.get("accuracy_interval"), data.get("mean_cost_interval")
    return Candidate(
        tuple(data["skills"]),
        data.get("accuracy"),
        (accuracy[0], accuracy[1]) if accuracy else None,
        data.get("mean_cost_usd"),
        (cost[0], cost[1]) if cost else None,
    )


def _shorten(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")


def _shorten_pair(values: tuple[float, float] | None) -> list[float] | None:
    return None if values is None else [float(f"{value:.{_DIGITS}g}") for value in values]


def _new(root: Path, orchestrator: str) -> HandbookFile:
    return HandbookFile(root / _KIND.folder / f"{file_name_of(orchestrator)}{EXTENSION}", _KIND)


def _find(root: Path, orchestrator: str) -> HandbookFile | None:
    """Return the file of an orchestrator, whatever a person named it."""
    usual = _new(root, orchestrator)
    if usual.path.exists():
        return usual
    files = (file for file in list_files(root) if file.kind is _KIND)
    return next((file for file in files if _read(file, root).orchestrator == orchestrator), None)


def _read(file: HandbookFile, root: Path) -> Selection:
    from skillctl.store.documents import read_document

    document = read_document(file)
    if document.problems or document.data is None:
        raise InvalidHandbookError(tuple(map(str, document.problems)), where=str(root))
    return decode_selection(document.data)
