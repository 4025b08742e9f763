"""One commit for each thing that was learned: only the handbook's own files, and nothing before all is in order."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from skillctl.errors import UsageError
from skillctl.store.git import GitError, Repository, open_repository
from skillctl.store.handbook_files import FOLDER_KINDS, HANDBOOK_FILE, SCHEMA_FOLDER, handbook_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from skillctl.model.handbook import EvidenceSource, Handbook

_SUBJECT_LENGTH = 100
_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
TRAILER_COMMAND, TRAILER_EVIDENCE = "Skillctl-Command", "Skillctl-Evidence"
TRAILER_MODEL, TRAILER_VALIDATION = "Skillctl-Model", "Skillctl-Validation"


@dataclass(frozen=True, slots=True)
class LearningCommits:
    """A handbook in a repository that is ready for commits of what is learned.

    Attributes:
        repository: Where.
        root: The handbook's folder.
    """

    repository: Repository
    root: Path

    def commit(self, subject: str, trailers: Mapping[str, str], body: Sequence[str] = ()) -> str | None:
        """Commit the handbook's own files, and return the short id of the commit, or ``None`` where nothing changed.

        Raises:
            GitError: If git or one of its hooks refuses; the files are as they were written then, and not staged.
        """
        paths = self._own_paths()
        if not paths:
            return None
        self.repository.run("add", "-A", "--", *paths)
        if self.repository.attempt("diff", "--cached", "--quiet", "--", *paths).returncode == 0:
            return None
        message = _compose(subject, body, trailers)
        done = self.repository.attempt("commit", "-q", "--cleanup=verbatim", "-F", "-", data=message.encode())
        if done.returncode:
            self.repository.attempt("reset", "-q", "--", *paths)
            words = done.stderr.decode("utf-8", "replace").strip() or "a hook refused"
            message = f"git did not commit: {' '.join(words.split())}"
            raise GitError(message, where=str(self.root), hint="what was learned is in the work tree, not committed")
        return self.repository.text("rev-parse", "--short", "HEAD")

    def _own_paths(self) -> list[str]:
        """Return the handbook's files on the disk and those that git knows of, within the repository."""
        schemas = sorted((self.root / SCHEMA_FOLDER).glob("*.schema.json"))
        present = [self.repository.path_of_entry(path) for path in (*handbook_files(self.root), *schemas)]
        return sorted({*present, *list_tracked(self.repository, self.root)})


def prepare_commits(root: Path, branch: str | None = None) -> LearningCommits:
    """Check that commits can be made, then switch to the branch if one is asked for.

    Args:
        root: The handbook.
        branch: To work on; made from HEAD where there is none of that name.

    Raises:
        GitError: If the folder is in no repository, nobody is named as author, HEAD is on no branch, something is
            staged or under way, or the handbook has changes that are not committed.
        UsageError: If the branch's name is none.
    """
    repository = open_repository(root, instead="leave out --commit")
    _require_identity(repository)
    _require_calm(repository)
    if branch is None and repository.attempt("symbolic-ref", "-q", "HEAD").returncode:
        message = "HEAD is on no branch, so a commit would get lost"
        raise GitError(message, where=str(repository.root), hint="switch to a branch, or give --branch NAME")
    _require_nothing_staged(repository)
    _require_clean(repository, root)
    if branch is not None:
        _switch(repository, branch)
    return LearningCommits(repository, root)


def _require_identity(repository: Repository) -> None:
    for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        if repository.attempt("-c", "user.useConfigOnly=true", "var", name).returncode:
            hint = 'say who: `git config user.name "..."` and `git config user.email "..."`'
            message = "git does not know whom to name as author"
            raise GitError(message, where=str(repository.root), hint=hint)


def _require_calm(repository: Repository) -> None:
    for name in _UNDER_WAY:
        if (repository.root / repository.text("rev-parse", "--git-path", name)).exists():
            message = f"a {name.split('_HEAD', maxsplit=1)[0].partition('-')[0].lower().replace('_', '-')} is under way"
            raise GitError(message, where=str(repository.root), hint="end or abort it first, see `git status`")


def _require_nothing_staged(repository: Repository) -> None:
    staged = _names(repository.run("diff", "--cached", "--name-only", "--no-renames", "-z"))
    if staged:
        message = (
            f"{', '.join(staged[:3])}{' and more' if len(staged) > 3 else ''} would be committed too: it is staged"  # noqa: PLR2004
        )
        raise GitError(
            message, where=str(repository.root), hint="commit it first, or unstage it with `git restore --staged`"
        )


def _require_clean(repository: Repository, root: Path) -> None:
    """Refuse changes by hand: the commit would say that a command learned them. A new handbook has only such."""
    if not list_tracked(repository, root):
        return
    own = list_own_pathspecs(repository, root)
    changed = _names(repository.run("diff", "--name-only", "--no-renames", "-z", "--", *own))
    changed += _names(repository.run("ls-files", "--others", "--exclude-standard", "-z", "--", *own))
    if changed:
        message = f"{', '.join(sorted(changed)[:3])} has changes that are not committed"
        raise GitError(message, where=str(root), hint="commit them first, so that the commit is only what is learned")


def _switch(repository: Repository, branch: str) -> None:
    if repository.attempt("check-ref-format", "--branch", branch).returncode or branch.startswith("-"):
        message = f"{branch!r} is no name of a branch"
        raise UsageError(message, where="--branch")
    exists = repository.attempt("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}").returncode == 0
    repository.run("switch", "-q", *([branch] if exists else ["-c", branch]))


def list_own_pathspecs(repository: Repository, root: Path) -> list[str]:
    """Return the file and folders that a handbook consists of, within the repository."""
    folder = repository.path_of(root)
    names = (HANDBOOK_FILE, SCHEMA_FOLDER, *(kind.folder for kind in FOLDER_KINDS))
    return [f"{folder}/{name}" if folder else name for name in names]


def list_tracked(repository: Repository, root: Path) -> list[str]:
    """Return the handbook's files that git knows of, within the repository."""
    return _names(repository.run("ls-files", "-z", "--", *list_own_pathspecs(repository, root)))


def _names(listing: bytes) -> list[str]:
    return [os.fsdecode(name) for name in listing.split(b"\0") if name]


def _compose(subject: str, body: Sequence[str], trailers: Mapping[str, str]) -> str:
    line = " ".join(subject.split())
    if len(line) > _SUBJECT_LENGTH:
        line = f"{line[: _SUBJECT_LENGTH - 1].rstrip()}…"
    text = "".join(f"{' '.join(part.split())}\n" for part in body)
    ends = "".join(f"{name}: {' '.join(value.split())}\n" for name, value in trailers.items() if value)
    return "\n".join(part for part in (f"{line}\n", text, ends) if part)


def digest_evidence(evidence: Sequence[EvidenceSource]) -> str:
    """Return one digest for a whole ledger, the same for the same logs in any order."""
    parts = sorted(source.digest for source in evidence)
    return f"blake2b:{blake2b(chr(10).join(parts).encode(), digest_size=16).hexdigest()}" if parts else ""


def describe_evidence(before: Handbook, after: Handbook) -> str:
    """Return what a command counted, for a subject: how many traces of which logs; of a log that grew, the new ones."""
    added = [source for source in after.evidence if source not in before.evidence]
    known = {source.name: source for source in before.evidence if source not in after.evidence}
    traces = sum(source.traces - _count_grown(known.get(source.name), source) for source in added)
    names = ", ".join(dict.fromkeys(source.name for source in added))
    return f"{traces:,} traces of {names}" if added else ""


def _count_grown(before: EvidenceSource | None, after: EvidenceSource) -> int:
    """Return the traces of a log that were counted before: none of one that did not grow."""
    return before.traces if before is not None and before.bytes < after.bytes else 0
