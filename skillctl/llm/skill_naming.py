"""A language model names the skills of each state of a run, and what that costs is part of the decision."""

from __future__ import annotations

import threading
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

from skillctl.core.profile.pricing import Usage, price_usage
from skillctl.core.run.state_weighing import Weighed
from skillctl.errors import BudgetError
from skillctl.llm.limiting import BudgetSpentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from skillctl.core.orchestrate.orchestration import Orchestrator
    from skillctl.core.run.conversation import Conversation
    from skillctl.llm.base import Completion
    from skillctl.llm.language_orchestrator import OnReply
    from skillctl.model.handbook import Price


class ModelStateWeigher:
    """Asks a model in each mode, and counts what a state costs once in each conversation.

    A reply from the cache counts as well: a trace says what a conversation costs, not what a rerun of it pays.

    Args:
        open_one: Opens the orchestrator of a mode, which tells each reply.
        skills: Ids of the rows of each mode, its own first.
        price: Of the model, ``None`` where only the client knows costs.
    """

    def __init__(
        self,
        open_one: Callable[[str, OnReply], Orchestrator],
        skills: Mapping[str, Sequence[str]],
        price: Price | None,
    ) -> None:
        self._skills = skills
        self._price = price
        self._costs: dict[tuple[str, str], float | None] = {}  # by mode and text, on which alone a reply depends
        self._counted: defaultdict[str | int, set[tuple[str, str]]] = defaultdict(set)
        self._lock = threading.Lock()
        self._orchestrators = {mode: open_one(mode, partial(self._note, mode)) for mode in skills}

    def weigh(self, conversation: Conversation, modes: Sequence[str]) -> Weighed:
        """Return the weights in each of the modes, and what it cost to learn them.

        Raises:
            BudgetSpentError: If a call could pass the limit.
            OutsideError: If the service refuses us, or does not answer at all.
        """
        text = conversation.state_text()
        try:
            skills = {mode: self._name(mode, text) for mode in modes}
        except BudgetError:
            raise BudgetSpentError from None
        return Weighed(skills, self._count(conversation.query_id, text, modes))

    def _name(self, mode: str, text: str) -> dict[str, float]:
        weights = self._orchestrators[mode].weigh([text])
        names = [self._skills[mode][skill] for skill in weights.skills.tolist()]
        return dict(zip(names, weights.weights.tolist(), strict=True))

    def _note(self, mode: str, text: str, completion: Completion) -> None:
        usage = Usage(completion.prompt_tokens, completion.completion_tokens, completion.cached_tokens)
        own = price_usage(self._price, usage)
        self._costs[mode, text] = completion.cost_usd if own is None else own

    def _count(self, query_id: str | int, text: str, modes: Sequence[str]) -> float | None:
        with self._lock:
            counted = self._counted[query_id]
            new = [(mode, text) for mode in modes if (mode, text) in self._costs and (mode, text) not in counted]
            counted.update(new)
        costs = [self._costs[one] for one in new]
        return None if None in costs else sum(cost for cost in costs if cost is not None)
