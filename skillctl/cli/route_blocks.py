"""Blocks of lines: read, routed and rendered, in this process or in several, always in order."""

from __future__ import annotations

import gc
import signal
from bisect import bisect_left
from collections import Counter, deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple

from skillctl.core.route.batch_routing import RoutedBlock, Router, RowError
from skillctl.core.route.budget import Upgrades, find_upgrades
from skillctl.errors import SkillctlError
from skillctl.report.decisions import Totals, render_failure, render_group, sum_group
from skillctl.store.jsonl import parse_object, parse_objects, read_runs
from skillctl.store.queries import QueryError, parse_queries, parse_query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from skillctl.model.problem import Problem
    from skillctl.model.query import Query

# The same blocks whatever the number of jobs, so that the same draws and sums are made.
BLOCK_LINES = 2048
BLOCK_BYTES = 4 << 20


@dataclass(slots=True)
class Block:
    """Some lines of the input.

    Attributes:
        number: 0-based number of the block.
        lines: 1-based line numbers.
        raw: The lines.
        size: Their bytes.
        faults: What is wrong with lines that could not be read at all, by place in the block.
    """

    number: int
    lines: list[int] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    size: int = 0
    faults: dict[int, str] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        """Tell whether nothing more fits."""
        return len(self.raw) >= BLOCK_LINES or self.size >= BLOCK_BYTES

    def take(self, numbers: Sequence[int], lines: Sequence[bytes]) -> int:
        """Add lines until the block is full, at least one, and return how many were taken."""
        room = max(BLOCK_LINES - len(self.raw), 1)
        sizes = list(accumulate(map(len, lines[:room]), initial=self.size))
        count = min(bisect_left(sizes, BLOCK_BYTES, 1), len(sizes) - 1)
        self.size = sizes[count]
        self.lines += numbers[:count]
        self.raw += lines[:count]
        return count

    def refuse(self, number: int, fault: str) -> None:
        """Give a line that could not be read its place."""
        self.faults[len(self.raw)] = fault
        self.lines.append(number)
        self.raw.append(b"")


class BlockResult(NamedTuple):
    """What a block came to.

    Attributes:
        data: The output lines, each with its line feed.
        lines: How many there are.
        failed: How many of them are errors.
        totals: Sums over the decisions, one for each mode.
        unknown_skills: Skill ids given by callers that the handbook does not have, with counts.
        upgrades: For a budget's survey, instead of ``data``.
    """

    data: bytes
    lines: int
    failed: int
    totals: list[Totals]
    unknown_skills: Counter[str]
    upgrades: list[Upgrades]


@dataclass(frozen=True, slots=True)
class BlockRouter:
    """Turns blocks into results.

    Args:
        router: Of the handbook.
        explain: Whether decisions say how every agent was scored.
        surveys: Whether only the costs are surveyed, for a budget.
    """

    router: Router
    explain: bool = False
    surveys: bool = False

    def __call__(self, block: Block) -> BlockResult:
        """Route a block."""
        with _collector_paused():
            return self._route(block)

    def _route(self, block: Block) -> BlockResult:
        output = [""] * len(block.raw)
        queries, places = self._parse(block, output)
        failed = len(block.raw) - len(queries)
        routed = self.router.route(queries, block.number)
        if self.surveys:
            return BlockResult(b"", len(output), 0, [], Counter(), [find_upgrades(group) for group in routed.groups])
        self._render(routed, queries, places, output)
        totals = [sum_group(group) for group in routed.groups]
        unknown = Counter(chain.from_iterable(chain.from_iterable(group.unknown_skills for group in routed.groups)))
        data = "\n".join([*output, ""]).encode()
        return BlockResult(data, len(output), failed + len(routed.errors), totals, unknown, [])

    def _parse(self, block: Block, output: list[str]) -> tuple[list[Query], Sequence[int]]:
        objects = None if block.faults else parse_objects(block.raw)
        queries = None if objects is None else parse_queries(objects, block.lines)
        return self._parse_each(block, output) if queries is None else (queries, range(len(queries)))

    def _parse_each(self, block: Block, output: list[str]) -> tuple[list[Query], list[int]]:
        queries, places = [], []
        for place, (line, raw) in enumerate(zip(block.lines, block.raw, strict=True)):
            identifier = None
            try:
                if place in block.faults:
                    raise ValueError(block.faults[place])  # noqa: TRY301 - a fault of the line like the others
                fields = parse_object(raw)
                identifier = fields.get("id")
                queries.append(parse_query(fields, line))
                places.append(place)
            except QueryError as error:
                output[place] = render_failure(identifier, RowError(error.code, error.message), line)
            except ValueError as error:
                output[place] = render_failure(None, RowError("bad_json", str(error)), line)
        return queries, places

    def _render(self, routed: RoutedBlock, queries: list[Query], places: Sequence[int], output: list[str]) -> None:
        for group in routed.groups:
            for place, line in zip(group.places, render_group(group, explain=self.explain), strict=True):
                output[places[place]] = line
        for place, error in routed.errors.items():
            output[places[place]] = render_failure(queries[place].id, error, queries[place].line)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Make the thousands of values of a block without a search for cycles, as they have none: a tenth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def read_blocks(path: str, on_problem: Callable[[Problem], None]) -> Iterator[Block]:
    """Yield the lines of a file, or of stdin for ``-``, in blocks of bounded size.

    A line that is too long has its place in a block, as a fault; other problems go to ``on_problem``.
    """
    block = Block(0)

    def note(problem: Problem) -> None:
        if not problem.line:
            on_problem(problem)
            return
        block.refuse(problem.line, problem.message)

    for numbers, lines in read_runs(path, note):
        start = 0
        while start < len(lines):
            start += block.take(numbers[start:], lines[start:])
            if block.is_full:
                yield block
                block = Block(block.number + 1)
    if block.raw:
        yield block


def run_blocks(blocks: Iterable[Block], route: BlockRouter, jobs: int) -> Iterator[BlockResult]:
    """Yield the results of blocks in order; each job holds one block at a time."""
    if jobs == 1:
        yield from map(route, blocks)
        return
    workers: list[_Worker] = []
    busy: deque[_Worker] = deque()
    try:
        for block in blocks:
            if len(workers) < jobs:
                worker = _Worker(route, [other.connection for other in workers])
                workers.append(worker)
                worker.send(block)
            else:
                worker = busy.popleft()
                result = worker.receive()
                worker.send(block)
                yield result
            busy.append(worker)
        while busy:
            yield busy.popleft().receive()
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A process that routes one block at a time."""

    def __init__(self, route: BlockRouter, inherited: list[Connection]) -> None:
        from multiprocessing import get_all_start_methods, get_context  # one job does without

        context: Any = get_context("fork" if "fork" in get_all_start_methods() else None)
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, [*inherited, self.connection], route), daemon=True)
        self._process.start()
        theirs.close()

    def send(self, block: Block) -> None:
        """Hand over a block; the worker must be idle."""
        self.connection.send(block)

    def receive(self) -> BlockResult:
        """Wait for the result of the block that was sent last."""
        try:
            result = self.connection.recv()
        except EOFError:
            message = "a worker process ended unexpectedly; was it killed for want of memory?"
            raise SkillctlError(message, hint="try again with fewer --jobs") from None
        if isinstance(result, Exception):
            raise result
        return result  # type: ignore[no-any-return] # what _serve sends

    def stop(self) -> None:
        """End the process, whatever it does."""
        self.connection.close()
        self._process.terminate()
        self._process.join()


def _serve(connection: Connection, inherited: list[Connection], route: BlockRouter) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops its workers
    for other in inherited:
        other.close()  # else nobody would notice when the parent is gone
    while True:
        try:
            block = connection.recv()
        except EOFError:
            return
        try:
            result: BlockResult | Exception = route(block)
        except Exception as error:  # noqa: BLE001 - handed to the parent, which raises it
            result = error
        connection.send(result)
