"""An evaluation from files: traces and handbooks in, a report out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from skillctl.cli.replay_logs import Replayer, open_replayer, read_log, read_training
from skillctl.core.evaluate.evaluation import Evaluation, Learned, estimate_board, evaluate_board, play_policy
from skillctl.core.evaluate.off_policy import find_terms
from skillctl.core.evaluate.playing import Played, play_chosen
from skillctl.core.evaluate.replay import Board, Play, build_board
from skillctl.core.evaluate.resampling import Resamples, estimate
from skillctl.core.evaluate.rivals import Fold, as_training, predict_rivals, split_folds
from skillctl.core.evaluate.scoring import METRICS
from skillctl.errors import InputError, UsageError
from skillctl.report.evaluation_facts import LOWER_IS_BETTER, Comparison, Gate, Report
from skillctl.store.handbook_dir import load_handbook
from skillctl.store.handbook_files import is_handbook

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from skillctl.cli.language_models import LanguageModels
    from skillctl.cli.replay_logs import TraceLog
    from skillctl.core.route.routing import Policy
    from skillctl.model.handbook import Handbook
    from skillctl.model.trace import Trace

_COVERAGE_METRICS = ("ips", "snips", "dr")
_CASCADE = "cascade"
_FOLDS = "the other four fifths of the held-out queries, a fold at a time"


@dataclass(frozen=True, slots=True)
class Request:
    """What to evaluate; the fields are the options of the command, and what opens language models."""

    paths: tuple[str, ...]
    training_paths: tuple[str, ...] = ()
    orchestrators: tuple[str, ...] = ("embedded",)
    mode: str | None = None
    cost_weight: float | None = None
    policy: str = "greedy"
    success_at: float = 0.5
    seed: int = 0
    bounds: tuple[tuple[str, float], ...] = ()
    other: str | None = None
    is_quiet: bool = False
    models: LanguageModels | None = None


def evaluate_handbook(root: Path, request: Request) -> Report:
    """Evaluate the handbook in a folder.

    Raises:
        UsageError: If an option names something that is not there.
        InputError: If a file is not what it must be, or nothing can be replayed.
    """
    _check_bounds(request)
    handbook = load_handbook(root)
    if request.mode is not None and request.mode not in handbook.modes:
        message = f"the handbook has no mode {request.mode!r}"
        raise UsageError(message, hint=f"it has {', '.join(sorted(handbook.modes)) or 'none'}")
    cost_weight = handbook.settings.cost_weight if request.cost_weight is None else request.cost_weight
    log = read_log(request.paths, success_at=request.success_at, is_quiet=request.is_quiet)
    setting = _Setting(request, cost_weight, log, _read_lesson(request, log.traces))
    replayer = open_replayer(handbook, log.traces, request.mode, str(root), root=root, models=request.models)
    runs = {name: _run(setting, replayer, name) for name in request.orchestrators}
    first = next(iter(runs.values()))
    return Report(
        handbook=handbook.name,
        policy=request.policy,
        cost_weight=cost_weight,
        evaluations={name: run.evaluation for name, run in runs.items()},
        log=replayer.count(log),
        bad_lines=log.bad_lines,
        left_out=first.left_out,
        training="the training traces" if request.training_paths else _FOLDS,
        trained_on=first.trained_on,
        counted_before=not {source.digest for source in handbook.evidence}.isdisjoint(log.file_digests),
        gates=tuple(_check_gate(first.evaluation, name, bound) for name, bound in request.bounds),
        comparison=None if request.other is None else _compare(root, setting, first.evaluation.yardsticks.board),
        tables=replayer.table.modes,
    )


class _Setting(NamedTuple):
    """What all evaluations of a command share."""

    request: Request
    cost_weight: float
    log: TraceLog
    lesson: Sequence[Trace] | None


class _Run(NamedTuple):
    evaluation: Evaluation
    trained_on: int
    left_out: int


def _run(setting: _Setting, replayer: Replayer, orchestrator: str) -> _Run:
    request = setting.request
    whole = _build(setting, replayer, orchestrator)
    is_choice = _is_choice(whole)
    board = whole.take(np.flatnonzero(is_choice)) if is_choice.any() else whole
    learned = _learn(board, setting, replayer, orchestrator)
    resamples = Resamples(len(board), request.seed)
    trained_on = len(learned.training.texts)
    if not is_choice.any():
        return _Run(estimate_board(board, learned, resamples, setting.cost_weight), trained_on, len(whole))
    evaluation = evaluate_board(
        board,
        learned,
        resamples,
        setting.cost_weight,
        cascades=request.policy == _CASCADE,
        seed=request.seed,
        whole=whole,
    )
    return _Run(evaluation, trained_on, len(whole) - len(board))


def _is_choice(board: Board) -> NDArray[np.bool_]:
    """Tell which queries have outcomes to choose among; with one agent in all there is nothing to choose anyway."""
    known = board.is_known
    return np.asarray(known.sum(axis=1) >= min(2, int(known.any(axis=0).sum())), dtype=np.bool_)


def _build(setting: _Setting, replayer: Replayer, orchestrator: str) -> Board:
    request = setting.request
    policy = cast("Policy", "greedy" if request.policy == _CASCADE else request.policy)
    play = Play(setting.cost_weight, policy, request.seed)
    board = build_board(replayer.weigh(orchestrator), replayer.table.agents, play)
    if not len(board):
        message = "every agent with a verdict is gated out, so nothing can be replayed"
        raise InputError(message, hint="with a lambda above 0 agents need a known cost")
    return board


def _read_lesson(request: Request, held_out: Sequence[Trace]) -> Sequence[Trace] | None:
    """Read the training traces, and refuse queries that are tested."""
    if not request.training_paths:
        return None
    traces = read_log(request.training_paths, success_at=request.success_at, is_quiet=request.is_quiet).traces
    tested = {(type(trace.query_id), trace.query_id) for trace in held_out}
    shared = {key for trace in traces if (key := (type(trace.query_id), trace.query_id)) in tested}
    if shared:
        example = min(repr(name) for _, name in shared)
        message = f"{len(shared)} queries are in the training traces and in the held-out ones, such as {example}"
        raise InputError(message, hint="split by query, so that nothing is learned from what is tested")
    return traces


def _learn(
    board: Board, setting: _Setting, replayer: Replayer, orchestrator: str, *, baselines: bool = True
) -> Learned:
    from skillctl.store.word_vectors import WordVectors

    seed = setting.request.seed
    if setting.lesson is None:
        training, folds = as_training(board), split_folds(board, seed)
    else:
        training = read_training(replayer, setting.lesson, orchestrator)
        folds = [Fold(np.arange(len(board)), np.arange(len(training.texts)))]
    return Learned(training, folds, predict_rivals(board, training, folds, WordVectors(), seed) if baselines else {})


def _check_bounds(request: Request) -> None:
    for name, _ in request.bounds:
        if name not in (*METRICS, *_COVERAGE_METRICS):
            message = f"there is no metric {name!r}"
            raise UsageError(message, hint=f"there are {', '.join((*METRICS, *_COVERAGE_METRICS))}")


def _check_gate(evaluation: Evaluation, name: str, bound: float) -> Gate:
    samples = getattr(evaluation.coverage, name) if name in _COVERAGE_METRICS else evaluation.samples[name]
    found = estimate(samples)
    if found is None:
        return Gate(name, bound, None, passed=False)
    passed = found.value <= bound if name in LOWER_IS_BETTER else found.value >= bound
    return Gate(name, bound, found.value, passed)


def _compare(root: Path, setting: _Setting, board: Board) -> Comparison:
    """Compare with another handbook on the queries that both can be replayed on."""
    name = setting.request.other or ""
    request = setting.request
    mine = open_replayer(
        load_handbook(root), setting.log.traces, request.mode, str(root), root=root, models=request.models
    )
    folder = Path(name) if is_handbook(Path(name)) else None
    other = _load_other(root, name)
    theirs = open_replayer(other, setting.log.traces, request.mode, name, root=folder, models=request.models)
    rival = _build(setting, theirs, setting.request.orchestrators[0])
    rows = _find_common(board, rival)
    if not len(rows):
        message = f"no query can be replayed with both this handbook and {name}"
        raise InputError(message)
    own = _play(board.take(rows[:, 0]), setting, mine)
    others = _play(rival.take(rows[:, 1]), setting, theirs)
    success, cost = own.success - others.success, own.cost - others.cost
    weight = setting.cost_weight
    utility = success if weight == 0 or np.isnan(cost).any() else success - weight * cost
    resamples = Resamples(len(rows), setting.request.seed)
    accuracy, mean_cost, difference = (estimate(resamples.means(values)) for values in (success, cost, utility))
    if accuracy is None or difference is None:
        message = f"the difference to {name} is not defined"
        raise InputError(message)
    return Comparison(name, accuracy, mean_cost, difference, worse=difference.high < 0)


def _play(board: Board, setting: _Setting, replayer: Replayer) -> Played:
    """Play the policy; where nothing is chosen among known outcomes, its success is the doubly robust term."""
    cascades = setting.request.policy == _CASCADE
    if cascades:
        learned = _learn(board, setting, replayer, setting.request.orchestrators[0], baselines=False)
        return play_policy(board, learned, setting.cost_weight, cascades=True)
    played = play_chosen(board, board.chosen, board.expected)
    if _is_choice(board).any():
        return played
    return played._replace(success=find_terms(board, board.wanted).robust)


def _find_common(board: Board, rival: Board) -> NDArray[np.int64]:
    """Return the rows of the queries that are on both boards, shape (common, 2)."""
    place = {key: row for row, key in enumerate(_row_keys(rival))}
    pairs = [(row, place[key]) for row, key in enumerate(_row_keys(board)) if key in place]
    return np.array(pairs, np.int64).reshape(-1, 2)


def _row_keys(board: Board) -> Iterator[tuple[str, type, str | int]]:
    return ((mode, type(name), name) for mode, name in zip(board.modes.tolist(), board.query_ids, strict=True))


def _load_other(root: Path, name: str) -> Handbook:
    """Load another handbook, or this one at a revision."""
    if is_handbook(Path(name)):
        return load_handbook(Path(name))
    from skillctl.store.handbook_revision import load_handbook_at

    return load_handbook_at(root, name)
