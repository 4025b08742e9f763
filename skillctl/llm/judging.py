"""Verdicts on answers: by the rule that the query declares, or by a program that the user names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

from skillctl.core.run.grading import Verdict, grade
from skillctl.core.run.loop import Check
from skillctl.errors import OutsideError
from skillctl.llm.programs import read_cost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillctl.core.run.conversation import Conversation
    from skillctl.core.run.exploring import ExploreQuery
    from skillctl.llm.programs import ProgramRunner

_NO_VERDICT = 'must print {"success": true} or {"success": false}'


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


class _VerdictProgram:
    """A program that says of answers whether they are right.

    Args:
        command: Program and arguments; from the command line, never from a file of queries.
        runner: Runs the program.
        timeout_s: Seconds after which there is no verdict.
    """

    def __init__(self, command: tuple[str, ...], runner: ProgramRunner, *, timeout_s: float) -> None:
        self._command = command
        self._runner = runner
        self._timeout_s = timeout_s

    def _ask(self, request: Mapping[str, object]) -> Mapping[str, Any]:
        """Return what the program says of an answer.

        Raises:
            OutsideError: If it fails, or prints no object.
        """
        reply = self._runner.run(self._command, request, folder=None, timeout_s=self._timeout_s)
        if not isinstance(reply, dict):
            raise self._error(_NO_VERDICT)
        return reply

    def _error(self, fault: str) -> OutsideError:
        return OutsideError(f"`{' '.join(self._command)}` {fault}", code="bad_reply")


class CommandJudge(_VerdictProgram):
    """Judges by a program: ``{"query", "answer", "reference"}`` on stdin, ``{"success": true}`` on stdout."""

    def judge(self, query: ExploreQuery, answer: str) -> Verdict | None:
        """Return the verdict of the program."""
        reply = self._ask({"query": query.text, "answer": answer, "reference": query.reference})
        success = reply.get("success")
        if not isinstance(success, bool):
            raise self._error(_NO_VERDICT)
        return Verdict(success=success, score=self._read_score(reply.get("score"), success=success), detail="command")

    def _read_score(self, score: object, *, success: bool) -> float:
        if score is None:
            return float(success)
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            fault = f"printed a score that is no number: {score!r}"
            raise self._error(fault)
        return float(score)


class CommandChecker(_VerdictProgram):
    """Verifies answers by a program: ``{"query", "id", "answer"}`` on stdin, ``{"success": true}`` on stdout."""

    def check(self, conversation: Conversation, answer: str) -> Check:
        """Return the verdict of the program; one that fails or says null has none."""
        try:
            reply = self._ask({"query": conversation.text, "id": conversation.query_id, "answer": answer})
        except OutsideError:
            return Check(None)
        success = reply.get("success")
        return Check(success if isinstance(success, bool) else None, read_cost(reply))
