"""Opens a handbook for routing: compiled arrays, cached by the content of the handbook's files.

A second, smaller entry remembers what the files looked like (size, times, inode), as git's index does. While they
look the same, their content is not read again; a file that changed so lately that its times cannot tell is.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from typing import TYPE_CHECKING, Any, cast

import orjson

from skillctl.core.route.routing_table import AgentFacts, ModeTable, OrchestratorNumbers, RoutingTable
from skillctl.store.array_cache import Arrays, pack_text, read_arrays, unpack_text, write_arrays
from skillctl.store.cache_dir import cache_root
from skillctl.store.handbook_files import (
    FOLDER_KINDS,
    HANDBOOK_FILE,
    ROOT_KIND,
    Kind,
    handbook_files,
    list_strays,
    require_folder,
)

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_KIND = "tables"
_FORMAT = "2"  # to be raised whenever the same files give another table
_MODE_ARRAYS = ("works", "alpha", "beta", "low", "high", "evidence", "cost")
# File systems stamp files by a clock that may lag behind the system's by a tick.
_CLOCK_LAG_NS = 20_000_000

_Stamps = list[list["str | int"]]


def open_routing_table(root: Path) -> RoutingTable:
    """Return a handbook compiled for routing; without any change since last time, no YAML is read.

    Raises:
        InputError: If there is no such folder.
        InvalidHandbookError: With all problems of all files.
    """
    require_folder(root)
    started = time.time_ns()
    stamps = _stamp(root)
    stamp_path = cache_root() / _KIND / f"{_digest(str(root.resolve()).encode())}.json"
    key = _find_trusted_key(stamp_path, stamps)
    if key is not None and (table := _read_table(key)) is not None:
        return table
    key = _content_key(root)
    table = None if list_strays(root) else _read_table(key)
    if table is None:
        table = _compile(root)
        write_arrays(_KIND, key, _to_arrays(table))
    _remember(stamp_path, key, stamps, started)
    return table


def _compile(root: Path) -> RoutingTable:
    # Reading YAML and schemas takes longer than routing a query from the cache: imported when needed.
    from skillctl.core.route.routing_table import compile_table
    from skillctl.store.handbook_dir import load_handbook
    from skillctl.store.orchestrators import index_key

    handbook = load_handbook(root)
    return compile_table(handbook, {mode: index_key(handbook.skills.get(mode, ())) for mode in handbook.modes})


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _content_key(root: Path) -> str:
    content = [[str(path.relative_to(root)), _digest(path.read_bytes())] for path in handbook_files(root)]
    return _digest(orjson.dumps([_FORMAT, content]))


def _stamp(root: Path) -> _Stamps:
    """Return what every file of the handbook's folders looks like, strays among them, in a fixed order."""
    found: _Stamps = []
    for kind in (ROOT_KIND, *FOLDER_KINDS):
        folder = os.path.join(root, kind.folder)  # noqa: PTH118 - a hundred files, in a third of pathlib's time
        with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
            found.extend(_stamp_entry(entry, kind) for entry in entries if _is_watched(entry.name, kind))
    return sorted(found)


def _is_watched(name: str, kind: Kind) -> bool:
    return name == HANDBOOK_FILE if kind is ROOT_KIND else not name.startswith(".")


def _stamp_entry(entry: os.DirEntry[str], kind: Kind) -> list[str | int]:
    at = entry.stat()
    return [f"{kind.folder}/{entry.name}", at.st_size, at.st_mtime_ns, at.st_ctime_ns, at.st_ino]


def _find_trusted_key(stamp_path: Path, stamps: _Stamps) -> str | None:
    try:
        entry = orjson.loads(stamp_path.read_bytes())
        if entry["format"] != _FORMAT or entry["stamps"] != stamps:
            return None
        newest = max(max(cast("int", mtime), cast("int", ctime)) for _, _, mtime, ctime, _ in stamps)
        return str(entry["key"]) if newest < entry["started_ns"] - _CLOCK_LAG_NS else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _remember(stamp_path: Path, key: str, stamps: _Stamps, started: int) -> None:
    from skillctl.store.atomic import write_atomic  # not needed where the cache is warm

    entry = {"format": _FORMAT, "key": key, "started_ns": started, "stamps": stamps}
    with contextlib.suppress(OSError):
        stamp_path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(stamp_path, orjson.dumps(entry))


def _read_table(key: str) -> RoutingTable | None:
    arrays = read_arrays(_KIND, key)
    if arrays is None:
        return None
    try:
        return _from_arrays(arrays)
    except (KeyError, ValueError, TypeError):
        return None


def _to_arrays(table: RoutingTable) -> Arrays:
    about = {
        "default_mode": table.default_mode,
        "cost_weight": table.cost_weight,
        "orchestrator": list(table.orchestrator),
        "agents": [list(agent) for agent in table.agents],
        "modes": [[mode.mode, mode.skills, mode.index_key] for mode in table.modes.values()],
    }
    arrays: Arrays = {"about": pack_text(orjson.dumps(about).decode())}
    for number, mode in enumerate(table.modes.values()):
        arrays |= {f"{number}.{name}": getattr(mode, name) for name in _MODE_ARRAYS}
    return arrays


def _from_arrays(arrays: Arrays) -> RoutingTable:
    about = orjson.loads(unpack_text(arrays["about"]))
    modes = [
        ModeTable(
            mode=mode,
            skills=tuple(skills),
            index_key=index_key,
            **{name: cast("NDArray[Any]", arrays[f"{number}.{name}"]) for name in _MODE_ARRAYS},
        )
        for number, (mode, skills, index_key) in enumerate(about["modes"])
    ]
    return RoutingTable(
        default_mode=about["default_mode"],
        cost_weight=about["cost_weight"],
        orchestrator=OrchestratorNumbers(*about["orchestrator"]),
        agents=tuple(_read_facts(*facts) for facts in about["agents"]),
        modes={mode.mode: mode for mode in modes},
    )


def _read_facts(
    name: str, model: str | None, tools: list[str], modalities: list[str] | None, context_tokens: int | None
) -> AgentFacts:
    return AgentFacts(name, model, tuple(tools), None if modalities is None else tuple(modalities), context_tokens)
