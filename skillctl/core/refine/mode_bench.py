"""One mode with its traces: how any set of skills would be profiled by them, and how it would route."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.evaluate.replay import ModeLog, Play, align_outcomes, build_board
from skillctl.core.orchestrate.embedded import EmbeddedOrchestrator
from skillctl.core.orchestrate.features import WordTable
from skillctl.core.orchestrate.orchestration import SkillWeights
from skillctl.core.orchestrate.skill_index import build_skill_index, find_depths
from skillctl.core.orchestrate.space import POINT_STEPS, fit_space, project
from skillctl.core.outcomes import tabulate_outcomes
from skillctl.core.profile.counting import EvidenceCounter
from skillctl.core.profile.evidence import Evidence
from skillctl.core.profile.pair_layout import build_layout
from skillctl.core.profile.profiling import build_profiles
from skillctl.core.profile.skill_credit import expand
from skillctl.core.refine.bisecting import Lesson
from skillctl.core.route.routing_table import compile_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from skillctl.core.evaluate.replay import Board
    from skillctl.core.orchestrate.features import TextFeatures, WordEmbedder
    from skillctl.core.orchestrate.orchestration import Orchestrator
    from skillctl.core.outcomes import Outcomes
    from skillctl.core.profile.half_life import HalfLife
    from skillctl.core.route.routing_table import ModeTable
    from skillctl.model.handbook import Handbook, ModeId, Skill, SkillId
    from skillctl.model.trace import Trace

    Floats = NDArray[np.float64]
    OpenOrchestrator = Callable[[Handbook, ModeId], Orchestrator]


class Standing(NamedTuple):
    """A set of skills, profiled by the training traces.

    Attributes:
        skills: In order of id.
        handbook: The mode alone, with these skills and the profiles that follow.
        table: The same, compiled.
        weights: Shares of skills in each training query, 0 is the root, shape (q, 1 + skills).
        choice: On each training query the agent that would be chosen, -1 for none, shape (q,).
        chosen: The same on each validation query that can be replayed.
        reward: Success minus λ times cost of that agent on each of these.
    """

    skills: tuple[Skill, ...]
    handbook: Handbook
    table: ModeTable
    weights: Floats
    choice: NDArray[np.int64]
    chosen: NDArray[np.int64]
    reward: Floats

    def find_homes(self) -> NDArray[np.int64]:
        """Return the skill (numbered from 1) that is at home in each training query, 0 where none is.

        That is the heaviest of the finest skills, and only where none of these has weight the heaviest of the others.
        """
        parents = {skill.parent for skill in self.skills}
        fine = np.array([skill.id not in parents for skill in self.skills], bool)
        homes = np.zeros(len(self.weights), np.int64)
        for level in (~fine, fine):
            shares = np.where(level, self.weights[:, 1:], 0.0)
            if level.any():
                homes = np.where(shares.max(axis=1) > 0, shares.argmax(axis=1) + 1, homes)
        return homes

    def find_places(self) -> NDArray[np.int64]:
        """Return a number for each training query: the same for those with the same heaviest skill at each depth."""
        depths = np.array(find_depths(self.skills), np.int64)
        heaviest = [np.zeros(len(self.weights), np.int64)]
        for depth in range(1, depths.max(initial=0) + 1):
            shares = np.where(depths == depth, self.weights[:, 1:], 0.0)
            heaviest.append(np.where(shares.max(axis=1) > 0, shares.argmax(axis=1) + 1, 0))
        return np.asarray(np.unique(np.stack(heaviest), axis=1, return_inverse=True)[1]).ravel()

    def list_subtree(self, skill: SkillId) -> list[int]:
        """Return a skill and all below it, numbered from 1."""
        inside = {skill}
        while below := {one.id for one in self.skills if one.parent in inside} - inside:
            inside |= below
        return [number for number, one in enumerate(self.skills, 1) if one.id in inside]

    def find_rows(self, homes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return the queries of each skill: those with a home in it or in a finer one below it."""
        return [np.flatnonzero(np.isin(homes, self.list_subtree(skill.id))) for skill in self.skills]


@dataclass(frozen=True, slots=True)
class Weighed:
    """An orchestrator that remembers what it said of some texts."""

    inner: Orchestrator
    weights: SkillWeights
    rows: dict[str, int]

    def weigh(self, texts: Sequence[str]) -> SkillWeights:
        """Return the weights for each text."""
        if not all(text in self.rows for text in texts):
            return self.inner.weigh(texts)
        rows = np.array([self.rows[text] for text in texts], np.int64)
        counts = np.diff(self.weights.indptr)[rows]
        entries = expand(self.weights.indptr[:-1][rows], counts)
        return SkillWeights(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            self.weights.skills[entries],
            self.weights.weights[entries],
        )


class TextsReadOnce(WordTable):
    """Remembers the features of the batches that it read: the same texts are weighed for every set of skills."""

    def __init__(self, embedder: WordEmbedder) -> None:
        super().__init__(embedder, max_words=sys.maxsize)  # the numbers of words must keep their meaning
        self._batches: dict[tuple[str, ...], TextFeatures] = {}

    def read(self, texts: Sequence[str]) -> TextFeatures:
        """Return the features of texts; a row depends on its text alone."""
        key = tuple(texts)
        found = self._batches.get(key)
        if found is None:
            found = self._batches[key] = super().read(texts)
        return found


class ModeBench:
    """The traces of one mode.

    Args:
        handbook: The whole handbook.
        mode: The mode.
        training: All training traces.
        validation: All validation traces.
        embedder: Word vectors.
        half_life: How evidence decays, or ``None``.
        open_orchestrator: Opens what names the skills of texts, for a handbook with the skills in question; the
            embedded orchestrator without it.
    """

    def __init__(
        self,
        handbook: Handbook,
        mode: ModeId,
        training: Sequence[Trace],
        validation: Sequence[Trace],
        *,
        embedder: WordEmbedder,
        half_life: HalfLife | None = None,
        open_orchestrator: OpenOrchestrator | None = None,
    ) -> None:
        default = handbook.default_mode()
        self.mode = mode
        self.skills = handbook.skills.get(mode, ())
        self._base = replace(
            handbook,
            modes={mode: handbook.modes[mode]},
            settings=replace(handbook.settings, default_mode=default),
        )
        self._half_life = half_life
        self._open_orchestrator = open_orchestrator
        self._embedder = embedder
        self._table = TextsReadOnce(embedder)
        self._traces = [
            trace
            for trace in training
            if (trace.mode or default) == mode or any(step.mode == mode for step in trace.steps)
        ]
        agents = sorted(handbook.agents)
        works = np.array([mode in handbook.agents[agent].modes for agent in agents], bool)
        self.training = _tabulate(training, mode, default, agents, works)
        self.validation = _tabulate(validation, mode, default, agents, works)
        self._texts = list(dict.fromkeys([*self.training.texts, *self.validation.texts]))
        features = self._table.read(self.training.texts)
        space = fit_space(features.semantic, features.surface)
        found = project(space, features.semantic, features.surface).points
        self.points: Floats = found.astype(np.float64) / float(POINT_STEPS)
        self.surface = features.surface
        known = ~np.isnan(self.training.success)
        self.wins: Floats = np.where(known, self.training.success, 0.0)
        self.losses: Floats = np.where(known, 1.0 - self.training.success, 0.0)

    def take_lesson(self, rows: NDArray[np.int64], strata: NDArray[np.int64] | None = None) -> Lesson:
        """Return some training queries with what agents made of them, in strata whose difference is known.

        One stratum is none.
        """
        if strata is not None and len(np.unique(strata)) == 1:
            strata = None
        tasks = [self.training.tasks[row] for row in rows]
        return Lesson(self.points[rows], self.wins[rows], self.losses[rows], tasks, strata)

    def assess(self, skills: tuple[Skill, ...]) -> Standing:
        """Return how these skills are profiled, and how they route."""
        bare = replace(self._base, skills={self.mode: skills})
        orchestrator = self._open(bare)
        evidence = Evidence(build_layout(bare))
        EvidenceCounter(evidence, lambda _: orchestrator, half_life=self._half_life).add(self._traces)
        evidence.round()
        handbook = build_profiles(bare, evidence)
        routing = compile_table(handbook, {})
        table = routing.modes[self.mode]
        cost_weight = handbook.settings.cost_weight

        def replay(outcomes: Outcomes) -> tuple[SkillWeights, Board]:
            weights = orchestrator.weigh(outcomes.texts)
            rates = np.zeros((len(table.skills), len(routing.agents)))
            log = ModeLog(table, outcomes, weights, rates)
            return weights, build_board([log], routing.agents, Play(cost_weight))

        weights, board = replay(self.training)
        chosen = replay(self.validation)[1] if self.validation.texts else None
        return Standing(
            skills,
            handbook,
            table,
            _spread(weights, len(skills)),
            _match_choice(self.training, board),
            np.empty(0, np.int64) if chosen is None else chosen.chosen,
            np.empty(0) if chosen is None else _reward(chosen, cost_weight),
        )

    def _open(self, bare: Handbook) -> Weighed:
        inner: Orchestrator
        if self._open_orchestrator is not None:
            inner = self._open_orchestrator(bare, self.mode)
        else:
            index = build_skill_index(bare.skills[self.mode], self._embedder, table=self._table)
            settings = bare.settings.orchestrator
            inner = EmbeddedOrchestrator(index, lambda: self._embedder, settings, table=self._table)
        return Weighed(inner, inner.weigh(self._texts), {text: row for row, text in enumerate(self._texts)})


def has_verdicts(handbook: Handbook, traces: Sequence[Trace]) -> bool:
    """Tell whether any query of these traces has a verdict on an agent that works in its mode."""
    agents = sorted(handbook.agents)
    for mode in handbook.modes:
        works = np.array([mode in handbook.agents[agent].modes for agent in agents], bool)
        if _tabulate(traces, mode, handbook.default_mode(), agents, works).texts:
            return True
    return False


def _tabulate(
    traces: Sequence[Trace], mode: str, default: str, agents: Sequence[str], works: NDArray[np.bool_]
) -> Outcomes:
    """Return the outcomes of the agents that work in the mode, queries without any verdict left out."""
    outcomes = align_outcomes(tabulate_outcomes(traces, mode=mode, default_mode=default), agents)
    outcomes.success[:, ~works] = np.nan
    return outcomes.take(np.flatnonzero(~np.isnan(outcomes.success).all(axis=1)))


def _spread(weights: SkillWeights, skills: int) -> Floats:
    count = len(weights.indptr) - 1
    shares = np.zeros((count, 1 + skills))
    shares[np.repeat(np.arange(count), np.diff(weights.indptr)), weights.skills] = weights.weights
    return shares


def _match_choice(outcomes: Outcomes, board: Board) -> NDArray[np.int64]:
    """Return the choice for each query; -1 where the gates of all agents with a verdict are shut."""
    chosen = {(type(key), key): agent for key, agent in zip(board.query_ids, board.chosen.tolist(), strict=True)}
    return np.array([chosen.get((type(key), key), -1) for key in outcomes.query_ids], np.int64)


def _reward(board: Board, cost_weight: float) -> Floats:
    """Return success minus λ times the logged cost of the chosen agents; an unknown cost is left out."""
    rows = np.arange(len(board))
    cost = board.cost[rows, board.chosen] if cost_weight else np.zeros(len(board))
    return np.asarray(board.success[rows, board.chosen] - cost_weight * np.nan_to_num(cost), dtype=np.float64)
