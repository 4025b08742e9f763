"""Orchestrators by the name that a user gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillctl.core.batch_routing import weigh_given
from skillctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from skillctl.core.orchestration import Orchestrator, SkillWeights
    from skillctl.core.routing_table import ModeTable
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


def open_named(name: str, handbook: Handbook, table: ModeTable, mode: ModeId, traces: Iterable[Trace]) -> Orchestrator:
    """Return an orchestrator of one mode.

    Raises:
        UsageError: If there is none of that name.
    """
    if name == EMBEDDED:
        from skillctl.store.orchestrators import open_orchestrator

        return open_orchestrator(handbook, mode)
    if name == LOGGED:
        return LoggedOrchestrator(table, {trace.query: trace.skills for trace in traces if trace.skills})
    message = f"there is no orchestrator {name!r}"
    raise UsageError(message, hint=f"there are {', '.join(ORCHESTRATORS)}")
