"""Logs become profiles: what is new in them is counted into the evidence of a handbook."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from skillctl.cli.named_orchestrators import open_named
from skillctl.core.agents.enrolment import enrol, explain_unknown
from skillctl.core.agents.survey import survey_agents
from skillctl.core.profile.counting import EvidenceCounter
from skillctl.core.profile.evidence import Evidence, read_evidence
from skillctl.core.profile.pair_layout import build_layout
from skillctl.core.profile.profiling import build_profiles
from skillctl.model.handbook import EvidenceSource, Handbook
from skillctl.report.profile_report import Counts
from skillctl.store.ledger import SourceMeter, match_sources, source_name, update_ledger
from skillctl.store.traces import read_trace_batches, read_traces

if TYPE_CHECKING:
    from skillctl.cli.language_models import LanguageModels
    from skillctl.cli.trace_sources import TraceSources
    from skillctl.core.orchestrate.orchestration import Orchestrator
    from skillctl.core.profile.half_life import HalfLife
    from skillctl.model.handbook import ModeId
    from skillctl.model.problem import Problem


@dataclass(frozen=True, slots=True)
class Plan:
    """How to profile.

    Attributes:
        update: Whether to keep the evidence and add what the ledger does not have.
        success_at: The score from which a trace without ``success`` counts as one.
        half_life: How evidence decays, or ``None``.
        adds: Whether to add agents and modes that the handbook does not have.
        orchestrator: Who names the skills of traces that name none.
        models: Opens language models, or ``None`` where none can be asked.
    """

    update: bool
    success_at: float
    half_life: HalfLife | None
    adds: bool
    orchestrator: str = "embedded"
    models: LanguageModels | None = None

    def reads_twice(self, handbook: Handbook) -> bool:
        """Tell whether the logs must be read before they are counted."""
        return self.adds or (self.update and bool(handbook.evidence))


class Profiled(NamedTuple):
    """A handbook with new profiles, and what happened to the lines."""

    handbook: Handbook
    counts: Counts


def profile_logs(handbook: Handbook, sources: TraceSources, plan: Plan) -> Profiled:
    """Return the handbook with the profiles and the ledger that follow from the logs.

    Raises:
        InputError: If a log that was counted before has changed, or evidence cannot decay as asked.
    """
    if plan.adds:
        handbook = _add_agents(handbook, sources)
    layout = build_layout(handbook)
    evidence = read_evidence(handbook, layout) if plan.update else Evidence(layout)
    ledger = handbook.evidence if plan.update else ()
    matches = match_sources(sources.places, ledger)
    counter = _open_counter(handbook, evidence, ledger, plan)
    reader = _Reader(sources, counter, plan.success_at)
    counted = [(before, reader.count(path, before)) for path, before in matches.items()]
    evidence.round()
    after = replace(build_profiles(handbook, evidence), evidence=update_ledger(ledger, counted))
    report = counter.report
    counts = Counts(
        lines=reader.lines,
        traces=report.traces,
        no_verdict=report.no_verdict,
        duplicates=report.duplicates,
        conflicts=report.conflicts,
        bad_lines=sources.bad_lines,
        unknown=explain_unknown(handbook, report.unknown),
        dropped_skills=dict(sorted(report.dropped_skills.items())),
    )
    return Profiled(after, counts)


def _open_counter(
    handbook: Handbook, evidence: Evidence, ledger: tuple[EvidenceSource, ...], plan: Plan
) -> EvidenceCounter:
    def open_one(mode: ModeId) -> Orchestrator:
        return open_named(plan.orchestrator, handbook, None, mode, (), models=plan.models)

    newest = [entry.newest_s for entry in ledger if entry.newest_s is not None]
    return EvidenceCounter(evidence, open_one, half_life=plan.half_life, newest_s=max(newest, default=None))


def _add_agents(handbook: Handbook, sources: TraceSources) -> Handbook:
    logs = (read_traces(place, on_problem=_ignore) for place in sources.places.values())
    default = handbook.default_mode() if handbook.modes else "answer"
    return enrol(handbook, survey_agents(chain.from_iterable(logs), default))


def _ignore(_: Problem) -> None:
    """Leave the report of faults to the reading that counts."""


class _Reader:
    """Reads logs into a counter.

    Attributes:
        lines: Lines with a trace that were not counted in an earlier run.
    """

    def __init__(self, sources: TraceSources, counter: EvidenceCounter, success_at: float) -> None:
        self.lines = 0
        self._sources = sources
        self._counter = counter
        self._success_at = success_at

    def count(self, path: str, before: EvidenceSource | None) -> EvidenceSource:
        """Count what a log has beyond its entry in the ledger, and return the entry of the new part."""
        boundary = 0 if before is None else before.bytes
        is_new = boundary == 0

        def report(problem: Problem) -> None:
            if is_new:  # older faults were said when their lines were read first
                self._sources.report(problem)

        meter = SourceMeter()
        traces = no_verdict = 0
        newest: list[float] = []
        batches = read_trace_batches(
            self._sources.places[path],
            success_at=self._success_at,
            on_problem=report,
            boundary=boundary,
            on_read=self._sources.on_read,
        )
        for batch in batches:
            meter.add(batch.data)
            added = self._counter.add(batch.traces, is_new=is_new)
            self.lines += len(batch.traces) if is_new else 0
            traces += added.traces
            no_verdict += added.no_verdict
            if added.newest_s is not None:
                newest.append(added.newest_s)
            is_new = is_new or meter.bytes >= boundary
        return EvidenceSource(
            name=source_name(path),
            digest=meter.digest,
            bytes=meter.bytes,
            traces=traces,
            no_verdict=no_verdict,
            newest_s=max(newest, default=None),
        )
