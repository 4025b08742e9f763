"""Orchestrators by the name that a user gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillctl.core.route.batch_routing import weigh_given
from skillctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from skillctl.cli.language_models import LanguageModels
    from skillctl.cli.llm_options import LlmOptions
    from skillctl.core.orchestrate.orchestration import Orchestrator, SkillWeights
    from skillctl.core.route.routing_table import ModeTable, RoutingTable
    from skillctl.model.handbook import Handbook, ModeId
    from skillctl.model.trace import Trace

EMBEDDED = "embedded"
LOGGED = "logged"
ORCHESTRATORS = (EMBEDDED, LOGGED)


@dataclass(frozen=True, slots=True)
class LoggedOrchestrator:
    """Replays the skill weights that traces name: what some other orchestrator said of their queries.

    Attributes:
        table: The mode.
        skills: Weights by query text.
    """

    table: ModeTable
    skills: Mapping[str, Mapping[str, float]]

    def weigh(self, texts: Sequence[str]) -> SkillWeights:
        """Return the weights for each text; one that no trace labels gets the mode's root."""
        return weigh_given([self.skills.get(text, {}) for text in texts], self.table)[0]


def open_named(
    name: str,
    handbook: Handbook,
    table: ModeTable | None,
    mode: ModeId,
    traces: Iterable[Trace],
    *,
    models: LanguageModels | None = None,
) -> Orchestrator:
    """Return an orchestrator of one mode; every name that is not one of ours is a language model's.

    Args:
        name: Of the orchestrator.
        handbook: Its skills are weighed.
        table: The mode's rows, for ``logged``.
        mode: The mode.
        traces: For ``logged``.
        models: Opens language models; ``None`` where none can be asked.

    Raises:
        UsageError: If there is none of that name.
    """
    if name == EMBEDDED:
        from skillctl.store.orchestrators import open_orchestrator

        return open_orchestrator(handbook, mode)
    if name == LOGGED and table is not None:
        return LoggedOrchestrator(table, {trace.query: trace.skills for trace in traces if trace.skills})
    if models is not None:
        return models.open_orchestrator(name, handbook, mode)
    message = f"there is no orchestrator {name!r}"
    raise UsageError(message, hint=f"there are {', '.join(ORCHESTRATORS)}")


def is_language_model(name: str) -> bool:
    """Tell whether an orchestrator of that name is a language model."""
    return name not in ORCHESTRATORS


def require_language_model(name: str) -> None:
    """Refuse a name that no language model can have, where there are no traces.

    Raises:
        UsageError: If it is one.
    """
    if not is_language_model(name):
        message = f"there are no traces for the orchestrator {name!r}"
        raise UsageError(message, hint=f"name {EMBEDDED}, or a language model")


def open_models(options: LlmOptions, *, is_quiet: bool) -> LanguageModels:
    """Return what opens language models; litellm is imported when one is asked."""
    import click

    from skillctl.cli.language_models import LanguageModels

    return LanguageModels(options, (lambda _text: None) if is_quiet else (lambda text: click.echo(text, err=True)))


def open_for_routing(
    root: Path, table: RoutingTable, name: str, options: LlmOptions, *, is_quiet: bool
) -> tuple[LanguageModels, Callable[[str], Orchestrator]]:
    """Return what opens a language model as orchestrator of a mode, with the skills that were selected for it.

    Raises:
        UsageError: If no language model can have that name.
    """
    from skillctl.model.handbook import ModeId
    from skillctl.store.handbook_dir import load_handbook
    from skillctl.store.selections import apply_selection

    require_language_model(name)
    handbook, models = load_handbook(root), open_models(options, is_quiet=is_quiet)
    models.find_endpoint(name, handbook)

    def open_one(mode: str) -> Orchestrator:
        inner = models.open_orchestrator(name, handbook, ModeId(mode))
        key = table.modes[mode].index_key
        return apply_selection(root, name, key, mode, inner=inner, load=lambda: handbook)

    return models, open_one
