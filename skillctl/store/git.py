"""Git as a program: argument lists, bytes in and out, never the repository of whoever called us."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from skillctl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Within a hook, GIT_DIR, GIT_INDEX_FILE and their like point at the repository that runs the hook, which need not be
# the one that holds the handbook; only what says who commits and how to reach the configuration is kept.
_KEPT = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_SSH")
_LINK = "120000"
_NO_COMMITS = "git has no commit yet"


class GitError(InputError):
    """Git refused; its own words say why."""


class TreeEntry(NamedTuple):
    """A file of a tree: its mode, the id of its content and its path within the repository."""

    mode: str
    blob: str
    path: str


def git_environment() -> dict[str, str]:
    """Return the environment for git: without the caller's repository, with messages that can be read."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name.startswith(_KEPT)}
    return {**kept, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}


class Repository:
    """A git repository with a work tree.

    Args:
        root: Top folder of its work tree.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, *args: str, data: bytes | None = None) -> bytes:
        """Run a git command and return what it prints.

        Raises:
            GitError: With git's own words.
        """
        done = self.attempt(*args, data=data)
        if done.returncode:
            raise GitError(_words_of(done), where=str(self.root))
        return done.stdout

    def attempt(self, *args: str, data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        """Run a git command that may fail."""
        return _run(self.root, args, data)

    def text(self, *args: str) -> str:
        """Run a git command and return its one line."""
        return os.fsdecode(self.run(*args)).removesuffix("\n")

    def path_of(self, place: Path) -> str:
        """Return the path of a file or folder within the repository; empty for its root.

        Raises:
            GitError: If it is elsewhere.
        """
        try:
            inside = place.resolve().relative_to(self.root.resolve())
        except ValueError as error:
            message = "is outside the repository"
            raise GitError(message, where=str(place)) from error
        return "" if inside == Path() else inside.as_posix()

    def path_of_entry(self, file: Path) -> str:
        """Return the path of a file within the repository; a symbolic link counts as itself."""
        folder = self.path_of(file.parent)
        return f"{folder}/{file.name}" if folder else file.name

    def is_shallow(self) -> bool:
        """Tell whether only part of the history was fetched."""
        return self.text("rev-parse", "--is-shallow-repository") == "true"

    def has_commits(self) -> bool:
        """Tell whether there is a commit at HEAD."""
        return self.attempt("rev-parse", "--verify", "--quiet", "HEAD^{commit}").returncode == 0

    def resolve(self, revision: str) -> str:
        """Return the id of the commit that a revision names.

        Raises:
            GitError: If there is none; in a shallow clone the hint says how to fetch more.
        """
        done = self.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        found = os.fsdecode(done.stdout).strip()
        if done.returncode or not found:
            if revision == "HEAD" and not self.has_commits():
                raise GitError(_NO_COMMITS, where=str(self.root), hint="commit the handbook first")
            message = f"there is no revision {revision!r}"
            raise GitError(message, where=str(self.root), hint=self._missing_hint())
        return found

    def merge_base(self, one: str, other: str) -> str:
        """Return the best common ancestor of two commits.

        Raises:
            GitError: If none is known.
        """
        done = self.attempt("merge-base", one, other)
        if done.returncode:
            message = f"{one[:12]} and {other[:12]} have no common ancestor here"
            raise GitError(message, where=str(self.root), hint=self._missing_hint())
        return os.fsdecode(done.stdout).strip()

    def _missing_hint(self) -> str:
        if self.is_shallow():
            return (
                "this is a shallow clone: fetch more with `git fetch --deepen=100`, all of it with "
                "`git fetch --unshallow`; in GitHub Actions, check out with `fetch-depth: 0`"
            )
        return "see `git log`; a branch of a remote needs `git fetch` first and its full name, such as origin/main"

    def list_tree(self, commit: str, folder: str) -> list[TreeEntry]:
        """Return all files below a folder at a commit; none where there is no such folder."""
        where = f"{commit}:{folder}" if folder else commit
        if folder and self.attempt("cat-file", "-t", where).stdout.strip() != b"tree":
            return []
        entries = []
        for line in self.run("ls-tree", "-r", "-z", "--full-tree", where).split(b"\0"):
            if line:
                facts, _, path = os.fsdecode(line).partition("\t")
                mode, _, blob = facts.split()
                entries.append(TreeEntry(mode, blob, path))
        return entries

    def read_blobs(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of blobs, read by one process."""
        wanted = list(dict.fromkeys(blobs))
        if not wanted:
            return {}
        stream = self.run("cat-file", "--batch", data="".join(f"{blob}\n" for blob in wanted).encode())
        contents, place = {}, 0
        for blob in wanted:
            end = stream.index(b"\n", place)
            header = stream[place:end].split()
            if header[-1] == b"missing":
                message = f"the object {blob} is missing"
                raise GitError(message, where=str(self.root), hint=self._missing_hint())
            size = int(header[-1])
            contents[blob] = stream[end + 1 : end + 1 + size]
            place = end + 2 + size
        return contents


def open_repository(place: Path, *, instead: str = "") -> Repository:
    """Return the repository that a path lies in; the path itself need not exist any more.

    Args:
        place: The path.
        instead: What else the user can do where it lies in none.

    Raises:
        GitError: If it lies in none, or git is not installed.
    """
    folder = place.absolute()
    while not folder.is_dir():
        folder = folder.parent
    done = _run(folder, ("rev-parse", "--show-toplevel"), None)
    if done.returncode:
        words = _words_of(done)
        if "not a git repository" in words:
            message = "is not in a git repository"
            raise GitError(
                message, where=str(place), hint=", or ".join(filter(None, ["make one with `git init`", instead]))
            )
        raise GitError(words, where=str(place))
    top = os.fsdecode(done.stdout).removesuffix("\n")
    if not top:
        message = "is in a bare repository, which has no work tree"
        raise GitError(message, where=str(place), hint="clone it and work in the clone")
    return Repository(Path(top))


def is_link(entry: TreeEntry) -> bool:
    """Tell whether an entry of a tree is a symbolic link."""
    return entry.mode == _LINK


def _run(folder: Path, args: Sequence[str], data: bytes | None) -> subprocess.CompletedProcess[bytes]:
    environment: Mapping[str, str] = git_environment()
    command = ["git", "--literal-pathspecs", "-c", "core.quotePath=false", *args]
    try:
        return subprocess.run(command, cwd=folder, env=environment, input=data or b"", capture_output=True, check=False)
    except FileNotFoundError as error:
        message = "git is not installed"
        raise GitError(message, hint="install git") from error


def _words_of(done: subprocess.CompletedProcess[bytes]) -> str:
    words = done.stderr.decode("utf-8", "replace").strip() or f"git failed with exit code {done.returncode}"
    return " ".join(words.removeprefix("fatal: ").removeprefix("error: ").split())
