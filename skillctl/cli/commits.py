"""The options `--commit` and `--branch` of every command that learns.

A command wires them up so::

    @commit_options
    def profile_command(..., commit: bool, branch: str | None, ...):
        learning = begin_commit(handbook, commit=commit, branch=branch, dry_run=dry_run)  # before anything is read
        ...                                                                             # load, learn, save
        commit_learning(learning, Lesson("profile", "Count 900 traces of a.jsonl", before, after))
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from skillctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skillctl.model.handbook import Handbook
    from skillctl.store.learning_commits import LearningCommits

_HEADLINES = 5


def commit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--commit` and `--branch` to a command; it gets ``commit: bool`` and ``branch: str | None``."""
    command = click.option(
        "--branch", metavar="NAME", help="With --commit: commit on this branch, made from HEAD if need be."
    )(command)
    return click.option("--commit", is_flag=True, help="Commit what was learned, and nothing else, with git.")(command)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a commit tells.

    Attributes:
        command: Name of the command.
        subject: What was learned, in one line, imperative.
        before: The handbook that the command started from.
        after: The handbook that it saved.
        model: The language model used, or ``None``.
        validation: What validation on held-out queries said, or ``None``.
        details: Lines for the body; without any, the findings that matter most.
    """

    command: str
    subject: str
    before: Handbook
    after: Handbook
    model: str | None = None
    validation: str | None = None
    details: tuple[str, ...] = field(default=())


def begin_commit(root: Path, *, commit: bool, branch: str | None, dry_run: bool = False) -> LearningCommits | None:
    """Check that a commit can be made, and switch to the branch; ``None`` where none is asked for.

    To be called before the handbook is read, as the branch may hold another one.

    Raises:
        UsageError: If a branch is named without `--commit`.
        GitError: If a commit cannot be made; nothing has changed then.
    """
    if not commit:
        if branch is not None:
            message = "--branch needs --commit"
            raise UsageError(message)
        return None
    from skillctl.store.handbook_files import require_folder
    from skillctl.store.learning_commits import prepare_commits

    require_folder(root)
    return None if dry_run else prepare_commits(root, branch)


def commit_learning(learning: LearningCommits | None, lesson: Lesson) -> str | None:
    """Commit what was learned, say so on stderr, and return the commit; ``None`` where there is nothing to commit.

    Raises:
        GitError: If git refuses; what was learned stays in the work tree.
    """
    if learning is None:
        return None
    from skillctl.store.learning_commits import (
        TRAILER_COMMAND,
        TRAILER_EVIDENCE,
        TRAILER_MODEL,
        TRAILER_VALIDATION,
        digest_evidence,
    )

    trailers = {
        TRAILER_COMMAND: lesson.command,
        TRAILER_EVIDENCE: digest_evidence(lesson.after.evidence),
        TRAILER_MODEL: lesson.model or "",
        TRAILER_VALIDATION: lesson.validation or "",
    }
    commit = learning.commit(lesson.subject, trailers, lesson.details or _headlines(lesson))
    click.echo(
        f"committed {commit}: {lesson.subject}" if commit else "nothing changed, so nothing is committed", err=True
    )
    return commit


def _headlines(lesson: Lesson) -> tuple[str, ...]:
    from skillctl.core.diff.handbook_comparison import compare_handbooks
    from skillctl.report.change_sentences import Style, say_finding
    from skillctl.report.diff_text import say_noise

    comparison = compare_handbooks(lesson.before, lesson.after)
    lines = [f"- {say_finding(finding, Style(markdown=False))}" for finding in comparison.findings[:_HEADLINES]]
    hidden = len(comparison.findings) - len(lines)
    lines += [f"- and {hidden} more changes"] if hidden else []
    return (*lines, *([f"- {say_noise(comparison)}"] if comparison.noise else []))
