"""What happened so far on one query: values that the orchestration loop passes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from skillctl.model.query import NO_NEEDS, Needs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillctl.model.trace import Trace

# How much of an observation says which skills are needed next; the query itself stays in the majority.
_STATE_CHARS = 200


@dataclass(frozen=True, slots=True)
class Decision:
    """Who works next, in which mode, for which skills.

    Attributes:
        mode: Mode id.
        agent: Agent id.
        skills: Weights of the skills that the state needs.
        cost_usd: What deciding cost, ``None`` for unknown.
        score: What the choice was made by.
    """

    mode: str
    agent: str
    skills: Mapping[str, float] = field(default_factory=dict)
    cost_usd: float | None = 0.0
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One step: a decision, the action that it led to, and what came of it; a number that is ``None`` is unknown.

    Attributes:
        decision: Who and in which mode.
        action: What was done, such as the code or the search terms.
        observation: What came of it.
        is_answer: Whether the observation is an answer.
        succeeded: ``False`` for a turn that failed or an answer that was refused, ``True`` for one that was verified
            or gave an observation, ``None`` for an answer that nobody checked.
        error: Code of an outside failure: the agent was not to blame.
        error_message: Of it.
        cost_usd: Of the agent.
        tool_usd: Of tools.
        check_usd: Of checking the answer.
        prompt_tokens: Tokens read.
        completion_tokens: Tokens written.
        latency_s: Seconds.
        is_repeat: Whether the same was done, with the same result, before.
    """

    decision: Decision
    action: str = ""
    observation: str = ""
    is_answer: bool = False
    succeeded: bool | None = None
    error: str | None = None
    error_message: str = ""
    cost_usd: float | None = 0.0
    tool_usd: float | None = 0.0
    check_usd: float | None = 0.0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_s: float | None = None
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """A query and the turns on it.

    Attributes:
        query_id: As given.
        text: The query, or what of a conversation stands for it.
        messages: What a model gets that answers directly.
        turns: In order.
        needs: Capabilities without which an agent cannot serve it.
    """

    query_id: str | int
    text: str
    messages: tuple[Mapping[str, Any], ...]
    turns: tuple[Turn, ...] = ()
    needs: Needs = NO_NEEDS

    @property
    def last(self) -> Turn | None:
        """The last turn that was not ended by an outside failure."""
        return next((turn for turn in reversed(self.turns) if turn.error is None), None)

    @property
    def own_turns(self) -> int:
        """How many turns count against the limit: outside failures do not."""
        return sum(turn.error is None for turn in self.turns)

    @property
    def answer_turn(self) -> Turn | None:
        """The turn whose answer stands: a verified one, else the last."""
        answers = [turn for turn in self.turns if turn.is_answer]
        verified = [turn for turn in answers if turn.succeeded]
        return next(reversed(verified or answers), None)

    @property
    def observations(self) -> tuple[Turn, ...]:
        """The turns that found something out."""
        return tuple(turn for turn in self.turns if turn.succeeded and not turn.is_answer and turn.observation)

    def spent_usd(self) -> float:
        """Return the known costs of all turns."""
        parts = (
            part
            for turn in self.turns
            for part in (turn.cost_usd, turn.tool_usd, turn.check_usd, turn.decision.cost_usd)
        )
        return sum(part for part in parts if part is not None)

    def has_unknown_cost(self) -> bool:
        """Tell whether the cost of a turn is unknown."""
        return any(
            None in (turn.cost_usd, turn.tool_usd, turn.check_usd, turn.decision.cost_usd) for turn in self.turns
        )

    def failed_agents(self, mode: str) -> tuple[str, ...]:
        """Return the agents that failed in a mode, once for each failure."""
        return tuple(
            turn.decision.agent
            for turn in self.turns
            if turn.decision.mode == mode and turn.error is None and turn.succeeded is False
        )

    def broken_agents(self) -> tuple[str, ...]:
        """Return the agents that an outside failure keeps from working now."""
        return tuple(dict.fromkeys(turn.decision.agent for turn in self.turns if turn.error is not None))

    def state_text(self) -> str:
        """Return the text that says which skills are needed now: the query, and what was found out."""
        return write_state(self.text, ((turn.decision.mode, turn.observation) for turn in self.observations))

    def with_turn(self, turn: Turn) -> Conversation:
        """Return the conversation with one more turn, marked as a failure if it only repeats an earlier one."""
        if turn.error is None and any(_is_same(turn, earlier) for earlier in self.turns):
            succeeded = turn.succeeded if turn.is_answer and turn.succeeded is not True else False
            turn = replace(turn, is_repeat=True, succeeded=succeeded)
        return replace(self, turns=(*self.turns, turn))

    def with_find(self, mode: str, text: str) -> Conversation:
        """Return the conversation as it would be if a mode had found something out."""
        return self.with_turn(Turn(Decision(mode, ""), observation=text or " ", succeeded=True))


def write_state(query: str, found: Iterable[tuple[str, str]]) -> str:
    """Return the text by which the skills of a state are told.

    Args:
        query: What was asked.
        found: What was found out since, each with the mode in which it was.
    """
    return "\n".join([query, *(f"[{mode}] {observation[:_STATE_CHARS]}" for mode, observation in found)])


def read_state(trace: Trace, number: int) -> str:
    """Return the state before a step of a logged trajectory, as the loop weighed it.

    A step found something out unless it failed, was not heard of, or came to nothing. An answer that was not refused
    ends a conversation, so that none stands before another step.

    Args:
        trace: The trajectory.
        number: Of the step, from 0, or the number of steps for the state after the last.
    """
    return write_state(
        trace.query,
        (
            (step.mode, step.observation)
            for step in trace.steps[:number]
            if step.mode and step.observation and step.error is None and step.success is not False
        ),
    )


def _is_same(turn: Turn, earlier: Turn) -> bool:
    """Compare what was done and what came of it; who did it makes no difference."""
    return earlier.error is None and (turn.decision.mode, turn.action, turn.observation) == (
        earlier.decision.mode,
        earlier.action,
        earlier.observation,
    )
