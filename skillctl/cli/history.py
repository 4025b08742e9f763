"""What `log` and `blame` share: the steps of a handbook's history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillctl.errors import InputError, InvalidHandbookError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skillctl.core.diff.handbook_comparison import Comparison, Finding
    from skillctl.model.handbook import EvidenceSource
    from skillctl.report.history_text import Step
    from skillctl.store.git import Repository
    from skillctl.store.history import Commit


def read_step(
    repository: Repository, root: Path, commit: Commit, keep: Callable[[Comparison], list[Finding]], shown: int | None
) -> Step:
    """Return what a commit did.

    Args:
        repository: Where.
        root: The handbook.
        commit: Of its history.
        keep: Which findings to tell.
        shown: How many of them, ``None`` for all.
    """
    from skillctl.core.diff.handbook_comparison import compare_handbooks
    from skillctl.report.history_text import Step
    from skillctl.store.history import load_step
    from skillctl.store.learning_commits import TRAILER_COMMAND, TRAILER_MODEL, TRAILER_VALIDATION

    fault: str | None = None
    findings: list[Finding] = []
    counted: tuple[EvidenceSource, ...] = ()
    try:
        comparison = compare_handbooks(*load_step(repository, root, commit))
        findings, counted = keep(comparison), comparison.counted
    except InvalidHandbookError as error:
        fault = f"the handbook is not valid here: {error.problems[0]}"
    except InputError as error:
        fault = f"the handbook cannot be read here: {error}"
    return Step(
        commit=commit.id,
        author=commit.author,
        date=commit.date,
        subject=commit.subject,
        command=commit.trailers.get(TRAILER_COMMAND),
        model=commit.trailers.get(TRAILER_MODEL),
        validation=commit.trailers.get(TRAILER_VALIDATION),
        counted=counted,
        findings=tuple(findings[:shown]),
        hidden=len(findings) - len(findings[:shown]),
        fault=fault,
    )
