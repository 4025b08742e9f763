"""``discover --llm``: a language model proposes skills from contrasts, mode by mode."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from skillctl.cli.language_models import show_counts
from skillctl.cli.named_orchestrators import open_models
from skillctl.core.discover.contrast import choose_contrasts, find_trajectories
from skillctl.core.discover.proposed_groups import candidates_to_drafts
from skillctl.core.discover.skill_discovery import Candidate
from skillctl.core.discover.skill_writing import Words
from skillctl.llm.skill_proposer import MOST_CALLS, PAIRS, Lesson, Proposals, plan_requests, propose_skills
from skillctl.store.schema import load_schema
from skillctl.store.traces import read_traces
from skillctl.store.word_vectors import WordVectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skillctl.cli.discover_run import DiscoverOptions
    from skillctl.cli.language_models import LanguageModels
    from skillctl.cli.llm_options import LlmOptions
    from skillctl.cli.trace_sources import TraceSources
    from skillctl.core.discover.proposed_groups import Candidate as Proposed
    from skillctl.core.outcomes import Outcomes
    from skillctl.llm.structured import Endpoint
    from skillctl.model.handbook import Handbook, ModeId
    from skillctl.model.problem import Problem
    from skillctl.model.trace import Trace


def open_proposer(
    name: str,
    handbook: Handbook,
    sources: TraceSources,
    options: DiscoverOptions,
    model_options: LlmOptions,
    *,
    is_quiet: bool,
) -> Proposer:
    """Return what proposes skills through a language model.

    Raises:
        UsageError: If no language model can have that name.
    """
    models = open_models(model_options, is_quiet=is_quiet)
    return Proposer(models, models.find_endpoint(name, handbook), handbook, sources, options)


@dataclass(frozen=True, slots=True)
class Proposer:
    """Proposes the skills of modes.

    Attributes:
        models: Under one budget.
        endpoint: The model that is asked.
        handbook: Whose skills are sought.
        sources: The logs, which can be read again.
        options: Of the discovery.
    """

    models: LanguageModels
    endpoint: Endpoint
    handbook: Handbook
    sources: TraceSources
    options: DiscoverOptions

    def __call__(self, mode: ModeId, outcomes: Outcomes) -> list[Candidate]:
        """Return the candidates of one mode, none where agents never differ on a query.

        Raises:
            OutsideError: If no reply of the model can be used.
            BudgetError: If the budget allows no call.
        """
        rng = np.random.default_rng([self.options.seed, *mode.encode()])
        contrasts = choose_contrasts(outcomes, PAIRS, rng)
        if not contrasts:
            self.models.say(f"{mode}: no query has both a success and a failure, so no model is asked")
            return []
        default = self.handbook.default_mode()
        trajectories = find_trajectories(self._read(), outcomes, contrasts, mode=mode, default_mode=default)
        lesson = Lesson(outcomes, contrasts, trajectories)
        planned = plan_requests(lesson, self.endpoint)
        self.models.announce(self.endpoint, planned, more=MOST_CALLS - len(planned))
        embedder = WordVectors()
        try:
            found = propose_skills(
                lesson,
                self.endpoint,
                self.models.completer,
                load_schema("skill_proposals"),
                embedder,
                concurrency=self.models.concurrency,
            )
        finally:
            self.models.say_result()
        candidates = candidates_to_drafts(found.proposals, found.groups, outcomes.texts, embedder)
        _say_proposals(self.models.say, mode, found, len(candidates))
        return [_to_candidate(candidate) for candidate in candidates]

    def _read(self) -> Iterator[Trace]:
        places = self.sources.places.values()
        logs = (read_traces(place, success_at=self.options.success_at, on_problem=_ignore) for place in places)
        return chain.from_iterable(logs)


def _ignore(_: Problem) -> None:
    """Leave the report of faults to the first reading."""


def _to_candidate(proposed: Proposed) -> Candidate:
    words = Words(proposed.description, proposed.indicators, proposed.support)
    return Candidate(proposed.name, proposed.rows, words, proposed.parent)


def _say_proposals(say: Callable[[str], None], mode: str, found: Proposals, candidates: int) -> None:
    say(
        f"{mode}: {found.calls} replies propose {len(found.proposals)} skills ({found.merged} near-duplicates merged, "
        f"{found.dropped} entries dropped); {candidates} candidates have queries"
    )
    if found.faults:
        say(f"warning: replies that could not be used: {show_counts(found.faults)}")
    if found.is_cut:
        say("stopped before --max-cost could be passed: some contrasts were not asked about")
