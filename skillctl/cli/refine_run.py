"""A refinement from files: traces and a handbook in, one saved handbook for each edit out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import click

from skillctl.cli.commits import Lesson, commit_learning
from skillctl.cli.named_orchestrators import EMBEDDED
from skillctl.cli.profile_logs import Plan, profile_logs
from skillctl.cli.refine_llm import open_adviser
from skillctl.cli.replay_logs import read_log
from skillctl.cli.trace_sources import TraceSources
from skillctl.core.profile.half_life import parse_half_life
from skillctl.core.refine.mode_bench import has_verdicts
from skillctl.core.refine.refining import find_overlap, is_refined, note_refined, refine_skills
from skillctl.errors import InputError
from skillctl.report.problems import count_of
from skillctl.report.refinement import RefinementCounts, say_edit, say_reasons
from skillctl.store.handbook_dir import save_handbook
from skillctl.store.ledger import match_sources
from skillctl.store.word_vectors import WordVectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from skillctl.cli.language_models import LanguageModels
    from skillctl.cli.replay_logs import TraceLog
    from skillctl.core.orchestrate.orchestration import Orchestrator
    from skillctl.core.refine.refinement import Verdict
    from skillctl.model.handbook import Handbook, ModeId
    from skillctl.store.learning_commits import LearningCommits

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class RefinePlan:
    """How to refine; the fields are options of the command.

    Attributes:
        places: Where to read each training log, by the path that the user gave.
        validation: Validation logs.
        success_at: The score from which a trace without ``success`` counts as one.
        seed: Of partitions and resamples.
        is_dry: Whether nothing is written.
        is_quiet: Whether to say nothing of faults and progress.
        orchestrator: Who names the skills of queries.
        models: Opens language models, or ``None`` where none is asked.
        llm: Who is asked for names and second opinions, or ``None``.
    """

    places: Mapping[str, str]
    validation: tuple[str, ...]
    success_at: float
    seed: int
    is_dry: bool
    is_quiet: bool
    orchestrator: str = EMBEDDED
    models: LanguageModels | None = None
    llm: str | None = None

    @property
    def used_models(self) -> str | None:
        """The language models that take part, for a commit."""
        return ", ".join(dict.fromkeys(filter(None, [self.llm, self.noted_orchestrator]))) or None

    @property
    def noted_orchestrator(self) -> str | None:
        """The orchestrator as the ledger of refinement notes it."""
        return None if self.orchestrator == EMBEDDED else self.orchestrator

    def open_orchestrator(self, handbook: Handbook, mode: ModeId) -> Orchestrator:
        """Open a language model as orchestrator of one mode."""
        assert self.models is not None  # noqa: S101 - they are opened with every orchestrator that is not embedded
        return self.models.open_orchestrator(self.orchestrator, handbook, mode)


class RefineResult(NamedTuple):
    """What came of each proposal, what was seen, and whether the handbook changed."""

    verdicts: list[Verdict]
    counts: RefinementCounts
    changed: bool


def refine_handbook(handbook: Handbook, root: Path, plan: RefinePlan, learning: LearningCommits | None) -> RefineResult:
    """Refine a handbook, and save and commit it after each edit unless the run is dry.

    Raises:
        InputError: If validation has no verdict, a query is in both logs, or the handbook has evidence that is not in
            the training logs.
    """
    _require_models(handbook, plan)
    training = read_log(tuple(plan.places.values()), success_at=plan.success_at, is_quiet=plan.is_quiet)
    validation = read_log(plan.validation, success_at=plan.success_at, is_quiet=plan.is_quiet)
    _require_verdicts(handbook, validation)
    _refuse_overlap(training, validation)
    _require_all_evidence(handbook, plan, root)
    digests = training.digest, validation.digest
    is_known = is_refined(handbook, *digests, plan.noted_orchestrator)
    bad_lines = training.bad_lines + validation.bad_lines
    counts = RefinementCounts(len(training.traces), len(validation.traces), bad_lines, is_known)
    verdicts: list[Verdict] = []
    writer = _Writer(handbook, root, plan, learning)
    if not is_known:
        for verdict in _find_verdicts(handbook, training, validation, plan):
            verdicts.append(verdict)
            writer.take(verdict)
        writer.finish(digests, len(verdicts), validation)
    return RefineResult(verdicts, counts, writer.saved != handbook)


def _find_verdicts(handbook: Handbook, training: TraceLog, validation: TraceLog, plan: RefinePlan) -> Iterator[Verdict]:
    """Yield what comes of each proposal, and say so; at the end say what became of replies."""
    with open_adviser(plan.llm, plan.models, handbook) as adviser:
        verdicts = refine_skills(
            handbook,
            training.traces,
            validation.traces,
            WordVectors(),
            seed=plan.seed,
            open_orchestrator=None if plan.noted_orchestrator is None else plan.open_orchestrator,
            adviser=adviser,
        )
        for verdict in verdicts:
            if not plan.is_quiet:
                word = "applied" if verdict.applied else "rejected"
                click.echo(f"{word}: {say_edit(verdict.proposal)}", err=True)
            yield verdict


def _require_models(handbook: Handbook, plan: RefinePlan) -> None:
    """Refuse names that no language model can have, before anything is read."""
    if plan.models is not None:
        for name in filter(None, [plan.llm, plan.noted_orchestrator]):
            plan.models.find_endpoint(name, handbook)


def _require_verdicts(handbook: Handbook, validation: TraceLog) -> None:
    if not has_verdicts(handbook, validation.traces):
        message = f"{count_of(len(validation.traces), 'trace')} and no verdict on an agent of the handbook"
        hint = "give traces of other queries with `success` or `score`: without them no edit can be judged"
        raise InputError(message, where="--validation", hint=hint)


def _refuse_overlap(training: TraceLog, validation: TraceLog) -> None:
    shared = find_overlap(training.traces, validation.traces)
    if shared:
        names = ", ".join(shared[:_SHOWN]) + (" and more" if len(shared) > _SHOWN else "")
        message = f"validation has {len(shared)} queries (by id or text) that are in the training traces too: {names}"
        raise InputError(message, where="--validation", hint="split the logs by query")


def _require_all_evidence(handbook: Handbook, plan: RefinePlan, root: Path) -> None:
    """Refuse to recount from fewer logs than the handbook's evidence is from."""
    found = [entry for entry in match_sources(plan.places, handbook.evidence).values() if entry is not None]
    missing = [entry.name for entry in handbook.evidence if entry not in found]
    if missing:
        message = f"its evidence is also from {', '.join(missing)}: a recount without it would lose that"
        raise InputError(message, where=str(root), hint="give each counted log with --traces, or profile anew first")


class _Writer:
    """Saves each edit with the profiles that `profile` would count, and commits it.

    Attributes:
        saved: The handbook as it was saved last, or would be.
    """

    def __init__(self, handbook: Handbook, root: Path, plan: RefinePlan, learning: LearningCommits | None) -> None:
        self.saved = handbook
        self._root = root
        self._plan = plan
        self._learning = learning
        self._pending: Verdict | None = None

    def take(self, verdict: Verdict) -> None:
        """Take in an applied edit, and write the one before it."""
        if not verdict.applied:
            return
        if self._learning is not None:  # each edit is a commit; otherwise only the last state counts
            self._flush(None)
        self._pending = verdict

    def finish(self, digests: tuple[str, str], proposals: int, validation: TraceLog) -> None:
        """Write the last edit with the note that nothing is left; or the note alone where proposals were rejected.

        A run without a proposal leaves everything as it is: another one finds none either, so there is nothing to note.
        """
        if self._pending is not None:
            self._flush(digests)
            return
        if not proposals:
            return
        after = note_refined(self.saved, *digests, self._plan.noted_orchestrator)
        subject = f"Note that {count_of(proposals, 'rejected proposal')} need not be made again"
        lesson = Lesson(
            "refine", subject, self.saved, after, model=self._plan.used_models, validation=validation.digest
        )
        self._write(after, lesson)

    def _flush(self, digests: tuple[str, str] | None) -> None:
        if self._pending is None:
            return
        verdict, self._pending = self._pending, None
        after = verdict.handbook if self._plan.is_dry else self._recount(verdict.handbook)
        if digests is not None:
            after = note_refined(after, *digests, self._plan.noted_orchestrator)
        gain = verdict.gain
        said = None if gain is None else f"{gain.value:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]"
        lesson = Lesson(
            "refine",
            say_edit(verdict.proposal),
            self.saved,
            after,
            model=self._plan.used_models,
            validation=said and f"{said} on {verdict.queries} queries",
            details=say_reasons(verdict),
        )
        self._write(after, lesson)

    def _write(self, after: Handbook, lesson: Lesson) -> None:
        if not self._plan.is_dry:
            save_handbook(after, self._root)
            commit_learning(self._learning, lesson)
        self.saved = after

    def _recount(self, refined: Handbook) -> Handbook:
        """Return the refined handbook as `profile` would count it, with its ledger."""
        half_life = refined.settings.half_life
        plan = Plan(
            update=False,
            success_at=self._plan.success_at,
            half_life=None if half_life is None else parse_half_life(half_life),
            adds=False,
            orchestrator=self._plan.orchestrator,
            models=self._plan.models,
        )
        sources = TraceSources(dict(self._plan.places), is_quiet=True)  # faults were said when the logs were read
        profiled = profile_logs(replace(refined, refined=self.saved.refined), sources, plan)
        return profiled.handbook
