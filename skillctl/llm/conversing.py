"""Runs many conversations within limits and turns each into a trace, in the order of the queries."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from skillctl.core.run.conversation import Conversation, Turn
from skillctl.core.run.grading import UngradableError, Verdict
from skillctl.core.run.run_trace import build_run_trace
from skillctl.errors import OutsideError
from skillctl.llm.dispatch import Dispatcher, Limits
from skillctl.llm.limiting import BudgetSpentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from skillctl.core.run.conversation import Decision
    from skillctl.core.run.exploring import ExploreQuery
    from skillctl.core.run.loop import Finished, Loop
    from skillctl.core.run.transitions import ModeFacts
    from skillctl.llm.judging import Judge


@dataclass(frozen=True, slots=True)
class Job:
    """A query to run, and the id of its trace."""

    query: ExploreQuery
    trace_id: str


class Result(NamedTuple):
    """A conversation that ended; without a trace if nobody could do anything."""

    job: Job
    finished: Finished
    trace: dict[str, Any] | None


class Conversations:
    """Runs conversations.

    Args:
        loop: Runs one.
        judge: Grades the answers that stand.
        concurrency: So many at once.
    """

    def __init__(self, loop: Loop, judge: Judge, *, concurrency: int) -> None:
        self._loop = loop
        self._judge = judge
        self._concurrency = concurrency
        self._is_spent = threading.Event()

    def run(self, jobs: Sequence[Job]) -> Iterator[Result]:
        """Yield results in order; what the budget does not allow is left out."""
        dispatcher: Dispatcher[Job, Result | None] = Dispatcher(
            self._converse,
            lane=lambda _job: "",
            limits=Limits(self._concurrency, self._concurrency),
            may_start=lambda _job: not self._is_spent.is_set(),
        )
        return (result for result in dispatcher.run(jobs) if result is not None)

    def _converse(self, job: Job) -> Result | None:
        query = job.query
        try:
            finished = self._loop.run(Conversation(query.id, query.text, query.messages, needs=query.needs))
        except BudgetSpentError:
            self._is_spent.set()
            return None
        verdict, error = self._grade(query, finished)
        return Result(job, finished, build_run_trace(job.trace_id, query, finished, verdict, judge_error=error))

    def _grade(self, query: ExploreQuery, finished: Finished) -> tuple[Verdict | None, str | None]:
        """Return the verdict on the answer that stands; without a reference, that of the checker."""
        turn = finished.conversation.answer_turn
        if turn is None:
            return None, None
        try:
            verdict = self._judge.judge(query, turn.observation)
        except (UngradableError, OutsideError):
            return None, "scoring_failed"
        if verdict is None and turn.succeeded is not None:
            return Verdict(success=turn.succeeded, score=float(turn.succeeded), detail="checker"), None
        return verdict, None


class DryActor:
    """Acts as if every turn went well, at its expected cost: what a run will probably take.

    Args:
        modes: Of the handbook.
        expect_cost: Of an agent in a mode, ``None`` for unknown.
    """

    def __init__(self, modes: dict[str, ModeFacts], expect_cost: Callable[[str, str], float | None]) -> None:
        self._modes = modes
        self._expect_cost = expect_cost

    def act(self, conversation: Conversation, decision: Decision) -> Turn:
        """Return a turn that went well."""
        ends = self._modes[decision.mode].ends
        return Turn(
            decision,
            observation=f"{len(conversation.turns)}",
            is_answer=ends,
            succeeded=None if ends else True,
            cost_usd=self._expect_cost(decision.agent, decision.mode),
        )
