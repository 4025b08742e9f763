"""Every error that a user can meet, with its exit code; imports nothing."""

from __future__ import annotations

EXIT_OK = 0
EXIT_NO = 1  # it ran, and the answer is no: problems found, a gate failed, some lines failed
EXIT_USAGE = 2
EXIT_INPUT = 3
EXIT_OUTSIDE = 4
EXIT_BUG = 70
EXIT_INTERRUPTED = 130


class SkillctlError(Exception):
    """Base of all expected errors: a sentence that says what and where, and a hint what to do.

    Args:
        message: What went wrong, in one sentence without a final full stop.
        where: ``file:line`` or ``file::$.json.path``, empty when there is no place.
        hint: What the user can do about it, empty when the message says it all.
    """

    exit_code = EXIT_INPUT

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        """Return ``where: message (hint)`` with the empty parts left out."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text} ({self.hint})" if self.hint else text


class UsageError(SkillctlError):
    """Options or arguments that contradict each other."""

    exit_code = EXIT_USAGE


class InputError(SkillctlError):
    """A file, a line or the environment is not what it must be."""


class InvalidHandbookError(InputError):
    """A handbook with problems; the caller lists them all.

    Args:
        problems: The rendered problems, one line each, at least one.
        where: The folder of the handbook.
    """

    def __init__(self, problems: tuple[str, ...], *, where: str) -> None:
        count = len(problems)
        super().__init__(
            f"the handbook has {count} problem{'s' if count != 1 else ''}",
            where=where,
            hint="run `skillctl validate` after mending them",
        )
        self.problems = problems


class LockedError(InputError):
    """Another process is writing the same files."""


class BudgetError(SkillctlError):
    """The limit of cost ended a run before it was complete."""

    exit_code = EXIT_NO


class OutsideError(SkillctlError):
    """A service or program outside skillctl failed; never the fault of the agent's ability.

    Args:
        message: What failed.
        code: A short stable name of the failure, such as ``timeout`` or ``rate_limit``.
        retryable: Whether the same call may succeed later.
        retry_after_s: Seconds that the service asked to wait, if it said so.
    """

    exit_code = EXIT_OUTSIDE

    def __init__(self, message: str, *, code: str, retryable: bool = False, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable
        self.retry_after_s = retry_after_s
