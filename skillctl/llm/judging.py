"""Verdicts on answers: by the rule that the query declares, or by a program that the user names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from skillctl.core.grading import Verdict, grade
from skillctl.errors import OutsideError

if TYPE_CHECKING:
    from skillctl.core.exploring import ExploreQuery
    from skillctl.llm.programs import ProgramRunner


class Judge(Protocol):
    """Says whether an answer is right; from several threads at once."""

    def judge(self, query: ExploreQuery, answer: str) -> Verdict | None:
        """Return the verdict, ``None`` where nothing is known to compare with.

        Raises:
            UngradableError: If the rule cannot be applied to the answer.
            OutsideError: If the program failed.
        """
        ...


class RuleJudge:
    """Judges by the query's own rule."""

    def judge(self, query: ExploreQuery, answer: str) -> Verdict | None:
        """Return the verdict of the rule, ``None`` without a reference."""
        return grade(answer, query.reference, query.scoring) if query.has_reference else None


class CommandJudge:
    """Judges by a program: ``{"query", "answer", "reference"}`` on stdin, ``{"success": true}`` on stdout.

    Args:
        command: Program and arguments; from the command line, never from a file of queries.
        runner: Runs the program.
        timeout_s: Seconds after which there is no verdict.
    """

    def __init__(self, command: tuple[str, ...], runner: ProgramRunner, *, timeout_s: float) -> None:
        self._command = command
        self._runner = runner
        self._timeout_s = timeout_s

    def judge(self, query: ExploreQuery, answer: str) -> Verdict | None:
        """Return the verdict of the program."""
        request = {"query": query.text, "answer": answer, "reference": query.reference}
        reply = self._runner.run(self._command, request, folder=None, timeout_s=self._timeout_s)
        if not isinstance(reply, dict) or not isinstance(reply.get("success"), bool):
            message = f'`{" ".join(self._command)}` must print {{"success": true}} or {{"success": false}}'
            raise OutsideError(message, code="bad_reply")
        success: bool = reply["success"]
        return Verdict(success=success, score=self._read_score(reply.get("score"), success=success), detail="command")

    def _read_score(self, score: object, *, success: bool) -> float:
        if score is None:
            return float(success)
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            message = f"`{' '.join(self._command)}` printed a score that is no number: {score!r}"
            raise OutsideError(message, code="bad_reply")
        return float(score)
