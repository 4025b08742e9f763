"""A language model as orchestrator of ``run``: planned before the first call, asked about each state, accounted for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillctl.cli.named_orchestrators import EMBEDDED, require_language_model
from skillctl.llm.base import Completion
from skillctl.llm.language_orchestrator import LanguageOrchestrator, WeighingTally
from skillctl.llm.skill_naming import ModelStateWeigher
from skillctl.model.handbook import ModeId
from skillctl.store.selections import apply_selection

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillctl.cli.language_models import LanguageModels
    from skillctl.cli.run_parts import RunOptions
    from skillctl.core.orchestrate.orchestration import Orchestrator
    from skillctl.core.profile.pricing import Budget
    from skillctl.core.route.routing_table import RoutingTable
    from skillctl.llm.base import Completer, Request
    from skillctl.llm.language_orchestrator import OnReply
    from skillctl.llm.structured import Endpoint
    from skillctl.model.handbook import Handbook


class RunOrchestrator:
    """A language model that names the skills of the states of a run.

    Args:
        endpoint: The model.
        models: Announce and make the calls.
        handbook: Its skills, with what was selected for the model.
        table: The compiled handbook.
        options: Of the run.
    """

    def __init__(
        self, endpoint: Endpoint, models: LanguageModels, handbook: Handbook, table: RoutingTable, options: RunOptions
    ) -> None:
        self._endpoint = endpoint
        self._models = models
        self._handbook = handbook
        self._table = table
        self._root = options.handbook
        self._tally = WeighingTally()

    def plan(self) -> tuple[ModelStateWeigher, Callable[[], None]]:
        """Return a weigher that calls nobody and names no skill, and what says the calls that it would have made."""
        notes = _Notes()
        weigher = self._open(notes, WeighingTally())
        return weigher, lambda: self._models.announce(self._endpoint, notes.requests)

    def ask(self) -> ModelStateWeigher:
        """Return a weigher that asks the model."""
        return self._open(self._models.completer, self._tally)

    def say_result(self) -> None:
        """Say what became of the replies."""
        self._models.say_tally(self._endpoint.name, self._tally)

    def _open(self, completer: Completer, tally: WeighingTally) -> ModelStateWeigher:
        def open_one(mode: str, on_reply: OnReply) -> Orchestrator:
            """Open the orchestrator with the skills that were selected for it, as route does."""
            inner = LanguageOrchestrator(
                self._handbook, ModeId(mode), self._endpoint, completer, tally=tally, on_reply=on_reply
            )
            key, name = self._table.modes[mode].index_key, self._endpoint.name
            return apply_selection(self._root, name, key, mode, inner=inner, load=lambda: self._handbook)

        skills = {mode: table.skills for mode, table in self._table.modes.items()}
        return ModelStateWeigher(open_one, skills, self._models.find_price(self._endpoint))


class _Notes:
    """Notes requests instead of making them."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        return Completion('{"skills": {}}', prompt_tokens=0, completion_tokens=0, cost_usd=0.0)


def open_run_orchestrator(
    options: RunOptions, handbook: Handbook, table: RoutingTable, *, budget: Budget, is_quiet: bool
) -> RunOrchestrator | None:
    """Return the language model that names the skills, ``None`` where the embedded orchestrator does.

    Raises:
        UsageError: If no language model can have that name.
    """
    if options.orchestrator == EMBEDDED:
        return None
    from skillctl.cli.llm_options import LlmOptions
    from skillctl.cli.named_orchestrators import open_models

    require_language_model(options.orchestrator)
    asked = LlmOptions(options.api_base, options.max_cost, options.timeout, options.retries, budget)
    models = open_models(asked, is_quiet=is_quiet)
    endpoint = models.find_endpoint(options.orchestrator, handbook)
    return RunOrchestrator(endpoint, models, handbook, table, options)
