"""Contrastive pairs: one agent that succeeded and one that failed on the same query."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.orchestrate.features import cut_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from skillctl.core.outcomes import Outcomes
    from skillctl.model.trace import Trace

# So many queries for each pair that is wanted are enough to choose from.
_POOL = 20
# Mean of repeated trials above which an agent succeeded, and below which it failed.
_EVEN = 0.5

Key = tuple[type, str | int, str]


class Contrast(NamedTuple):
    """A query on which one agent succeeded and another failed: its row, and the columns of the two."""

    row: int
    winner: int
    loser: int


def choose_contrasts(outcomes: Outcomes, limit: int, rng: np.random.Generator) -> list[Contrast]:
    """Choose at most ``limit`` pairs, spread over queries, labels and agents.

    A query gives a second pair only when every query has given one; agents take turns in both roles.

    Args:
        outcomes: Of the agents of one mode.
        limit: How many pairs at most.
        rng: Decides among equals, so that the first queries of a log are not preferred.
    """
    won, lost = outcomes.success > _EVEN, outcomes.success < _EVEN
    rows = rng.permutation(np.flatnonzero(won.any(axis=1) & lost.any(axis=1)))[: _POOL * limit]
    if not len(rows):
        return []
    return _choose(rows, won[rows, :, None] & lost[rows, None, :], _number(outcomes.tasks, rows), limit)


def _number(tasks: Sequence[str | None], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    numbers: dict[str | None, int] = {}
    return np.array([numbers.setdefault(tasks[row], len(numbers)) for row in rows], dtype=np.int64)


def _choose(
    rows: NDArray[np.int64], is_free: NDArray[np.bool_], tasks: NDArray[np.int64], limit: int
) -> list[Contrast]:
    """Choose pairs one by one; ``is_free`` holds (query, winner, loser), and is used up."""
    agents = is_free.shape[1]
    of_query, of_task = np.zeros(len(rows)), np.zeros(len(rows))
    of_winner, of_loser, of_pair = np.zeros(agents), np.zeros(agents), np.zeros((agents, agents))
    chosen: list[Contrast] = []
    while len(chosen) < limit and is_free.any():
        use = np.where(is_free, of_pair + of_winner[:, None] + of_loser[None], np.inf).reshape(len(rows), -1)
        least = use.min(axis=1)
        place = int(np.lexsort((least, of_task[tasks], np.where(np.isinf(least), np.inf, of_query)))[0])
        winner, loser = divmod(int(use[place].argmin()), agents)
        chosen.append(Contrast(int(rows[place]), winner, loser))
        is_free[place, winner, loser] = False
        for count, index in ((of_query, place), (of_task, tasks[place]), (of_winner, winner), (of_loser, loser)):
            count[index] += 1
        of_pair[winner, loser] += 1
    return chosen


def find_trajectories(
    traces: Iterable[Trace], outcomes: Outcomes, contrasts: Sequence[Contrast], *, mode: str, default_mode: str
) -> dict[Key, str]:
    """Return what the agents of contrasts did, as far as the traces tell, by query and agent.

    Of several trials, the first with the verdict that the pair is about counts.
    """
    wanted: dict[Key, bool] = {}
    for contrast in contrasts:
        wanted[key_of(outcomes, contrast.row, contrast.winner)] = True
        wanted[key_of(outcomes, contrast.row, contrast.loser)] = False
    found: dict[Key, str] = {}
    for trace in traces:
        key = (type(trace.query_id), trace.query_id, trace.agent)
        is_meant = (trace.mode or default_mode) == mode and trace.error is None and trace.success is wanted.get(key)
        if key in wanted and is_meant and key not in found:
            found[key] = _tell(trace)
    return found


def key_of(outcomes: Outcomes, row: int, column: int) -> Key:
    """Return the key of an agent's attempt at a query."""
    query_id = outcomes.query_ids[row]
    return type(query_id), query_id, outcomes.agents[column]


def _tell(trace: Trace) -> str:
    """Return the steps and the answer as a text of bounded length."""
    steps = [
        f"{place}. {cut_text(step.action or '', 200, 150)} => {cut_text(step.observation or '', 200, 150)}"
        for place, step in enumerate(trace.steps[:6], 1)
    ]
    return "\n".join([*steps, trace.answer or ""]).strip()
