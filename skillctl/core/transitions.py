"""Which mode next, and who in it: every open pair of mode and agent is an option with a value."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from skillctl.core.conversation import Decision, Turn
from skillctl.core.gates import OPEN
from skillctl.core.routing import spread
from skillctl.model.query import Needs, Query

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from skillctl.core.batch_routing import Routed, Router
    from skillctl.core.conversation import Conversation
    from skillctl.model.handbook import Handbook, Insight

LoopPolicy = Literal["handbook", "random", "cheapest", "strongest"]

# How much the share of successful moves that an insight reports weighs beside expected success. It decides between
# modes of like value: between a move that nine in ten made and one that nobody made lies 0.19 of success.
INSIGHT_WEIGHT = 0.05
# Share of moves to modes that no insight mentions.
UNSEEN_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class ModeFacts:
    """What choosing needs to know of a mode.

    Attributes:
        id: Mode id.
        ends: Whether it gives an answer.
        insights: When it is worth entering.
    """

    id: str
    ends: bool
    insights: tuple[Insight, ...] = ()


class Option(NamedTuple):
    """One agent in one mode.

    Attributes:
        mode: Mode id.
        agent: Agent id.
        score: Expected success minus λ times the expected cost of the turn.
        success: Expected success.
        cost: Expected cost of the turn, 0 where it is unknown.
        cost_weight: λ.
        evidence: What the expectation rests on, in runs.
        skills: What the state needs in the mode.
    """

    mode: str
    agent: str
    score: float
    success: float
    cost: float
    cost_weight: float
    evidence: float
    skills: Mapping[str, float]


class Following(NamedTuple):
    """What comes after a mode that does not answer: the gain of the best answer over the usual one, and its cost."""

    gain: float
    cost: float


def read_modes(handbook: Handbook, names: Sequence[str] = ()) -> dict[str, ModeFacts]:
    """Return the modes of a handbook, or those named; without an action a mode answers."""
    return {
        mode.id: ModeFacts(mode.id, mode.action is None or mode.action.ends, mode.insights)
        for mode in handbook.modes.values()
        if not names or mode.id in names
    }


class RouterChooser:
    """Chooses by the posteriors and costs of a handbook, and by the insights of its modes.

    Args:
        router: Over the handbook.
        modes: Those that may be entered.
        policy: ``handbook``, or a baseline in the same loop: a random option, the cheapest, or the one with the
            largest success over all queries alike, whatever it costs.
        agents: Only these agents, or empty for all.
        fixed: The one agent that may work in a mode, by mode.
        path: Modes to take in this order, one a turn, instead of choosing them; empty for none.
        needs: Of all queries.
        seed: Of ``random``.
    """

    def __init__(
        self,
        router: Router,
        modes: Mapping[str, ModeFacts],
        *,
        policy: LoopPolicy = "handbook",
        agents: Sequence[str] = (),
        fixed: Mapping[str, str] | None = None,
        path: Sequence[str] = (),
        needs: Needs = Needs(),  # noqa: B008 - immutable
        seed: int = 0,
    ) -> None:
        self._router = router
        self._modes = modes
        self._policy = policy
        self._agents = tuple(agents) or None
        self._fixed = dict(fixed or {})
        self._path = tuple(path)
        self._needs = needs
        self._seed = seed
        self._lock = threading.Lock()  # orchestrators keep tables of words that grow

    def choose(self, conversation: Conversation, turns_left: int, *, only: str | None = None) -> Decision | None:
        """Return the best option, ``None`` when nobody is left; ties go to an answer, the lower cost, the lower ids.

        Args:
            conversation: So far.
            turns_left: Before the turn limit.
            only: The mode, where somebody else has chosen it.
        """
        if self._path:
            place = conversation.own_turns
            modes = [self._modes[mode] for mode in self._path[place : place + 1]]
        else:
            modes = find_open_modes(conversation, self._modes, turns_left)
        if only is not None:
            modes = [mode for mode in modes if mode.id == only]
        options = self._find_options(conversation, modes)
        if not options:
            return None
        if self._policy == "random":
            best = self._draw(conversation, options)
        else:
            values = self._value(conversation, options)
            best = min(options, key=lambda option: self._rank(option, values[option.mode, option.agent]))
        return Decision(best.mode, best.agent, dict(best.skills), score=round(best.score, 6))

    def _rank(self, option: Option, value: float) -> tuple[float, bool, float, str, str]:
        return (-round(value, 12), not self._modes[option.mode].ends, option.cost, option.mode, option.agent)

    def _find_options(self, conversation: Conversation, modes: Iterable[ModeFacts]) -> list[Option]:
        is_flat = self._policy == "strongest"
        queries = [
            Query(
                id=None,
                line=0,
                text=conversation.state_text(),
                mode=mode.id,
                skills={mode.id: 1.0} if is_flat else None,
                allow=(self._fixed[mode.id],) if mode.id in self._fixed else self._agents,
                deny=conversation.broken_agents(),
                needs=self._needs,
                cost_weight=0.0 if is_flat else None,
                failed=conversation.failed_agents(mode.id),
            )
            for mode in modes
        ]
        with self._lock:
            block = self._router.route(queries)
        return [option for group in block.groups for option in _read_options(group)]

    def _value(self, conversation: Conversation, options: Sequence[Option]) -> dict[tuple[str, str], float]:
        if self._policy == "cheapest":
            rest = _cheapest_ending(options, self._modes)
            return {(o.mode, o.agent): -o.cost - (0.0 if self._modes[o.mode].ends else rest) for o in options}
        shifts = weigh_insights(conversation, self._modes)
        follow = {
            mode: self._foresee(conversation, mode)
            for mode in sorted({option.mode for option in options})
            if not self._modes[mode].ends
        }
        values = {}
        for option in options:
            value = option.score + shifts[option.mode]
            if option.mode in follow:
                gain, cost = follow[option.mode]
                value += min(1.0, option.success * gain) - option.success - option.cost_weight * cost
            values[option.mode, option.agent] = value
        return values

    def _foresee(self, conversation: Conversation, mode: str) -> Following:
        """Return what the best answer after a mode adds to what is known of conversations through it.

        Success of a mode that does not answer was counted over whoever answered afterwards. The best of them now
        does better than their mean (or worse, where the strongest are too dear) by the ratio of their expected
        successes, each weighted by its evidence: where the best one has answered all along, the ratio is 1.
        """
        found = Turn(Decision(mode, ""), observation=" ", succeeded=True)
        ending = [one for one in self._modes.values() if one.ends]
        options = self._find_options(conversation.with_turn(found), ending)
        if not options:
            return Following(1.0, 0.0)
        best = max(options, key=lambda option: (option.score, -option.cost))
        total = sum(option.evidence for option in options)
        mean = sum(option.evidence * option.success for option in options) / total if total > 0 else 0.0
        return Following(best.success / mean if mean > 0 else 1.0, best.cost)

    def _draw(self, conversation: Conversation, options: Sequence[Option]) -> Option:
        """Draw a mode, then an agent, by a generator of its own for each turn of each query."""
        name = f"{self._seed}:{conversation.query_id!r}:{len(conversation.turns)}".encode()
        rng = np.random.default_rng(int.from_bytes(blake2b(name, digest_size=8).digest(), "big"))
        modes = sorted({option.mode for option in options})
        mode = modes[rng.integers(len(modes))]
        own = sorted((option for option in options if option.mode == mode), key=lambda option: option.agent)
        return own[rng.integers(len(own))]


def find_open_modes(conversation: Conversation, modes: Mapping[str, ModeFacts], turns_left: int) -> list[ModeFacts]:
    """Return the modes that may be entered now, in order of id.

    The last turn is for an answer. A mode that found something out is done until an answer is refused: what it
    found is in the state, and asking again would find the same.
    """
    ending = [mode for mode in modes.values() if mode.ends]
    if turns_left <= 1 or not ending:
        return sorted(ending, key=lambda mode: mode.id)
    since = 0
    for number, turn in enumerate(conversation.turns, 1):
        if turn.is_answer and turn.succeeded is False:
            since = number
    done = {turn.decision.mode for turn in conversation.turns[since:] if turn.succeeded and not turn.is_answer}
    return sorted((mode for mode in modes.values() if mode.ends or mode.id not in done), key=lambda mode: mode.id)


def weigh_insights(conversation: Conversation, modes: Mapping[str, ModeFacts]) -> dict[str, float]:
    """Return for each mode the shift of its value by the insights that apply now.

    An insight applies where its ``after`` is the mode of the last turn, or absent at the start. The shift is
    w · ln(share / largest share), 0 for the mode that most successful runs went on with; without any insight that
    applies, all shifts are 0.
    """
    last = conversation.last
    after = last.decision.mode if last else None
    shares = {
        mode.id: max((i.confidence or 0.0 for i in mode.insights if i.after == after), default=0.0)
        for mode in modes.values()
    }
    largest = max(shares.values(), default=0.0)
    if largest <= 0.0:
        return dict.fromkeys(shares, 0.0)
    floor = min(UNSEEN_SHARE, largest)
    return {mode: INSIGHT_WEIGHT * math.log(max(share, floor) / largest) for mode, share in shares.items()}


def _read_options(group: Routed) -> list[Option]:
    options = []
    evidence = spread(group.batch.weights, group.table.evidence)
    for row, query in enumerate(group.queries):
        weights = group.batch.weights
        start, stop = weights.indptr[row], weights.indptr[row + 1]
        names = [group.table.skills[skill] for skill in weights.skills[start:stop].tolist()]
        skills = dict(sorted(zip(names, weights.weights[start:stop].tolist(), strict=True)))
        options += [
            Option(
                mode=query.mode or group.table.mode,
                agent=group.agents[column].id,
                score=float(group.choice.score[row, column]),
                success=float(group.choice.success[row, column]),
                cost=float(np.nan_to_num(group.table.cost[column])),
                cost_weight=0.0 if group.choice.unpriced[row] else float(group.batch.cost_weight[row]),
                evidence=float(evidence[row, column]),
                skills=skills,
            )
            for column in np.flatnonzero(group.batch.gates[row] == OPEN).tolist()
        ]
    return options


def _cheapest_ending(options: Sequence[Option], modes: Mapping[str, ModeFacts]) -> float:
    return min((option.cost for option in options if modes[option.mode].ends), default=0.0)
