"""What a policy would achieve, estimated from logs that hold only some agents' outcomes of each query."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skillctl.core.evaluate.replay import Board
    from skillctl.core.evaluate.resampling import Resamples

    Floats = NDArray[np.float64]


class Coverage(NamedTuple):
    """How much of a policy the log can tell.

    Attributes:
        queries: Distinct queries with a verdict.
        complete: Queries on which every logged agent has a verdict.
        matched: Share of queries on which the agent that the policy takes has a verdict.
        unsupported: Share of queries whose agent was never logged on queries of that task.
        ips: Samples of the estimate by inverse propensity.
        snips: Samples of its self-normalised form.
        dr: Samples of the doubly robust estimate.
    """

    queries: int
    complete: int
    matched: float
    unsupported: float
    ips: Floats
    snips: Floats
    dr: Floats


def find_propensities(board: Board) -> Floats:
    """Return the share of the queries of the same mode and task on which each agent was logged, shape (q, n)."""
    known = board.is_known.astype(np.float64)
    strata = np.array([f"{mode}\n{task}" for mode, task in zip(board.modes, board.tasks, strict=True)])
    _, group = np.unique(strata, return_inverse=True)
    sums = np.zeros((int(group.max(initial=-1)) + 1, known.shape[1]))
    np.add.at(sums, group, known)
    return np.asarray((sums / np.bincount(group)[:, None])[group], dtype=np.float64)


class Terms(NamedTuple):
    """What each query adds to the estimates, all of shape (q,).

    Attributes:
        observed: Whether the outcome of the chosen agent was logged.
        propensity: Of the chosen agent.
        weight: 1 / propensity where it was logged, else 0.
        reward: Its outcome where it was logged, else 0.
        robust: r̂ + weight · (reward − r̂), the term of the doubly robust estimate.
    """

    observed: NDArray[np.bool_]
    propensity: Floats
    weight: Floats
    reward: Floats
    robust: Floats


def find_terms(board: Board, chosen: NDArray[np.int64]) -> Terms:
    """Return the terms of the estimates for one choice of agents, shape (q,)."""
    rows = np.arange(len(board))
    observed = board.is_known[rows, chosen]
    propensity = find_propensities(board)[rows, chosen]
    weight = np.divide(observed, propensity, out=np.zeros(len(board)), where=observed)
    reward = np.where(observed, board.success[rows, chosen], 0.0)
    expected = board.expected[rows, chosen]
    return Terms(observed, propensity, weight, reward, expected + weight * (reward - expected))


def estimate_off_policy(board: Board, chosen: NDArray[np.int64], resamples: Resamples) -> Coverage:
    """Return estimates of the success of choices among all open agents, whether they were logged or not.

    With e the propensity of the chosen agent a, o whether its outcome r was logged, and r̂ what the handbook expects
    of it, the estimates are IPS = mean(o r / e), SNIPS = Σ(o r / e) / Σ(o / e) (Swaminathan and Joachims, 2015) and
    DR = mean(r̂ + o (r − r̂) / e) (Dudík, Langford and Li, 2011). Logs do not name propensities: they are the shares
    of the logged agents within mode and task, so whoever logged by the difficulty of queries within a task biases them.
    """
    terms = find_terms(board, chosen)
    sums = resamples.sums(np.stack([terms.weight * terms.reward, terms.weight, terms.robust], axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        snips = sums[:, 0] / sums[:, 1]
    logged = board.is_known.any(axis=0)
    complete = (board.is_known | ~board.is_open)[:, logged].all(axis=1)
    return Coverage(
        len(board),
        int(complete.sum()),
        float(terms.observed.mean()),
        float((terms.propensity == 0).mean()),
        sums[:, 0] / len(board),
        snips,
        sums[:, 2] / len(board),
    )
