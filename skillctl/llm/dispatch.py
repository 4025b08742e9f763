"""Runs many jobs at once within limits, and hands the results over in the order of the jobs."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Generic, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

# How far a fast agent may run ahead of a slow one; bounds the results that wait for their turn.
LOOKAHEAD = 1_000


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may run at once.

    Attributes:
        total: Jobs in all.
        per_lane: Jobs of one lane; an agent is a lane.
        in_order: Whether a job starts only after all before it have started.
    """

    total: int = 8
    per_lane: int = 8
    in_order: bool = False


class Dispatcher(Generic[Job, Result]):
    """Starts jobs on threads and yields their results in order.

    Threads are daemons: an interrupted run does not wait for calls that are under way.

    Args:
        work: Does one job; an exception ends the run and is raised where the results are read.
        lane: Names the lane of a job.
        limits: How much may run at once.
        may_start: Asked before each start, in order; ``False`` waits until a running job has ended, and ends the
            run when none is running.
    """

    def __init__(
        self,
        work: Callable[[Job], Result],
        *,
        lane: Callable[[Job], str],
        limits: Limits,
        may_start: Callable[[Job], bool] = lambda _job: True,
    ) -> None:
        self._work = work
        self._lane = lane
        self._limits = limits
        self._may_start = may_start
        self._done: SimpleQueue[tuple[int, Result | None, BaseException | None]] = SimpleQueue()
        self._running: Counter[str] = Counter()

    def run(self, jobs: Sequence[Job]) -> Iterator[Result]:
        """Yield the result of each job in order, up to the first one that may not start."""
        waiting = list(range(min(len(jobs), LOOKAHEAD)))
        seen, next_index = len(waiting), 0
        early: dict[int, Result] = {}
        while next_index < len(jobs):
            self._start_all(jobs, waiting)
            if not self._running.total():
                return
            index, result, error = self._done.get()
            self._running[self._lane(jobs[index])] -= 1
            if error is not None:
                raise error
            early[index] = result  # type: ignore[assignment] # a job without error has a result
            while next_index in early:
                yield early.pop(next_index)
                next_index += 1
            reach = min(len(jobs), next_index + LOOKAHEAD)
            waiting.extend(range(seen, reach))
            seen = max(seen, reach)

    def _start_all(self, jobs: Sequence[Job], waiting: list[int]) -> None:
        while (index := self._next_startable(jobs, waiting)) is not None:
            waiting.remove(index)
            self._running[self._lane(jobs[index])] += 1
            threading.Thread(target=self._do, args=(index, jobs[index]), daemon=True).start()

    def _next_startable(self, jobs: Sequence[Job], waiting: list[int]) -> int | None:
        if self._running.total() >= self._limits.total:
            return None
        candidates = waiting[:1] if self._limits.in_order else waiting
        for index in candidates:
            if self._running[self._lane(jobs[index])] < self._limits.per_lane:
                return index if self._may_start(jobs[index]) else None
        return None

    def _do(self, index: int, job: Job) -> None:
        try:
            self._done.put((index, self._work(job), None))
        except BaseException as error:  # noqa: BLE001 - handed to the reader, who raises it
            self._done.put((index, None, error))
