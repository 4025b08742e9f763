"""Who names the skills of a state where asking costs something: a seam of the orchestration loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from skillctl.core.run.conversation import Conversation


class Weighed(NamedTuple):
    """What the state of a conversation needs.

    Attributes:
        skills: Weights of skills by mode.
        cost_usd: What asking cost, ``None`` for unknown.
    """

    skills: Mapping[str, Mapping[str, float]]
    cost_usd: float | None = 0.0


UNWEIGHED = Weighed({})


class StateWeigher(Protocol):
    """Names the skills that a state needs; from several threads at once."""

    def weigh(self, conversation: Conversation, modes: Sequence[str]) -> Weighed:
        """Return the weights in each of the modes, and what it cost to learn them."""
        ...
