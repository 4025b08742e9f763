"""The orchestration loop: mode, skills, agent, act, observe, until answered or out of a limit.

It knows nothing of models, programs and files: who decides, acts and checks is handed in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from skillctl.core.run.conversation import Conversation, Decision, Turn


class Stop(StrEnum):
    """Why a conversation ended."""

    ANSWERED = "answered"
    VERIFIED = "verified"
    TURN_LIMIT = "turn_limit"
    COST_LIMIT = "cost_limit"
    NO_PROGRESS = "no_progress"
    NO_AGENT = "no_agent"
    OUTSIDE = "outside_failure"


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """When a conversation ends without an answer.

    Attributes:
        turns: At most so many turns, outside failures apart.
        cost_usd: No further turn is begun from this cost on, ``None`` for no limit.
        repeats: So many turns that only repeat earlier ones are no progress.
        outside: So many outside failures end it.
    """

    turns: int = 6
    cost_usd: float | None = None
    repeats: int = 2
    outside: int = 4


class Chooser(Protocol):
    """Decides who works next."""

    def choose(self, conversation: Conversation, turns_left: int) -> Decision | None:
        """Return the decision, ``None`` when nobody is left."""
        ...


class Actor(Protocol):
    """Carries a decision out."""

    def act(self, conversation: Conversation, decision: Decision) -> Turn:
        """Return what came of it; an outside failure is a turn with an error."""
        ...


class Check(NamedTuple):
    """What a checker said of an answer: its verdict, ``None`` for none, and its cost."""

    verdict: bool | None
    cost_usd: float | None = 0.0


class Checker(Protocol):
    """Verifies answers without knowing the reference, such as by running tests."""

    def check(self, conversation: Conversation, answer: str) -> Check:
        """Return the verdict."""
        ...


class Finished(NamedTuple):
    """A conversation that ended, and why."""

    conversation: Conversation
    stop: Stop


class Loop:
    """Runs conversations to their end.

    Args:
        chooser: Decides.
        actor: Acts.
        checker: Verifies answers; without one the first answer stands.
        limits: Of each conversation.
    """

    def __init__(self, chooser: Chooser, actor: Actor, checker: Checker | None, limits: LoopLimits) -> None:
        self._chooser = chooser
        self._actor = actor
        self._checker = checker
        self._limits = limits

    def run(self, conversation: Conversation) -> Finished:
        """Run a conversation to its end."""
        while (stop := find_stop(conversation, self._limits, has_checker=self._checker is not None)) is None:
            decision = self._chooser.choose(conversation, self._limits.turns - conversation.own_turns)
            if decision is None:
                broken = bool(conversation.turns) and conversation.turns[-1].error is not None
                return Finished(conversation, Stop.OUTSIDE if broken else Stop.NO_AGENT)
            conversation = conversation.with_turn(self._take_turn(conversation, decision))
        return Finished(conversation, stop)

    def _take_turn(self, conversation: Conversation, decision: Decision) -> Turn:
        turn = self._actor.act(conversation, decision)
        if self._checker is None or not turn.is_answer or turn.error is not None:
            return turn
        check = self._checker.check(conversation, turn.observation)
        return replace(turn, succeeded=check.verdict, check_usd=check.cost_usd)


def find_stop(conversation: Conversation, limits: LoopLimits, *, has_checker: bool) -> Stop | None:
    """Return why a conversation ends here, ``None`` if it goes on.

    An answer ends it, unless a checker refused it; an answer on which the checker has no verdict stands.
    """
    last = conversation.last
    if last is not None and last.is_answer and last.succeeded is not False:
        return Stop.VERIFIED if has_checker and last.succeeded else Stop.ANSWERED
    if sum(turn.error is not None for turn in conversation.turns) >= limits.outside:
        return Stop.OUTSIDE
    if sum(turn.is_repeat for turn in conversation.turns) >= limits.repeats:
        return Stop.NO_PROGRESS
    if conversation.own_turns >= limits.turns:
        return Stop.TURN_LIMIT
    if limits.cost_usd is not None and conversation.turns and conversation.spent_usd() >= limits.cost_usd:
        return Stop.COST_LIMIT
    return None
