"""Git's three-way merge of one handbook file: evidence adds up, the rest merges field by field."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from skillctl.core.diff.evidence_merge import shared_sources
from skillctl.core.diff.handbook_facts import build_from_facts, list_facts
from skillctl.core.diff.handbook_merge import Side, merge_facts
from skillctl.errors import InputError
from skillctl.store.git import GitError, git_environment
from skillctl.store.handbook_file import decode_part, kind_of_path, read_part, render_part
from skillctl.store.handbook_files import HANDBOOK_FILE

if TYPE_CHECKING:
    from skillctl.model.handbook import EvidenceSource
    from skillctl.store.git import Repository
    from skillctl.store.handbook_files import Kind

_SIDES: tuple[Side, Side, Side] = ("base", "ours", "theirs")
_MARKER_SIZE = 7
_THEIRS_PREFIX = "GITHEAD_"  # git merge names the other side's commit so
_MOST_CONFLICTS = 127  # git merge-file returns the number of conflicts, more than that is an error


class Sides(NamedTuple):
    """The three versions of a file."""

    base: bytes
    ours: bytes
    theirs: bytes


class MergedFile(NamedTuple):
    """The merged file, with conflict markers where there are conflicts."""

    data: bytes
    has_conflicts: bool


def merge_file(sides: Sides, path: str, repository: Repository | None, marker_size: int = _MARKER_SIZE) -> MergedFile:
    """Merge one file of a handbook; one that cannot be read as such is merged as text.

    Args:
        sides: Its three versions.
        path: Its path within the repository, which says what kind of file it is.
        repository: Where the ledgers of both sides are looked up.
        marker_size: Length of conflict markers.
    """
    kind = kind_of_path(path)
    meaning = None if kind is None else _merge_meaning(sides, kind, _counted_twice(repository, path))
    if meaning is None:
        return _merge_text(sides, marker_size)
    merged = _merge_text(meaning.texts, marker_size)
    if meaning.has_conflicts and not merged.has_conflicts:
        # The base says nothing where both sides added different things: leave it out, and all that differs conflicts.
        merged = _merge_text(meaning.texts._replace(base=b""), marker_size)
    return merged._replace(has_conflicts=merged.has_conflicts or meaning.has_conflicts)


class _Meaning(NamedTuple):
    """Three texts that differ only where both sides say different things, or in comments."""

    texts: Sides
    has_conflicts: bool


def _merge_meaning(sides: Sides, kind: Kind, twice: tuple[str, ...]) -> _Meaning | None:
    """Merge what the sides mean; ``None`` where one of them cannot be read as a file of its kind."""
    try:
        base = decode_part(read_part(sides.base, kind) if sides.base.strip() else None)
        ours, theirs = (decode_part(read_part(side, kind)) for side in sides[1:])
    except InputError:
        return None
    if kind.schema == "handbook":
        twice = twice or shared_sources(base.evidence, ours.evidence, theirs.evidence)
    facts = [list_facts(side) for side in (base, ours, theirs)]
    texts: dict[Side, bytes] = {}
    conflicts = False
    for name, source in zip(_SIDES, sides, strict=True):
        merged = merge_facts(facts[0], facts[1], facts[2], adds_up=not twice, prefer=name)
        conflicts = conflicts or bool(merged.conflicts)
        try:
            texts[name] = render_part(build_from_facts(merged.facts), kind, source)
        except (InputError, StopIteration, TypeError):
            if name != "base":
                return None  # torn apart: people see it best as text
            texts[name] = b""  # half a skill that is new on both sides is none
    return _Meaning(Sides(texts["base"], texts["ours"], texts["theirs"]), conflicts)


def _counted_twice(repository: Repository | None, path: str) -> tuple[str, ...]:
    """Return the logs that both sides of a `git merge` counted; nothing where the sides cannot be told."""
    others = [name.removeprefix(_THEIRS_PREFIX) for name in os.environ if name.startswith(_THEIRS_PREFIX)]
    if repository is None or len(others) != 1:
        return ()
    try:
        base = repository.merge_base("HEAD", others[0])
        ledgers = [_read_ledger(repository, commit, path) for commit in (base, "HEAD", others[0])]
    except (GitError, InputError):
        return ()
    if ledgers[1] == ledgers[2]:
        return tuple(source.name for source in ledgers[1] if source not in ledgers[0])
    return shared_sources(*ledgers)


def _read_ledger(repository: Repository, commit: str, path: str) -> tuple[EvidenceSource, ...]:
    place = PurePosixPath(path)
    root = place.parent if place.name == HANDBOOK_FILE else place.parent.parent
    done = repository.attempt("cat-file", "blob", f"{commit}:{(root / HANDBOOK_FILE).as_posix()}")
    kind = kind_of_path(HANDBOOK_FILE)
    if done.returncode or kind is None:
        return ()
    return decode_part(read_part(done.stdout, kind)).evidence


def _merge_text(sides: Sides, marker_size: int) -> MergedFile:
    with tempfile.TemporaryDirectory(prefix="skillctl-") as folder:
        paths = [Path(folder) / name for name in ("ours", "base", "theirs")]
        for path, data in zip(paths, (sides.ours, sides.base, sides.theirs), strict=True):
            path.write_bytes(data)
        labels = [part for path in paths for part in ("-L", path.name)]
        command = ["git", "merge-file", "-p", f"--marker-size={marker_size}", *labels, *map(str, paths)]
        done = subprocess.run(command, env=git_environment(), capture_output=True, check=False)
    if not 0 <= done.returncode <= _MOST_CONFLICTS:
        raise GitError(done.stderr.decode("utf-8", "replace").strip())
    return MergedFile(done.stdout, done.returncode > 0)
