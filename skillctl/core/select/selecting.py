"""Selection: which cut of the skill trees serves one orchestrator best, replayed on validation outcomes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from skillctl.core.evaluate.replay import align_outcomes, fill_costs
from skillctl.core.route.batch_routing import gate_costs
from skillctl.core.route.gates import ALLOW, OPEN, find_gates
from skillctl.core.route.routing import TIE, Batch
from skillctl.core.select.candidates import Cut, Tree
from skillctl.errors import SkillctlError
from skillctl.model.query import Query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from skillctl.core.evaluate.replay import ModeLog
    from skillctl.core.orchestrate.orchestration import SkillWeights
    from skillctl.core.route.routing_table import AgentFacts

    Floats = NDArray[np.float64]

MOST_CANDIDATES = 500
Rule = Literal["lambda", "one-se", "ceiling"]
# A candidate: a cut of each mode.
Cuts = tuple[Cut, ...]


class Replayed(NamedTuple):
    """A candidate's outcome on each validation query; costs that are unknown are NaN."""

    success: Floats
    cost: Floats


class Arena:
    """One mode's validation queries, on which its cuts are replayed.

    Args:
        log: The mode, its outcomes with the handbook's agents as columns, and what the orchestrator said of them.
        tree: The skills of the mode.
        is_open: Agents with a verdict whose gates are open, at least one for each query, shape (q, n).
        cost_weight: λ.
    """

    def __init__(self, log: ModeLog, tree: Tree, is_open: NDArray[np.bool_], cost_weight: float) -> None:
        self.tree = tree
        self.table = log.table
        self.texts = log.outcomes.texts
        self.success = log.outcomes.success
        self.cost = log.outcomes.cost_usd
        self._means = log.table.mean
        self._rows = np.arange(len(self.texts))
        self._matrix = self._as_matrix(log.weights)
        cost = log.table.cost
        priced = (is_open & ~np.isnan(cost)).any(axis=1, keepdims=True)
        spend = np.where(priced, cost_weight * np.nan_to_num(cost), 0.0)
        self._offset = np.where(is_open, -spend, -np.inf)

    def replay(self, cut: Cut, weights: SkillWeights | None = None) -> Replayed:
        """Return what comes of a cut: one product of the weights with the competence of what it keeps.

        Args:
            cut: The skills that stay.
            weights: What the orchestrator says when it sees the cut alone, instead of what it said of all skills.
        """
        matrix = self._matrix if weights is None else self._as_matrix(weights)
        nearest = self.tree.find_nearest(cut)
        score = matrix @ self._means[nearest] + self._offset
        chosen: NDArray[np.int64] = score.argmax(axis=1)
        tied = score >= score[self._rows, chosen][:, None] - TIE
        if np.count_nonzero(tied) > len(tied):
            chosen = self._settle(tied, matrix @ self.table.evidence[nearest])
        return Replayed(self.success[self._rows, chosen], self.cost[self._rows, chosen])

    def _settle(self, tied: NDArray[np.bool_], evidence: Floats) -> NDArray[np.int64]:
        """Return the one of equal scores that routing takes: lower cost, more evidence, lower id."""
        cost = np.where(tied, np.nan_to_num(self.table.cost, nan=np.finfo(float).max), np.inf)
        tied = tied & (cost == cost.min(axis=1, keepdims=True))
        evidence = np.where(tied, evidence, -1.0)
        chosen: NDArray[np.int64] = (evidence >= evidence.max(axis=1, keepdims=True) - TIE).argmax(axis=1)
        return chosen

    def _as_matrix(self, weights: SkillWeights) -> csr_array:
        from scipy.sparse import csr_array

        shape = (len(self.texts), len(self.table.skills))
        return csr_array((weights.weights, weights.skills, weights.indptr), shape=shape)


def build_arena(log: ModeLog, agents: Sequence[AgentFacts], tree: Tree, cost_weight: float) -> Arena | None:
    """Return the arena of one mode, or ``None`` where no query has verdicts to choose among."""
    outcomes = align_outcomes(log.outcomes, [agent.id for agent in agents])
    gates = find_gates([Query(None, 0, text) for text in outcomes.texts], agents, log.table)
    gates[(gates == OPEN) & np.isnan(outcomes.success)] = ALLOW
    gate_costs(Batch(log.weights, gates, np.full(len(gates), cost_weight)), log.table, is_strict=False)
    is_open = gates == OPEN
    rows = np.flatnonzero(is_open.sum(axis=1) > 1)
    if not len(rows):
        return None
    kept = outcomes._replace(cost_usd=fill_costs(outcomes.cost_usd)).take(rows)
    return Arena(replace(log, outcomes=kept, weights=take_rows(log.weights, rows)), tree, is_open[rows], cost_weight)


class Scored(NamedTuple):
    """A candidate with what came of it; simpler ones keep fewer skills."""

    cuts: Cuts
    replayed: Replayed
    accuracy: float
    mean_cost: float
    utility: float

    @property
    def size(self) -> int:
        """The number of skills that it keeps."""
        return sum(map(len, self.cuts))

    @property
    def key(self) -> tuple[float, int, list[list[str]]]:
        """Sorts the best first: largest utility, then simplest, then by the names of its skills."""
        return (-self.utility, self.size, [sorted(cut) for cut in self.cuts])


@dataclass(slots=True)
class Contest:
    """All candidates that were replayed.

    Attributes:
        scored: In the order in which they were tried.
        failed: Those that crashed or timed out, with the reason; they are no part of any comparison.
    """

    scored: list[Scored] = field(default_factory=list)
    failed: list[tuple[Cuts, str]] = field(default_factory=list)


def run_contest(
    trees: Sequence[Tree], replay: Callable[[int, Cut], Replayed], cost_weight: float, *, jobs: int = 1
) -> Contest:
    """Replay every combination of cuts, or a greedy path from the finest to the coarsest where there are too many.

    A cut is replayed once, in whatever combinations it occurs: modes do not bear on each other. The result does not
    depend on the number of jobs.

    Args:
        trees: Of each mode.
        replay: Replays a cut of a mode, by its number; may raise a `SkillctlError`.
        cost_weight: λ.
        jobs: How many cuts are replayed at the same time.
    """
    runner = _Runner(replay, cost_weight, jobs)
    if prod(tree.count_cuts() for tree in trees) <= MOST_CANDIDATES:
        runner.try_all(list(product(*(list(tree.list_cuts()) for tree in trees))))
    else:
        _climb_down(trees, runner)
    return runner.contest


class _Runner:
    def __init__(self, replay: Callable[[int, Cut], Replayed], cost_weight: float, jobs: int) -> None:
        self.contest = Contest()
        self._replay = replay
        self._cost_weight = cost_weight
        self._jobs = jobs
        self._known: dict[tuple[int, Cut], Replayed | str] = {}
        self._tried: set[Cuts] = set()

    def try_all(self, candidates: Iterable[Cuts]) -> list[Scored]:
        """Score candidates that were not tried yet, and return those that ran."""
        new = [cuts for cuts in dict.fromkeys(candidates) if cuts not in self._tried]
        self._tried.update(new)
        self._replay_all([(mode, cut) for cuts in new for mode, cut in enumerate(cuts)])
        scored = []
        for cuts in new:
            parts = [self._known[mode, cut] for mode, cut in enumerate(cuts)]
            reasons = [part for part in parts if isinstance(part, str)]
            if reasons:
                self.contest.failed.append((cuts, reasons[0]))
            else:
                scored.append(self._score(cuts, [part for part in parts if not isinstance(part, str)]))
        self.contest.scored += scored
        return scored

    def _replay_all(self, wanted: list[tuple[int, Cut]]) -> None:
        new = [key for key in dict.fromkeys(wanted) if key not in self._known]
        if self._jobs == 1 or len(new) == 1:
            results: Iterable[Replayed | str] = map(self._try_one, new)
            self._known.update(zip(new, results, strict=True))
            return
        with ThreadPoolExecutor(self._jobs) as pool:
            self._known.update(zip(new, pool.map(self._try_one, new), strict=True))

    def _try_one(self, key: tuple[int, Cut]) -> Replayed | str:
        try:
            return self._replay(*key)
        except SkillctlError as error:
            return str(error)

    def _score(self, cuts: Cuts, parts: Sequence[Replayed]) -> Scored:
        success = np.concatenate([part.success for part in parts])
        cost = np.concatenate([part.cost for part in parts])
        accuracy, mean_cost = float(success.mean()), float(cost.mean())
        return Scored(
            cuts, Replayed(success, cost), accuracy, mean_cost, weigh_utility(accuracy, mean_cost, self._cost_weight)
        )


def weigh_utility(accuracy: float, mean_cost: float, cost_weight: float) -> float:
    """Return accuracy minus λ times mean cost, the accuracy alone where costs are not known."""
    return accuracy if np.isnan(mean_cost) or cost_weight == 0 else accuracy - cost_weight * mean_cost


def _climb_down(trees: Sequence[Tree], runner: _Runner) -> None:
    """Coarsen one step at a time, always the step that keeps the largest utility; all steps that were tried compete."""
    current: Cuts = tuple(tree.finest for tree in trees)
    runner.try_all([current])
    while True:
        steps = [
            (*current[:mode], cut, *current[mode + 1 :])
            for mode, tree in enumerate(trees)
            for cut in tree.coarsen(current[mode])
        ]
        room = MOST_CANDIDATES - len(runner.contest.scored) - len(runner.contest.failed)
        scored = runner.try_all(islice(steps, max(room, 0)))
        if not scored:
            return
        current = min(scored, key=lambda candidate: candidate.key).cuts


def find_front(scored: Sequence[Scored]) -> list[Scored]:
    """Return the candidates that none strictly dominates, by rising cost; of equal ones the simplest.

    One dominates another if it is no worse in accuracy and cost and better in one of them. Without known costs the
    front is the most accurate one.
    """
    order = sorted(scored, key=lambda c: (np.nan_to_num(c.mean_cost), -c.accuracy, c.size, c.key))
    front: list[Scored] = []
    for candidate in order:
        if not front or candidate.accuracy > front[-1].accuracy:
            front.append(candidate)
    return front[-1:] if any(np.isnan(candidate.mean_cost) for candidate in scored) else front


def choose_candidate(
    scored: Sequence[Scored], rule: Rule, cost_weight: float, *, ceiling: float | None = None
) -> Scored | None:
    """Return the choice, or ``None`` when no candidate is cheap enough.

    Args:
        scored: At least one candidate.
        rule: ``lambda`` takes the largest utility; ``one-se`` the simplest one whose utility is within one standard
            error of the paired difference to the largest (Breiman et al., 1984, section 3.4.3, for pairs);
            ``ceiling`` the most accurate one of at most so much mean cost.
        cost_weight: λ.
        ceiling: Mean cost of a query, for ``ceiling``.
    """
    if rule == "ceiling":
        cheap = [c for c in scored if ceiling is not None and not np.isnan(c.mean_cost) and c.mean_cost <= ceiling]
        return min(cheap, key=lambda c: (-c.accuracy, c.mean_cost, c.size, c.key), default=None)
    best = min(scored, key=lambda candidate: candidate.key)
    if rule == "lambda":
        return best
    near = [candidate for candidate in scored if _is_near(best, candidate, cost_weight)]
    return min(near, key=lambda candidate: (candidate.size, candidate.key))


def _is_near(best: Scored, other: Scored, cost_weight: float) -> bool:
    gap = best.replayed.success - other.replayed.success
    if cost_weight > 0 and not np.isnan(best.mean_cost):
        gap = gap - cost_weight * (best.replayed.cost - other.replayed.cost)
    error = float(gap.std(ddof=1)) / np.sqrt(len(gap)) if len(gap) > 1 else 0.0
    return float(gap.mean()) <= error


def list_skills(candidate: Scored) -> tuple[str, ...]:
    """Return the skills that a candidate keeps, in order of id."""
    return tuple(sorted(skill for cut in candidate.cuts for skill in cut))


def take_rows(weights: SkillWeights, rows: NDArray[np.int64]) -> SkillWeights:
    """Return the weights of some states."""
    from skillctl.core.profile.skill_credit import expand

    lengths = weights.indptr[rows + 1] - weights.indptr[rows]
    place = expand(weights.indptr[rows], lengths)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return type(weights)(indptr, weights.skills[place], weights.weights[place])
