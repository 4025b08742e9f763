"""Counts traces into evidence, batch by batch, in memory that grows with distinct states alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skillctl.core.profile.decay import Decay
from skillctl.core.profile.query_credits import Places, QueryCredits
from skillctl.core.profile.seen_traces import SeenTraces
from skillctl.core.run.conversation import read_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from skillctl.core.orchestrate.orchestration import Orchestrator
    from skillctl.core.profile.evidence import Evidence
    from skillctl.core.profile.half_life import HalfLife
    from skillctl.model.handbook import ModeId
    from skillctl.model.trace import Step, Trace

_CODES = {False: 0, True: 1, None: 2}
_NO_VERDICT = _CODES[None]


class Added(NamedTuple):
    """What a batch added.

    Attributes:
        traces: Counted traces.
        no_verdict: How many of them had no verdict.
        newest_s: The newest time of those that had one, where evidence decays by time.
    """

    traces: int = 0
    no_verdict: int = 0
    newest_s: float | None = None


@dataclass(slots=True)
class CountReport:
    """What happened to the traces of a run.

    Attributes:
        traces: Counted traces.
        no_verdict: How many of them had no verdict.
        duplicates: Traces that were seen before, and not counted again.
        conflicts: How many of the duplicates have another verdict; the first one counts.
        unknown: Traces that were not counted, by agent and mode (``None`` for the default mode).
        dropped_skills: Traces that name a skill that is not registered, by skill.
    """

    traces: int = 0
    no_verdict: int = 0
    duplicates: int = 0
    conflicts: int = 0
    unknown: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    dropped_skills: Counter[str] = field(default_factory=Counter)


class _Runs(NamedTuple):
    """Runs to count, in the order in which they happened."""

    pairs: NDArray[np.int64]
    verdicts: NDArray[np.int8]
    tables: NDArray[np.int64]
    rows: NDArray[np.int64]
    metrics: NDArray[np.float64]
    times: NDArray[np.float64]


class EvidenceCounter:
    """Adds traces to evidence.

    Args:
        evidence: Where to count, changed in place.
        open_orchestrator: Called once for each mode with skills in which a trace names none.
        half_life: How evidence decays, or ``None``.
        newest_s: With a half-life in time, the newest time that is in the evidence.
    """

    def __init__(
        self,
        evidence: Evidence,
        open_orchestrator: Callable[[ModeId], Orchestrator],
        *,
        half_life: HalfLife | None = None,
        newest_s: float | None = None,
    ) -> None:
        self.report = CountReport()
        self._evidence = evidence
        self._layout = evidence.layout
        self._seen = SeenTraces()
        self._decay = Decay(evidence, half_life, newest_s)
        self._credits = QueryCredits(evidence.layout, open_orchestrator, self.report.dropped_skills)

    def add(self, traces: Sequence[Trace], *, is_new: bool = True) -> Added:
        """Count a batch.

        Args:
            traces: In the order of the log.
            is_new: Whether to count them; traces counted in an earlier run are only remembered.
        """
        traces, pairs = self._find_pairs(traces, is_new=is_new)
        if not len(pairs):
            return Added()
        verdicts = np.array([_CODES[trace.success] for trace in traces], dtype=np.int8)
        admission = self._seen.admit(_hash(traces), verdicts)
        if not is_new:
            return Added()
        self.report.conflicts += admission.conflicts
        first = admission.is_first
        if not first.all():
            self.report.duplicates += int(np.count_nonzero(~first))
            traces = [trace for trace, is_first in zip(traces, first, strict=True) if is_first]
            pairs, verdicts = pairs[first], verdicts[first]
        newest = self._count(self._gather(traces, pairs, verdicts))
        added = Added(len(traces), int(np.count_nonzero(verdicts == _NO_VERDICT)), newest)
        self.report.traces += added.traces
        self.report.no_verdict += added.no_verdict
        return added

    def _find_pairs(self, traces: Sequence[Trace], *, is_new: bool) -> tuple[Sequence[Trace], NDArray[np.int64]]:
        find = self._layout.pairs.get
        pairs = np.array([find((trace.agent, trace.mode), -1) for trace in traces], dtype=np.int64)
        known = pairs >= 0
        if known.all():
            return traces, pairs
        if is_new:
            self.report.unknown.update(
                (trace.agent, trace.mode) for trace, is_known in zip(traces, known, strict=True) if not is_known
            )
        return [trace for trace, is_known in zip(traces, known, strict=True) if is_known], pairs[known]

    def _gather(self, traces: Sequence[Trace], pairs: NDArray[np.int64], verdicts: NDArray[np.int8]) -> _Runs:
        states = [
            self._find_state(trace, pair) if trace.steps else trace.query
            for trace, pair in zip(traces, pairs.tolist(), strict=True)
        ]
        places = self._credits.find_rows(states, pairs, [trace.skills for trace in traces])
        runs = _Runs(
            pairs,
            verdicts,
            places.tables,
            places.rows,
            _measure(traces),
            np.array([trace.time_s for trace in traces], dtype=np.float64),
        )
        return self._with_steps(traces, runs) if any(trace.steps for trace in traces) else runs

    def _find_state(self, trace: Trace, own: int) -> str:
        """Return what the trace's own agent set out from: without a step of its own, it came after all of them."""
        numbers = (number for number, step in enumerate(trace.steps) if self._find_pair(step, own) == own)
        return read_state(trace, next(numbers, len(trace.steps)))

    def _find_pair(self, step: Step, own: int) -> int:
        """Return the pair that ran a step, -1 for one that is not in the handbook; unnamed it is the trace's own."""
        return self._layout.pairs.get((step.agent, step.mode), -1) if step.agent and step.mode else own

    def _with_steps(self, traces: Sequence[Trace], runs: _Runs) -> _Runs:
        """Add the steps that other agents or modes of the handbook ran within the traces."""
        found = [
            (index, pair, number)
            for index, (trace, own) in enumerate(zip(traces, runs.pairs.tolist(), strict=True))
            for number, step in enumerate(trace.steps)
            if (pair := self._find_pair(step, own)) not in {-1, own}
        ]
        if not found:
            return runs
        owners = [traces[index] for index, _, _ in found]
        steps_found = [trace.steps[number] for trace, (_, _, number) in zip(owners, found, strict=True)]
        pairs = np.array([pair for _, pair, _ in found], dtype=np.int64)
        verdicts = [_judge_step(trace, step) for trace, step in zip(owners, steps_found, strict=True)]
        states = [read_state(trace, number) for trace, (_, _, number) in zip(owners, found, strict=True)]
        places = self._credits.find_rows(states, pairs, [step.skills for step in steps_found])
        metrics = np.full((len(found), runs.metrics.shape[1]), np.nan)
        metrics[:, 0] = np.array([None if step.error else step.cost_usd for step in steps_found], dtype=np.float64)
        steps = _Runs(
            pairs,
            np.array([_CODES[verdict] for verdict in verdicts], dtype=np.int8),
            places.tables,
            places.rows,
            metrics,
            np.array([trace.time_s for trace in owners], dtype=np.float64),
        )
        order = np.argsort([*range(len(traces)), *(index for index, _, _ in found)], kind="stable")
        both: Iterable[tuple[Any, Any]] = zip(runs, steps, strict=True)
        return _Runs(*(np.concatenate(columns)[order] for columns in both))

    def _count(self, runs: _Runs) -> float | None:
        """Add runs to the evidence and return, where it decays by time, the newest time of those with a verdict."""
        evidence = self._evidence
        evidence.moments.add(runs.pairs, runs.metrics)
        judged = runs.verdicts != _NO_VERDICT
        if not judged.any():
            return None
        pairs, verdicts = runs.pairs[judged], runs.verdicts[judged]
        scale = self._decay.age(pairs, runs.times[judged])
        evidence.runs += np.bincount(pairs, minlength=len(evidence.runs))
        cells = self._layout.first_cell_of_pair[pairs]
        tables, rows = runs.tables[judged], runs.rows[judged]
        for verdict, total in ((0, evidence.failures), (1, evidence.successes)):
            chosen = verdicts == verdict
            places = Places(tables[chosen], rows[chosen])
            self._credits.credit(total, places, cells[chosen], scale[chosen])
        times = runs.times[judged]
        return float(times.max()) if self._decay.is_by_time else None


def _judge_step(trace: Trace, step: Step) -> bool | None:
    """Return the verdict on a step: its own, else that of its trajectory; an outside failure has none."""
    if step.error is not None:
        return None
    return trace.success if step.success is None else step.success


def _own_cost(trace: Trace) -> float | None:
    """Return what the trace's own agent cost: of a trajectory with steps of others, only its own steps."""
    own = [step.cost_usd for step in trace.steps if step.agent == trace.agent and step.mode == trace.mode]
    if len(own) == len(trace.steps) or not own or trace.cost_usd is None:
        return trace.cost_usd
    known = [cost for cost in own if cost is not None]
    return sum(known) if len(known) == len(own) else trace.cost_usd


def _hash(traces: Sequence[Trace]) -> NDArray[np.uint64]:
    """Return eight bytes of each trace's identity.

    Beside its id that is whose run it was, in which mode, on which query: many tools give one trace id to all
    calls of a session.
    """
    digests = [
        blake2b(f"{trace.trace_id!r}\n{trace.query_id!r}\n{trace.agent}\n{trace.mode}".encode(), digest_size=8).digest()
        for trace in traces
    ]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _measure(traces: Sequence[Trace]) -> NDArray[np.float64]:
    """Return the metrics of each trace, NaN for unknown; a run that an outside error ended says nothing of cost."""
    columns = [
        [_own_cost(trace) if trace.steps else trace.cost_usd for trace in traces],
        [trace.prompt_tokens for trace in traces],
        [trace.completion_tokens for trace in traces],
        [trace.latency_s for trace in traces],
        [len(trace.steps) or None for trace in traces],
    ]
    metrics = np.array(columns, dtype=np.float64).T
    failed = [index for index, trace in enumerate(traces) if trace.error is not None]
    metrics[failed] = np.nan
    return metrics
