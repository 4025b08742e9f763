"""Trace logs, made ready to be replayed with a handbook."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.cli.named_orchestrators import open_named
from skillctl.cli.trace_sources import open_sources
from skillctl.core.evaluate.replay import ModeLog, align_outcomes, count_log
from skillctl.core.evaluate.rivals import Training
from skillctl.core.outcomes import tabulate_outcomes
from skillctl.core.route.routing import spread
from skillctl.core.route.routing_table import compile_table
from skillctl.errors import InputError
from skillctl.model.handbook import AgentId, ModeId
from skillctl.store.ledger import SourceMeter
from skillctl.store.traces import read_trace_batches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from skillctl.cli.language_models import LanguageModels
    from skillctl.core.evaluate.replay import LogCounts
    from skillctl.core.orchestrate.orchestration import Orchestrator
    from skillctl.core.outcomes import Outcomes
    from skillctl.core.route.routing_table import ModeTable, RoutingTable
    from skillctl.model.handbook import Handbook
    from skillctl.model.trace import Trace


class TraceLog(NamedTuple):
    """The traces of some files.

    Attributes:
        traces: Each once, in order.
        duplicates: How many were seen before.
        bad_lines: Lines that could not be used.
        digest: Of the decompressed bytes of all files, as the evidence ledger writes it.
        file_digests: The same of each file.
    """

    traces: list[Trace]
    duplicates: int
    bad_lines: int
    digest: str
    file_digests: tuple[str, ...]


def read_log(paths: Sequence[str], *, success_at: float, is_quiet: bool) -> TraceLog:
    """Read all traces of some files; one that occurs again is dropped."""
    traces: list[Trace] = []
    seen: set[tuple[object, ...]] = set()
    duplicates, meter = 0, SourceMeter()
    file_digests: list[str] = []
    with open_sources(paths, is_quiet=is_quiet, is_read_twice=False) as sources:
        for place in sources.places.values():
            own = SourceMeter()
            for batch in read_trace_batches(place, success_at=success_at, on_problem=sources.report):
                meter.add(batch.data)
                own.add(batch.data)
                for trace in batch.traces:
                    key = (type(trace.trace_id), trace.trace_id, trace.agent, trace.mode)
                    duplicates += key in seen
                    if key not in seen:
                        seen.add(key)
                        traces.append(trace)
            file_digests.append(own.digest)
        bad_lines = sources.bad_lines
    return TraceLog(traces, duplicates, bad_lines, meter.digest, tuple(file_digests))


@dataclass(frozen=True, slots=True)
class Replayer:
    """A handbook beside the logged outcomes of its modes.

    Attributes:
        handbook: The handbook.
        table: The same, compiled.
        outcomes: Of each mode that has some.
        traces: What the outcomes were made of.
        root: Folder whose selections hold, or ``None`` for the whole handbook.
        models: Opens language models, or ``None`` where none can be asked.
    """

    handbook: Handbook
    table: RoutingTable
    outcomes: Mapping[str, Outcomes]
    traces: Sequence[Trace]
    root: Path | None = None
    models: LanguageModels | None = None

    def open(self, orchestrator: str, mode: str) -> Orchestrator:
        """Open an orchestrator by name, with what was selected for it."""
        inner = open_named(
            orchestrator, self.handbook, self.table.modes[mode], ModeId(mode), self.traces, models=self.models
        )
        if self.root is None:
            return inner
        from skillctl.store.orchestrators import index_key
        from skillctl.store.selections import apply_selection

        key = index_key(self.handbook.skills.get(ModeId(mode), ()))
        return apply_selection(self.root, orchestrator, key, mode, inner=inner, load=lambda: self.handbook)

    def weigh(self, orchestrator: str) -> list[ModeLog]:
        """Let an orchestrator name the skills of all queries."""
        logs = []
        for mode, outcomes in self.outcomes.items():
            table = self.table.modes[mode]
            weights = self.open(orchestrator, mode).weigh(outcomes.texts)
            logs.append(ModeLog(table, outcomes, weights, find_raw_rates(self.handbook, self.table, table)))
        return logs

    def count(self, log: TraceLog) -> LogCounts:
        """Say what of a log can be replayed."""
        agents = [agent.id for agent in self.table.agents]
        works = {
            mode: frozenset(np.array(agents)[table.works].tolist() if agents else ())
            for mode, table in self.table.modes.items()
        }
        return count_log(log.traces, log.duplicates, works, self.handbook.default_mode())


def open_replayer(
    handbook: Handbook,
    traces: Sequence[Trace],
    mode: str | None,
    where: str,
    *,
    root: Path | None = None,
    models: LanguageModels | None = None,
) -> Replayer:
    """Tabulate the outcomes of traces by mode.

    Args:
        handbook: The handbook.
        traces: Logged outcomes.
        mode: Only this mode, or ``None`` for all.
        where: The handbook, for errors.
        root: Folder whose selections hold, or ``None`` for the whole handbook.
        models: Opens language models, or ``None`` where none can be asked.

    Raises:
        InputError: If no trace tells of an agent in a mode of the handbook.
    """
    table = compile_table(handbook, {})
    outcomes = {}
    for name in [mode] if mode is not None else sorted(handbook.modes):
        found = _tabulate(handbook, table, traces, name)
        if found.texts:
            outcomes[name] = found
    if not outcomes:
        message = "no trace has a verdict on an agent of the handbook in one of its modes"
        raise InputError(message, where=where, hint="compare the agents and modes of the traces with `skillctl show`")
    return Replayer(handbook, table, outcomes, traces, root, models)


def read_training(replayer: Replayer, traces: Sequence[Trace], orchestrator: str) -> Training:
    """Return the outcomes of other traces, for baselines and cascades to learn from."""
    parts = [
        (mode, _tabulate(replayer.handbook, replayer.table, traces, mode)) for mode in sorted(replayer.handbook.modes)
    ]
    parts = [(mode, outcomes) for mode, outcomes in parts if outcomes.texts]
    lesson = replace(replayer, traces=traces)
    if not parts:
        message = "the training traces have no verdict on an agent of the handbook in one of its modes"
        raise InputError(message)
    return Training(
        np.array([mode for mode, outcomes in parts for _ in outcomes.texts]),
        tuple(text for _, outcomes in parts for text in outcomes.texts),
        np.concatenate([outcomes.success for _, outcomes in parts]),
        np.concatenate([outcomes.cost_usd for _, outcomes in parts]),
        np.concatenate(
            [
                spread(lesson.open(orchestrator, mode).weigh(outcomes.texts), lesson.table.modes[mode].mean)
                for mode, outcomes in parts
            ]
        ),
    )


def _tabulate(handbook: Handbook, table: RoutingTable, traces: Sequence[Trace], mode: str) -> Outcomes:
    """Return the outcomes of the handbook's agents in one mode, queries without any verdict left out."""
    outcomes = tabulate_outcomes(traces, mode=mode, default_mode=handbook.default_mode())
    outcomes = align_outcomes(outcomes, [agent.id for agent in table.agents])
    works = table.modes[mode].works
    outcomes.success[:, ~works] = np.nan
    return outcomes.take(np.flatnonzero(~np.isnan(outcomes.success).all(axis=1)))


def find_raw_rates(handbook: Handbook, table: RoutingTable, mode: ModeTable) -> NDArray[np.float64]:
    """Return the raw success rate of each skill and agent, 0 where the agent was never tried."""
    rates = np.zeros((len(mode.skills), len(table.agents)))
    row = {skill: place for place, skill in enumerate(mode.skills)}
    for column, facts in enumerate(table.agents):
        profile = handbook.agents[AgentId(facts.id)].profiles.get(ModeId(mode.mode))
        for skill, competence in (profile.competence if profile else {}).items():
            total = competence.successes + competence.failures
            if total > 0:
                rates[row[skill], column] = competence.successes / total
    return rates
