"""The history of a handbook in git: which commits touched it, and how it stood at each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillctl.store.git import GitError
from skillctl.store.handbook_revision import Snapshot, empty_like, load_pair, snapshot_revision
from skillctl.store.learning_commits import list_own_pathspecs

if TYPE_CHECKING:
    from pathlib import Path

    from skillctl.store.git import Repository
    from skillctl.store.handbook_revision import Pair

_FIELDS = ("%H", "%P", "%an", "%as", "%s", "%(trailers:only,unfold)")
_SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit that touched a handbook.

    Attributes:
        id: In full.
        parents: Ids.
        author: Name.
        date: Of the author, as year, month and day.
        subject: First line of the message.
        trailers: By name.
    """

    id: str
    parents: tuple[str, ...]
    author: str
    date: str
    subject: str
    trailers: Mapping[str, str]


def list_commits(
    repository: Repository, root: Path, *, revision: str = "HEAD", limit: int | None = None
) -> list[Commit]:
    """Return the commits that touched a handbook's own files, the newest first; merges only where they changed more.

    Raises:
        GitError: If there is no such revision.
    """
    commit = repository.resolve(revision)
    options = [f"--max-count={limit}"] if limit is not None else []
    record = "--format=" + _SEPARATOR.join(_FIELDS)
    listing = repository.run("log", "-z", record, *options, commit, "--", *list_own_pathspecs(repository, root))
    return [_parse(line) for line in os.fsdecode(listing).split("\0") if line.strip()]


def _parse(line: str) -> Commit:
    name, parents, author, date, subject, trailers = line.strip("\n").split(_SEPARATOR)
    pairs = (entry.partition(": ") for entry in trailers.splitlines() if ": " in entry)
    return Commit(name, tuple(parents.split()), author, date, subject, {key: value for key, _, value in pairs})


def load_step(repository: Repository, root: Path, commit: Commit) -> Pair:
    """Return the handbook before and at a commit; what has the same file in both may be left out.

    Raises:
        InputError: If a side cannot be read.
    """
    after = snapshot_revision(repository, root, commit.id)
    before = _snapshot_parent(repository, root, commit)
    if after.is_missing:
        after = Snapshot(after.label, empty_like(before))
    elif before.is_missing:
        before = Snapshot(before.label, empty_like(after))
    return load_pair(before, after, is_whole=False)


def _snapshot_parent(repository: Repository, root: Path, commit: Commit) -> Snapshot:
    if not commit.parents:
        return Snapshot("nothing", {})
    return snapshot_revision(repository, root, commit.parents[0])


def find_edge(repository: Repository, commits: list[Commit]) -> str:
    """Return why the history may go further back than these commits, or nothing where it does not."""
    if not repository.is_shallow() or not commits:
        return ""
    try:
        repository.resolve(f"{commits[-1].id}^")
    except GitError:
        return "the clone is shallow: for what came before, `git fetch --deepen=100` or `git fetch --unshallow`"
    return ""
