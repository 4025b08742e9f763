"""Which mode next, and who in it: every open pair of mode and agent is an option with a value."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from skillctl.core.run.conversation import Decision
from skillctl.core.run.finds import list_finds
from skillctl.core.run.loop_options import average_options, read_options
from skillctl.core.run.state_weighing import UNWEIGHED
from skillctl.model.query import Query

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from skillctl.core.route.batch_routing import RoutedBlock, Router, RowError
    from skillctl.core.run.conversation import Conversation
    from skillctl.core.run.loop_options import Option
    from skillctl.core.run.state_weighing import StateWeigher, Weighed
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
        finds: What it may find out.
    """

    id: str
    ends: bool
    insights: tuple[Insight, ...] = ()
    finds: tuple[str, ...] = ()


class Following(NamedTuple):
    """What comes after a mode that does not answer: the gain of the best answer over the usual one, and its cost."""

    gain: float
    cost: float


def read_modes(handbook: Handbook, names: Sequence[str] = ()) -> dict[str, ModeFacts]:
    """Return the modes of a handbook, or those named; without an action a mode answers."""
    return {
        mode.id: ModeFacts(
            mode.id, mode.action is None or mode.action.ends, mode.insights, tuple(list_finds(handbook, mode.id))
        )
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
        seed: Of ``random``.
        weigher: Names the skills, instead of the router's orchestrators; a state that is only foreseen needs for it
            what the present one needs, as asking costs.
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
        seed: int = 0,
        weigher: StateWeigher | None = None,
    ) -> None:
        self._router = router
        self._modes = modes
        self._policy = policy
        self._agents = tuple(agents) or None
        self._fixed = dict(fixed or {})
        self._path = tuple(path)
        self._seed = seed
        self._weigher = weigher
        self._ending = [mode for mode in modes.values() if mode.ends]
        self._is_flat = policy == "strongest"  # over all queries alike, whatever they need
        self._lock = threading.Lock()  # orchestrators keep tables of words that grow

    def choose(self, conversation: Conversation, turns_left: int, *, only: str | None = None) -> Decision | None:
        """Return the best option, ``None`` when nobody is left; ties go to an answer, the lower cost, the lower ids.

        Args:
            conversation: So far.
            turns_left: Before the turn limit.
            only: The mode, where somebody else has chosen it.
        """
        if not conversation.turns and self.find_refusal(conversation):
            return None
        modes = [mode for mode in self._open_modes(conversation, turns_left) if only is None or mode.id == only]
        weighed = self._weigh(conversation, modes)
        options = self._find_options(conversation, modes, weighed.skills)
        if not options:
            return None
        if self._policy == "random":
            best = self._draw(conversation, options)
        else:
            values = self._value(conversation, options, weighed.skills)
            best = min(options, key=lambda option: self._rank(option, values[option.mode, option.agent]))
        return Decision(best.mode, best.agent, dict(best.skills), weighed.cost_usd, score=round(best.score, 6))

    def find_refusal(self, conversation: Conversation) -> list[RowError]:
        """Return for each mode that could give the answer why no agent may work in it, nothing where one may.

        Of a path, each mode up to the answer has to have an agent.
        """
        path = [self._modes[mode] for mode in self._path]
        until = next((place for place, mode in enumerate(path, 1) if mode.ends), len(path))
        needed = path[:until] or self._ending
        errors = self._route(conversation, needed, _root_weights(needed)).errors
        is_refused = bool(path) or len(errors) == len(needed)
        return [errors[place] for place in sorted(errors)] if is_refused else []

    def _open_modes(self, conversation: Conversation, turns_left: int) -> list[ModeFacts]:
        if not self._path:
            return find_open_modes(conversation, self._modes, turns_left)
        place = conversation.own_turns
        return [self._modes[mode] for mode in self._path[place : place + 1]]

    def _weigh(self, conversation: Conversation, modes: Sequence[ModeFacts]) -> Weighed:
        """Ask who names the skills, in the modes that are open to somebody and in those that may answer after them."""
        if self._weigher is None or self._is_flat:
            return UNWEIGHED
        foresees = self._policy == "handbook" and not all(mode.ends for mode in modes)
        wanted = [*modes, *(mode for mode in self._ending if foresees and mode not in modes)]
        root = _root_weights(wanted)
        staffed = {option.mode for option in self._find_options(conversation, wanted, root)}
        weighed = self._weigher.weigh(conversation, sorted(staffed))
        return weighed._replace(skills={**root, **weighed.skills})

    def _rank(self, option: Option, value: float) -> tuple[float, bool, float, str, str]:
        return (-round(value, 12), not self._modes[option.mode].ends, option.cost, option.mode, option.agent)

    def _find_options(
        self, conversation: Conversation, modes: Iterable[ModeFacts], skills: Mapping[str, Mapping[str, float]]
    ) -> list[Option]:
        return [option for group in self._route(conversation, modes, skills).groups for option in read_options(group)]

    def _route(
        self, conversation: Conversation, modes: Iterable[ModeFacts], skills: Mapping[str, Mapping[str, float]]
    ) -> RoutedBlock:
        """Route a conversation in each of the modes; where its skills are not given, they are inferred."""
        queries = [
            Query(
                id=None,
                line=0,
                text=conversation.state_text(),
                mode=mode.id,
                skills={mode.id: 1.0} if self._is_flat else skills.get(mode.id),
                allow=(self._fixed[mode.id],) if mode.id in self._fixed else self._agents,
                deny=conversation.broken_agents(),
                needs=conversation.needs,
                cost_weight=0.0 if self._is_flat else None,
                failed=conversation.failed_agents(mode.id),
            )
            for mode in modes
        ]
        with self._lock:
            return self._router.route(queries)

    def _value(
        self, conversation: Conversation, options: Sequence[Option], skills: Mapping[str, Mapping[str, float]]
    ) -> dict[tuple[str, str], float]:
        if self._policy == "cheapest":
            rest = _cheapest_ending(options, self._modes)
            return {(o.mode, o.agent): -o.cost - (0.0 if self._modes[o.mode].ends else rest) for o in options}
        shifts = weigh_insights(conversation, self._modes)
        follow = {
            mode: self._foresee(conversation, mode, skills)
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

    def _foresee(self, conversation: Conversation, mode: str, skills: Mapping[str, Mapping[str, float]]) -> Following:
        """Return what the best answer after a mode adds to what is known of conversations through it.

        Success of a mode that does not answer was counted over whoever answered afterwards. The best of them now
        does better than their mean (or worse, where the strongest are too dear) by the ratio of their expected
        successes, each weighted by its evidence: where the best one has answered all along, the ratio is 1.
        What will be found is not known: it is taken to be like what was found in the handbook's examples.
        """
        # Given skills are the same whatever is found.
        finds = ("",) if skills else self._modes[mode].finds or ("",)
        states = [conversation.with_find(mode, find) for find in finds]
        options = average_options([self._find_options(state, self._ending, skills) for state in states])
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


def _root_weights(modes: Iterable[ModeFacts]) -> dict[str, dict[str, float]]:
    return {mode.id: {mode.id: 1.0} for mode in modes}


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


def _cheapest_ending(options: Sequence[Option], modes: Mapping[str, ModeFacts]) -> float:
    return min((option.cost for option in options if modes[option.mode].ends), default=0.0)
