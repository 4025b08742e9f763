"""Logs become skills, insights and words, mode by mode."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.discover.discovered import add_insights, keep_written, known_agents, replace_skills, word_agents
from skillctl.core.discover.insights import find_mode_insights
from skillctl.core.discover.skill_discovery import Candidate, Discovery, discover_skills
from skillctl.core.outcomes import Outcomes, tabulate_modes
from skillctl.errors import InputError
from skillctl.model.handbook import Handbook, ModeId
from skillctl.report.discovery import DiscoveryReport, ModeReport
from skillctl.report.problems import count_of
from skillctl.store.orchestrators import open_orchestrator
from skillctl.store.traces import read_traces
from skillctl.store.word_vectors import WordVectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from skillctl.cli.trace_sources import TraceSources
    from skillctl.model.trace import Trace

    Propose = Callable[[ModeId, Outcomes], list[Candidate]]

MIN_LABEL_QUERIES = 5  # a label with fewer names no skill


@dataclass(frozen=True, slots=True)
class DiscoverOptions:
    """How to discover.

    Attributes:
        modes: Only these, or all that the traces have when empty.
        uses_labels: Whether `task` labels are candidate skills.
        success_at: The score from which a trace without ``success`` counts as one.
        seed: Of all random draws.
    """

    modes: tuple[str, ...]
    uses_labels: bool
    success_at: float
    seed: int


class Discovered(NamedTuple):
    """A handbook with what was found, and the report."""

    handbook: Handbook
    report: DiscoveryReport


def discover_from_logs(
    handbook: Handbook, sources: TraceSources, options: DiscoverOptions, *, propose: Propose | None = None
) -> Discovered:
    """Return the handbook with the skills, insights and words that follow from the logs.

    Args:
        handbook: The handbook.
        sources: The logs.
        options: How to discover.
        propose: Gives candidates of a mode beyond the labels, such as those of a language model.

    Raises:
        InputError: If a mode is asked for that the handbook does not have.
    """
    for name in options.modes:
        if name not in handbook.modes:
            message = f"the handbook has no mode {name!r}"
            raise InputError(message, where="--mode", hint=f"it has {', '.join(handbook.modes)}")
    reader = _Reader(handbook, sources, options)
    tables = tabulate_modes(reader.read(), handbook.default_mode())
    found = {ModeId(mode): _discover(handbook, ModeId(mode), table, options, propose) for mode, table in tables.items()}
    after = replace_skills(handbook, found)
    if reader.trajectories:  # a log without steps says nothing of which mode follows which
        after = add_insights(after, find_mode_insights(reader.trajectories))
    for mode, table in tables.items():
        weights = open_orchestrator(after, ModeId(mode)).weigh(table.texts)
        after = word_agents(after, ModeId(mode), table, weights)
    report = DiscoveryReport(
        modes=tuple(_report(handbook, after, mode, tables[mode], found[mode]) for mode in found),
        traces=reader.traces,
        duplicates=reader.duplicates,
        bad_lines=sources.bad_lines,
        unknown=dict(sorted(reader.unknown.items())),
        insights=sum(len(mode.insights) for mode in after.modes.values()),
    )
    return Discovered(after, report)


def _discover(
    handbook: Handbook, mode: ModeId, outcomes: Outcomes, options: DiscoverOptions, propose: Propose | None
) -> Discovery:
    taken = {str(skill.id) for other in handbook.modes for skill in keep_written(handbook, other)}

    def discover(candidates: Sequence[Candidate]) -> Discovery:
        # A generator of its own for each mode: what is found in one does not depend on the others.
        rng = np.random.default_rng([options.seed, *mode.encode()])
        return discover_skills(mode, outcomes, WordVectors(), rng, candidates=candidates, taken=taken)

    proposed = [] if propose is None else propose(mode, outcomes)
    labels = find_label_candidates(outcomes) if options.uses_labels else []
    own = discover(labels)
    if labels and not own.skills:
        own = discover([])._replace(remark="the labels foresee no held-out outcomes: sought without them")
    return _choose(own, discover(proposed)) if proposed else own


def _choose(own: Discovery, proposed: Discovery) -> Discovery:
    """Return the skills that were proposed, unless those found without them foresee clearly more."""
    if proposed.calibration is None:
        return own._replace(remark="outcomes do not tell the proposals apart: none is used")
    found = f"{proposed.calibration.gain:.4f} ± {proposed.calibration.standard_error:.4f} a query"
    is_behind = own.calibration is not None and bool(own.skills)
    if own.calibration is not None and is_behind:
        is_behind = own.calibration.gain - proposed.calibration.gain > proposed.calibration.standard_error
    if not proposed.skills:
        return own._replace(remark=f"the proposals foresee no held-out outcomes (gain {found}): none is used")
    if is_behind:
        return own._replace(
            remark=f"the proposals foresee less than skills found without them (gain {found}): not used"
        )
    return proposed._replace(remark="the proposals are used")


def find_label_candidates(outcomes: Outcomes) -> list[Candidate]:
    """Return a candidate for each label of enough queries, in order of label; one label alone tells nothing apart."""
    rows: dict[str, list[int]] = {}
    for row, label in enumerate(outcomes.tasks):
        if label:
            rows.setdefault(label, []).append(row)
    large = sorted(label for label, places in rows.items() if len(places) >= MIN_LABEL_QUERIES)
    if len(large) < 2:  # noqa: PLR2004 - see above
        return []
    return [Candidate(label, np.array(rows[label], dtype=np.int64)) for label in large]


def _report(before: Handbook, after: Handbook, mode: ModeId, outcomes: Outcomes, discovery: Discovery) -> ModeReport:
    old = {skill.id for skill in before.skills.get(mode, ())}
    new = {skill.id for skill in after.skills.get(mode, ())}
    found_before = len(old) - len(keep_written(before, mode))
    stays = f"the {count_of(found_before, 'skill')} found before stay as they are"
    calibration = discovery.calibration
    return ModeReport(
        mode=mode,
        queries=len(outcomes.texts),
        agents=len(outcomes.agents),
        skills=discovery.skills,
        added=len(new - old),
        removed=len(old - new),
        gain=calibration.gain if calibration else None,
        standard_error=calibration.standard_error if calibration else None,
        z=calibration.z if calibration else None,
        granularity=discovery.granularity,
        evidence=discovery.evidence,
        temperature=calibration.temperature if calibration else None,
        prior_strength=calibration.kappa if calibration else None,
        remark=discovery.remark or (stays if found_before and not discovery.skills else ""),
    )


@dataclass(slots=True)
class _Reader:
    """Reads the traces that count, each once.

    Attributes:
        traces: Traces read.
        duplicates: Traces seen before.
        unknown: Traces of agents or modes that the handbook does not have, by agent.
        trajectories: Modes of the steps of successful traces.
    """

    handbook: Handbook
    sources: TraceSources
    options: DiscoverOptions
    traces: int = 0
    duplicates: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    trajectories: list[tuple[str, ...]] = field(default_factory=list)

    def read(self) -> Iterator[Trace]:
        default = self.handbook.default_mode()
        agents = {mode: known_agents(self.handbook, mode) for mode in self.handbook.modes}
        seen: set[tuple[object, ...]] = set()
        for place in self.sources.places.values():
            traces = read_traces(place, success_at=self.options.success_at, on_problem=self.sources.report)
            for trace in traces:
                identity = (trace.trace_id, type(trace.query_id), trace.query_id, trace.agent, trace.mode)
                if identity in seen:
                    self.duplicates += 1
                    continue
                seen.add(identity)
                mode = trace.mode or default
                if trace.agent not in agents.get(ModeId(mode), ()):
                    self.unknown[trace.agent] += 1
                    continue
                self.traces += 1
                if trace.success and trace.steps:
                    self.trajectories.append(tuple(step.mode for step in trace.steps if step.mode))
                if not self.options.modes or mode in self.options.modes:
                    yield trace
