"""A selection from files: validation traces and a handbook in, the choice and its front out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.cli.named_orchestrators import open_named
from skillctl.cli.replay_logs import open_replayer, read_log
from skillctl.core.evaluate.resampling import Resamples, estimate
from skillctl.core.select.candidates import Tree
from skillctl.core.select.selecting import (
    Arena,
    Contest,
    Replayed,
    Rule,
    Scored,
    build_arena,
    choose_candidate,
    find_front,
    list_skills,
    run_contest,
)
from skillctl.errors import InputError
from skillctl.model.handbook import ModeId
from skillctl.model.selection import Candidate, Excluded, Selection
from skillctl.store.handbook_dir import load_handbook

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skillctl.cli.language_models import LanguageModels
    from skillctl.cli.replay_logs import Replayer
    from skillctl.core.select.candidates import Cut
    from skillctl.model.handbook import Handbook


class Wanted(NamedTuple):
    """What to select; the fields are the options of the command, and what opens language models."""

    paths: tuple[str, ...]
    orchestrator: str
    cost_weight: float | None = None
    rule: Rule = "lambda"
    ceiling: float | None = None
    live: bool = False
    success_at: float = 0.5
    jobs: int = 1
    seed: int = 0
    models: LanguageModels | None = None


class Selected(NamedTuple):
    """A selection, the handbook it was made from, and how many lines of the traces could not be used."""

    selection: Selection
    handbook: Handbook
    bad_lines: int


def select_skills(root: Path, wanted: Wanted, *, is_quiet: bool) -> Selected:
    """Choose for an orchestrator among the cuts of a handbook.

    Raises:
        InputError: If nothing can be replayed, every candidate failed, or none is cheap enough.
    """
    handbook = load_handbook(root)
    log = read_log(wanted.paths, success_at=wanted.success_at, is_quiet=is_quiet)
    replayer = open_replayer(handbook, log.traces, None, str(root), models=wanted.models)
    cost_weight = handbook.settings.cost_weight if wanted.cost_weight is None else wanted.cost_weight
    trees = {mode: Tree(handbook.skills.get(ModeId(mode), ())) for mode in replayer.outcomes}
    agents = replayer.table.agents
    arenas = [
        arena
        for found in replayer.weigh(wanted.orchestrator)
        if (arena := build_arena(found, agents, trees[found.table.mode], cost_weight)) is not None
    ]
    if not arenas:
        message = "no validation query has verdicts of several agents to choose among"
        raise InputError(message, where=str(root))
    replay = _replay_live(arenas, replayer, wanted.orchestrator) if wanted.live else _replay_logged(arenas)
    contest = run_contest([arena.tree for arena in arenas], replay, cost_weight, jobs=wanted.jobs)
    rest = [skill.id for mode, skills in handbook.skills.items() if mode not in _modes(arenas) for skill in skills]
    selection = _decide(contest, wanted, cost_weight, log.digest, tuple(rest))
    return Selected(selection, handbook, log.bad_lines)


def _modes(arenas: list[Arena]) -> set[str]:
    return {arena.table.mode for arena in arenas}


def _replay_logged(arenas: list[Arena]) -> Callable[[int, Cut], Replayed]:
    return lambda mode, cut: arenas[mode].replay(cut)


def _replay_live(arenas: list[Arena], replayer: Replayer, orchestrator: str) -> Callable[[int, Cut], Replayed]:
    """Let the orchestrator see each candidate alone, instead of moving the weights that it gave to all skills."""

    def replay(number: int, cut: Cut) -> Replayed:
        arena = arenas[number]
        mode = ModeId(arena.table.mode)
        pruned = prune_handbook(replayer.handbook, mode, cut)
        rows = np.array([0, *(1 + k for k, skill in enumerate(arena.tree.skills) if skill in cut)], np.int32)
        table = replace(arena.table, skills=tuple(arena.table.skills[row] for row in rows))
        opened = open_named(orchestrator, pruned, table, mode, replayer.traces, models=replayer.models)
        weights = opened.weigh(arena.texts)
        return arena.replay(cut, weights._replace(skills=rows[weights.skills]))

    return replay


def prune_handbook(handbook: Handbook, mode: ModeId, cut: Cut) -> Handbook:
    """Return a handbook whose mode has the skills of a cut alone; kept skills have all their ancestors."""
    kept = tuple(skill for skill in handbook.skills[mode] if skill.id in cut)
    return replace(handbook, skills={**handbook.skills, mode: kept})


def _decide(contest: Contest, wanted: Wanted, cost_weight: float, digest: str, rest: tuple[str, ...]) -> Selection:
    if not contest.scored:
        message = f"every candidate failed; the first said: {contest.failed[0][1]}"
        raise InputError(message)
    choice = choose_candidate(contest.scored, wanted.rule, cost_weight, ceiling=wanted.ceiling)
    if choice is None:
        known = [candidate.mean_cost for candidate in contest.scored if not np.isnan(candidate.mean_cost)]
        least = f"the cheapest costs ${min(known):.6g} a query" if known else "no cost is known"
        message = f"no candidate costs at most ${wanted.ceiling:.6g} a query; {least}"
        raise InputError(message, hint="raise --max-cost-per-query")
    queries = len(choice.replayed.success)
    resamples = Resamples(queries, wanted.seed)
    return Selection(
        orchestrator=wanted.orchestrator,
        cost_weight=cost_weight,
        rule=wanted.rule,
        digest=digest,
        queries=queries,
        candidates=len(contest.scored),
        choice=_describe(choice, resamples, rest),
        front=tuple(_describe(candidate, resamples, rest) for candidate in find_front(contest.scored)),
        excluded=tuple(
            Excluded(tuple(sorted({skill for cut in cuts for skill in cut}.union(rest))), reason)
            for cuts, reason in contest.failed
        ),
    )


def _describe(candidate: Scored, resamples: Resamples, rest: tuple[str, ...]) -> Candidate:
    """Return a candidate with its intervals; modes without validation queries keep all their skills."""
    accuracy = estimate(resamples.means(candidate.replayed.success))
    cost = estimate(resamples.means(candidate.replayed.cost))
    return Candidate(
        tuple(sorted({*list_skills(candidate), *rest})),
        accuracy.value if accuracy else None,
        (accuracy.low, accuracy.high) if accuracy else None,
        cost.value if cost else None,
        (cost.low, cost.high) if cost else None,
    )
