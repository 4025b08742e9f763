"""What validation finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One fault in one file.

    Attributes:
        file: Path of the file as the user gave it.
        line: 1-based line, 0 when the fault has no line.
        path: JSON path within the document, such as ``$.skills[3].parent``.
        message: What is wrong and what to do, in one sentence.
    """

    file: str
    line: int
    path: str
    message: str

    def __str__(self) -> str:
        """Return ``file:line::path: message``, the form that editors and people can follow."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}::{self.path}: {self.message}"
