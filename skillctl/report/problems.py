"""Problems of handbooks, for people and for scripts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from skillctl.model.problem import Problem


def render_problems(problems: Sequence[Problem]) -> str:
    """Return one line a problem: ``file:line::path: message``."""
    return "".join(f"{problem}\n" for problem in problems)


def render_problems_json(handbooks: Sequence[Path], problems: Sequence[Problem]) -> str:
    """Return the result of a validation in the shape of ``validate.schema.json``."""
    found = [{"file": one.file, "line": one.line or None, "path": one.path, "message": one.message} for one in problems]
    return json.dumps({"handbooks": [str(path) for path in handbooks], "problems": found}, ensure_ascii=False, indent=2)


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun in singular or plural."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
