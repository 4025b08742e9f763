"""One evaluation: a policy of a handbook, every baseline, the oracle, and the tables beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.evaluate.budget_curve import BudgetPoint, trace_budgets
from skillctl.core.evaluate.calibration import Reliability, find_reliability
from skillctl.core.evaluate.off_policy import Coverage, estimate_off_policy
from skillctl.core.evaluate.playing import (
    Played,
    Sweep,
    choose_by,
    play_chosen,
    play_random,
    sweep,
)
from skillctl.core.evaluate.resampling import Resamples
from skillctl.core.evaluate.scoring import (
    METRICS,
    Yardsticks,
    score_intervals,
    score_pair,
    score_play,
    score_singles,
    set_yardsticks,
)
from skillctl.core.route.cascade import JointOutcomes, plan_cascades, play_cascade

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from skillctl.core.evaluate.replay import Board
    from skillctl.core.evaluate.rivals import Fold, Training

    Floats = NDArray[np.float64]
    Samples = dict[str, Floats]

_CASCADE_SWEEP = 16  # cost weights of a cascade's curve, above and below the least likely first call
_CASCADE_TAIL = 100.0


class Group(NamedTuple):
    """The queries of one task or skill.

    Attributes:
        name: Of the task or skill; ``None`` for queries without a label.
        queries: Their number.
        accuracy: Samples.
        mean_cost_usd: Samples.
        expected: Mean expected success, NaN is unknown.
        best_single: Accuracy of the best single agent.
        oracle: Accuracy of the oracle.
        top_agent: Who is called most.
    """

    name: str | None
    queries: int
    accuracy: Floats
    mean_cost_usd: Floats
    expected: float
    best_single: float
    oracle: float
    top_agent: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came of a policy on a board.

    Attributes:
        yardsticks: With the board.
        played: The policy's outcome.
        curve: The policy at falling thrift.
        samples: Of the policy's metrics.
        baselines: Samples of the metrics of each baseline.
        shares: Share of calls by agent, and the oracle's, shape (n, 2).
        tasks: By task.
        skills: By heaviest skill.
        coverage: What partial logs can tell; for complete logs it agrees with the replay.
        reliability: Of the policy's expected success.
        budgets: Quality over budget of choosing one agent a query; empty without costs.
    """

    yardsticks: Yardsticks
    played: Played
    curve: Sweep
    samples: Samples
    baselines: Mapping[str, Samples]
    shares: Floats
    tasks: tuple[Group, ...]
    skills: tuple[Group, ...]
    coverage: Coverage
    reliability: Reliability
    budgets: tuple[BudgetPoint, ...]


class Learned(NamedTuple):
    """What was learned from the training traces of the baselines.

    Attributes:
        training: The outcomes.
        folds: Which of them teach what is used on which queries.
        predicted: Expected success by each learned baseline.
    """

    training: Training
    folds: Sequence[Fold]
    predicted: Mapping[str, Floats]


def evaluate_board(
    board: Board,
    learned: Learned,
    resamples: Resamples,
    cost_weight: float,
    *,
    cascades: bool,
    seed: int,
    whole: Board | None = None,
) -> Evaluation:
    """Score the board's policy, or the cascade, and every baseline on the same resamples.

    Args:
        board: The queries.
        learned: What the baselines and the cascade know.
        resamples: Of the board's rows.
        cost_weight: λ.
        cascades: Whether outcomes are verified and agents tried until one succeeds.
        seed: Of random draws.
        whole: The board with the queries of which only one agent is known, for estimates from partial logs.
    """
    yardsticks = set_yardsticks(board, resamples, cost_weight)
    played = play_policy(board, learned, cost_weight, cascades=cascades)
    curve = _sweep_cascades(board, learned) if cascades else sweep(board, board.value)
    samples = score_play(yardsticks, played, curve)
    samples |= {"interval_coverage": score_intervals(yardsticks, seed)}
    if not cascades:
        samples |= score_pair(yardsticks, played, board.value)
    whole = board if whole is None else whole
    shares = np.stack([_share(played), _share(yardsticks.oracle)], axis=1)
    tasks = np.array([("1" + task) if task is not None else "0" for task in board.tasks])
    return Evaluation(
        yardsticks=yardsticks,
        played=played,
        curve=curve,
        samples=samples,
        baselines=_score_baselines(yardsticks, learned.predicted),
        shares=shares,
        tasks=tuple(g._replace(name=(g.name or "")[1:] or None) for g in _group(yardsticks, played, tasks)),
        skills=tuple(_group(yardsticks, played, board.skills)),
        coverage=estimate_off_policy(whole, whole.wanted, Resamples(len(whole), seed, resamples.draws)),
        reliability=find_reliability(played.success if played.expected is None else played.expected, played.success),
        budgets=trace_budgets(board, resamples),
    )


def estimate_board(board: Board, learned: Learned, resamples: Resamples, cost_weight: float) -> Evaluation:
    """Estimate what can be said where each query has the outcome of one agent alone: the doubly robust accuracy.

    Nothing is chosen among known outcomes then, so all other metrics stay undefined.
    """
    evaluation = evaluate_board(board, learned, resamples, cost_weight, cascades=False, seed=0)
    nothing = dict.fromkeys(evaluation.samples, np.full(1 + resamples.draws, np.nan))
    values = {"cheapest": (board.root, np.inf), "best_single": (board.root, 0.0), "raw_rate": (board.raw, cost_weight)}
    values |= {name: (value, cost_weight) for name, value in learned.predicted.items()}
    baselines = {}
    for name, (value, weight) in values.items():
        chosen = choose_by(board, value, weight, board.is_open)
        baselines[name] = nothing | {"accuracy": estimate_off_policy(board, chosen, resamples).dr}
    return replace(evaluation, samples=nothing | {"accuracy": evaluation.coverage.dr}, baselines=baselines)


def _score_baselines(yardsticks: Yardsticks, predicted: Mapping[str, Floats]) -> dict[str, Samples]:
    board, cost_weight = yardsticks.board, yardsticks.cost_weight
    cheapest = choose_by(board, board.root, np.inf)
    nothing = dict.fromkeys(METRICS, np.full(1 + yardsticks.resamples.draws, np.nan))
    has_costs = not np.isnan(board.expected_cost).all()  # else nobody can be called the cheapest
    scored = {
        "random": score_play(yardsticks, play_random(board)),
        "cheapest": score_play(yardsticks, play_chosen(board, cheapest)) if has_costs else nothing,
        "best_single": score_play(yardsticks, yardsticks.best, sweep(board, board.root)),
    }
    for name, value in {**predicted, "raw_rate": board.raw}.items():
        played = play_chosen(board, choose_by(board, value, cost_weight), np.clip(value, 0, 1))
        scored[name] = score_play(yardsticks, played, sweep(board, value))
        scored[name] |= score_pair(yardsticks, played, value)
    scored["oracle"] = score_play(yardsticks, yardsticks.oracle)
    scored["single_agent_hull"] = nothing | score_singles(yardsticks)
    return scored


def play_policy(board: Board, learned: Learned, cost_weight: float, *, cascades: bool) -> Played:
    """Return what comes of the board's choices, or of cascades with joint outcomes of training queries alone."""
    if not cascades:
        return play_chosen(board, board.chosen, board.expected)
    return _play_cascades(board, _joint_outcomes(board, learned), cost_weight)


def _play_cascades(board: Board, parts: Sequence[_Part], cost_weight: float) -> Played:
    success, cost, expected = np.zeros((3, len(board)))
    calls = np.zeros(board.success.shape)
    for rows, part, joint in parts:
        plan = plan_cascades(part.expected, part.expected_cost, part.is_known, joint, cost_weight)
        played = play_cascade(part, plan)
        success[rows], cost[rows], calls[rows], expected[rows] = played.success, played.cost, played.calls, plan.success
    return Played(success, cost, calls, expected)


def _sweep_cascades(board: Board, learned: Learned) -> Sweep:
    """Play cascades that stop sooner or later.

    An agent is worth asking below λ = p / c, so those are the steps; after failures p falls, so smaller ones follow.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = (board.expected / board.expected_cost)[board.is_known]
    steps = steps[np.isfinite(steps)]
    ranks = (np.arange(_CASCADE_SWEEP) + 0.5) / _CASCADE_SWEEP
    weights = np.quantile(steps, ranks) if len(steps) else np.empty(0)
    if weights.min(initial=np.inf) > 0 and len(weights):
        weights = np.concatenate([weights, np.geomspace(weights[0] / _CASCADE_TAIL, weights[0], _CASCADE_SWEEP)])
    weights = np.append(np.unique(weights)[::-1], 0.0)
    parts = _joint_outcomes(board, learned)
    played = [_play_cascades(board, parts, weight) for weight in weights.tolist()]
    return Sweep(
        weights,
        np.stack([outcome.success for outcome in played], axis=1),
        np.stack([outcome.cost for outcome in played], axis=1),
    )


class _Part(NamedTuple):
    rows: NDArray[np.int64]
    board: Board
    joint: JointOutcomes


def _joint_outcomes(board: Board, learned: Learned) -> list[_Part]:
    training = learned.training
    parts = []
    for fold in learned.folds:
        for mode in np.unique(board.modes[fold.test]):
            rows = fold.test[board.modes[fold.test] == mode]
            train = fold.train[training.modes[fold.train] == mode]
            parts.append(
                _Part(rows, board.take(rows), JointOutcomes(training.success[train], training.expected[train]))
            )
    return parts


def _share(played: Played) -> Floats:
    total = played.calls.sum(axis=0)
    return np.asarray(total / max(float(total.sum()), 1e-12), dtype=np.float64)


def _group(yardsticks: Yardsticks, played: Played, names: NDArray[np.str_]) -> list[Group]:
    """Return the results by group, in order of name."""
    board, resamples = yardsticks.board, yardsticks.resamples
    present, group = np.unique(names, return_inverse=True)
    count = len(present)
    size = np.bincount(group, minlength=count)
    drawn, success, cost = (
        resamples.group_sums(values, group, count) for values in (np.ones(len(board)), played.success, played.cost)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        accuracy, mean_cost = success / drawn, cost / drawn
    expected = np.full(len(board), np.nan) if played.expected is None else played.expected
    means = [
        np.bincount(group, values, count) / size
        for values in (expected, yardsticks.best.success, yardsticks.oracle.success)
    ]
    calls = np.zeros((count, len(board.agents)))
    np.add.at(calls, group, played.calls)
    return [
        Group(
            str(present[k]),
            int(size[k]),
            accuracy[:, k],
            mean_cost[:, k],
            float(means[0][k]),
            float(means[1][k]),
            float(means[2][k]),
            board.agents[int(calls[k].argmax())],
        )
        for k in range(count)
    ]
