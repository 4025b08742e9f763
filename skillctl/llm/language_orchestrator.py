"""A language model as orchestrator: it reads the handbook and a request, and names the skills."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.orchestrate.features import cut_text
from skillctl.core.orchestrate.skill_weights import root_weights, round_weights
from skillctl.core.replies.skill_reply import NamedSkills, parse_skill_weights
from skillctl.errors import BudgetError
from skillctl.llm.prompt_texts import build_messages
from skillctl.llm.structured import DEFAULT_CONCURRENCY, Breaker, Endpoint, Reply, ask_all

if TYPE_CHECKING:
    from skillctl.core.orchestrate.orchestration import SkillWeights
    from skillctl.llm.base import Completer, Completion, Request
    from skillctl.model.handbook import Handbook, ModeId, Skill

    # Told the text of a state and the reply about it.
    OnReply = Callable[[str, Completion], None]

MAX_TOKENS = 400
_TEXT_CHARS, _TEXT_HEAD = 3000, 2000
_INDICATORS = 6
_DESCRIPTION_CHARS = 200
_SENTENCES = 12  # of insights and of signals
_EXAMPLE_WEIGHTS = (0.8, 0.2)


@dataclass(slots=True)
class WeighingTally:
    """What became of the replies of a run.

    Attributes:
        requests: Distinct states.
        faults: Unusable replies by reason; their states fell back to the mode.
        unknown: Skill ids in replies that the handbook does not have, dropped.
        lost: States that need no skill, by the reply.
    """

    requests: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def count(self, replies: Sequence[Reply[NamedSkills]]) -> None:
        """Add the replies about some states; from several threads at once."""
        with self._lock:
            self.requests += len(replies)
            for reply in replies:
                if reply.value is None:
                    self.faults[reply.fault] += 1
                else:
                    self.unknown.update(reply.value.unknown)
                    self.lost += not reply.value.weights


class LanguageOrchestrator:
    """Weighs the skills of one mode by asking a model about each state.

    Args:
        handbook: Its skills, insights and signals are shown to the model.
        mode: The mode.
        endpoint: The model.
        completer: Makes the calls; its cache and budget hold.
        tally: Counts what became of the replies.
        on_plan: Told the requests before any is made.
        on_reply: Told each reply, also one that cannot be used.
        concurrency: So many calls at once.
    """

    def __init__(
        self,
        handbook: Handbook,
        mode: ModeId,
        endpoint: Endpoint,
        completer: Completer,
        *,
        tally: WeighingTally | None = None,
        on_plan: Callable[[Sequence[Request]], None] = lambda _requests: None,
        on_reply: OnReply = lambda _text, _completion: None,
        concurrency: int = DEFAULT_CONCURRENCY,
    ) -> None:
        skills = handbook.skills.get(mode, ())
        self.tally = WeighingTally() if tally is None else tally
        self._rows: dict[str, int] = {str(mode): 0, **{skill.id: row for row, skill in enumerate(skills, 1)}}
        self._shown = describe_mode(handbook, mode)
        ids = [skill.id for skill in skills[: len(_EXAMPLE_WEIGHTS)]]
        self._example = json.dumps(dict(zip(ids, _EXAMPLE_WEIGHTS, strict=False)), ensure_ascii=False)
        self._endpoint = endpoint
        self._completer = completer
        self._on_plan = on_plan
        self._on_reply = on_reply
        self._breaker = Breaker()
        self._concurrency = concurrency

    def weigh(self, texts: Sequence[str]) -> SkillWeights:
        """Return the weights for each text; a row depends on its text alone, never on the batch.

        Raises:
            OutsideError: If the service refuses us, or does not answer at all.
            BudgetError: If the budget does not allow all calls.
        """
        if len(self._rows) == 1 or not texts:
            return root_weights(len(texts))
        distinct = list(dict.fromkeys(texts))
        requests = [self._ask_about(text) for text in distinct]
        self._on_plan(requests)
        replies = ask_all(
            self._completer,
            requests,
            lambda _place, reply: parse_skill_weights(reply, self._rows),
            concurrency=self._concurrency,
            breaker=self._breaker,
        )
        for text, reply in zip(distinct, replies, strict=True):
            if reply.completion is not None:
                self._on_reply(text, reply.completion)
        self._refuse_unspent(replies)
        self.tally.count(replies)
        named = {text: self._weights_of(reply) for text, reply in zip(distinct, replies, strict=True)}
        return _compress([named[text] for text in texts])

    def _ask_about(self, text: str) -> Request:
        data = cut_text(text, _TEXT_CHARS, _TEXT_HEAD)
        messages = build_messages("weigh", data, handbook=self._shown, example=self._example)
        return self._endpoint.request(messages, MAX_TOKENS)

    @staticmethod
    def _refuse_unspent(replies: Sequence[Reply[NamedSkills]]) -> None:
        unspent = sum(reply.is_unspent for reply in replies)
        if unspent:
            message = f"stopped before --max-cost could be passed; {unspent} of {len(replies)} calls remain"
            raise BudgetError(message, hint="raise --max-cost; the replies so far are kept and cost nothing again")

    @staticmethod
    def _weights_of(reply: Reply[NamedSkills]) -> dict[int, float]:
        return (reply.value.weights if reply.value else {}) or {0: 1.0}


def _compress(named: Sequence[dict[int, float]]) -> SkillWeights:
    rows = np.repeat(np.arange(len(named)), [len(weights) for weights in named])
    skills = np.array([row for weights in named for row in weights], dtype=np.int32)
    # By the largest first, so that a sum of huge weights stays finite.
    shares = np.array([weight / max(weights.values()) for weights in named for weight in weights.values()])
    shares /= np.bincount(rows, shares, len(named))[rows]
    return round_weights(rows, skills, shares, len(named))


def describe_mode(handbook: Handbook, mode: ModeId) -> str:
    """Return what a model is told of a mode: skills, insights and routing signals; never an answer or an example."""
    facts = handbook.modes.get(mode)
    parts = [f"Mode {mode}: {_cut(facts.description)}" if facts and facts.description else f"Mode {mode}."]
    parts.append("Skills:\n" + "\n".join(map(_describe, handbook.skills.get(mode, ()))))
    insights = [_cut(insight.text) for insight in facts.insights] if facts else []
    if insights:
        parts.append(_list("When to work in this mode:", insights))
    signals = [
        f"{agent.id}: {_cut(signal)}"
        for agent in handbook.agents.values()
        if mode in agent.profiles
        for signal in agent.profiles[mode].signals
    ]
    if signals:
        parts.append(_list("What tells the agents apart:", signals))
    return "\n\n".join(parts)


def _describe(skill: Skill) -> str:
    terms = [indicator.text for indicator in skill.indicators if not indicator.is_regex][:_INDICATORS]
    hints = f" (words: {', '.join(terms)})" if terms else ""
    return f"- {skill.id}: {_cut(skill.description)}{hints}"


def _list(title: str, sentences: Sequence[str]) -> str:
    return "\n".join([title, *(f"- {sentence}" for sentence in sentences[:_SENTENCES])])


def _cut(text: str) -> str:
    return " ".join(cut_text(text, _DESCRIPTION_CHARS, _DESCRIPTION_CHARS - 50).split())
