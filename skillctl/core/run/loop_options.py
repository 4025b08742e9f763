"""The options of a turn: every agent whose gates are open, in every mode, with what is expected of it."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.route.gates import OPEN
from skillctl.core.route.routing import spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skillctl.core.route.batch_routing import Routed


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


def read_options(group: Routed) -> list[Option]:
    """Return the options of the queries of one mode."""
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


def average_options(states: Sequence[Sequence[Option]]) -> list[Option]:
    """Return the options of states that are equally likely; those of all states are the same, but for their values."""
    first = states[0] if states else ()
    if len(states) == 1:
        return list(first)
    same = [[options[place] for options in states] for place in range(len(first))]
    return [
        option._replace(
            score=fmean(one.score for one in ones),
            success=fmean(one.success for one in ones),
            evidence=fmean(one.evidence for one in ones),
        )
        for option, ones in zip(first, same, strict=True)
    ]
