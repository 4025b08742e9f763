"""The global numbers of a handbook, and whether its skills pay at all, judged on queries that they have not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.beliefs import mean
from skillctl.core.discovery import find_contenders
from skillctl.core.skill_tree import SkillTree, pool_credit, tree_posteriors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

FOLDS = 4
TEMPERATURES = (0.05, 0.1, 0.25, 0.5)
KAPPAS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
# A specialist counts although it fails elsewhere: an agent this near to the best one in some skill matters.
_NEAR_IN_A_SKILL = 0.1
_SCREENING_KAPPA = 2.0
_SCREENING_EVIDENCE = 5.0


class Fold(NamedTuple):
    """Skills, and how they weigh queries of which some were kept from them.

    Attributes:
        train: Rows that the skills and the posteriors may see.
        test: Rows that they may not.
        tree: The skills.
        weights: By temperature, weights of all rows on the skills and the root, shape (n, skills + 1).
    """

    train: Ints
    test: Ints
    tree: SkillTree
    weights: Mapping[float, Floats]


class Calibration(NamedTuple):
    """What held-out queries say.

    Attributes:
        temperature: Of the orchestrator.
        kappa: Weight of the prior.
        gain: Reduction of the squared error per query against the agents' overall means.
        standard_error: Of the gain.
    """

    temperature: float
    kappa: float
    gain: float
    standard_error: float


def draw_folds(count: int, rng: np.random.Generator) -> list[tuple[Ints, Ints]]:
    """Return (train, test) rows of each fold of a random partition."""
    fold = rng.permutation(count) % FOLDS
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(min(FOLDS, count))]


def calibrate(folds: Iterable[Fold], success: Floats) -> Calibration:
    """Choose the temperature and κ with the smallest error on held-out queries.

    The error of a query is the squared difference between expected and observed success of the agents that matter,
    both centred over them: what is common to all agents is of no use to routing.

    Args:
        folds: At least one.
        success: Shape (n, agents), NaN where there is no verdict.
    """
    errors: dict[tuple[float, float], list[Floats]] = {}
    plain: list[Floats] = []
    for fold in folds:
        measure = _make_error(fold, success)
        root = _posterior_means(
            fold.tree, np.eye(1, len(fold.tree.parents))[np.zeros(len(success), int)], fold, success
        )
        plain.append(measure(np.repeat(root[:1], len(fold.test), axis=0)))
        for temperature, weights in fold.weights.items():
            for kappa in KAPPAS:
                means = _posterior_means(fold.tree, weights, fold, success, kappa)
                errors.setdefault((temperature, kappa), []).append(measure(weights[fold.test] @ means))
    totals = {numbers: float(np.concatenate(parts).mean()) for numbers, parts in errors.items()}
    best = min(totals, key=lambda numbers: (round(totals[numbers], 12), -numbers[1], numbers[0]))
    gain = np.concatenate(plain) - np.concatenate(errors[best])
    return Calibration(*best, float(gain.mean()), float(gain.std() / np.sqrt(len(gain))))


def _posterior_means(
    tree: SkillTree, weights: Floats, fold: Fold, success: Floats, kappa: float = _SCREENING_KAPPA
) -> Floats:
    """Return the posterior means from the training rows, shape (skills + 1, agents)."""
    wins, losses = _count(tree, weights, fold, success)
    posterior = tree_posteriors(tree, wins, losses, kappa)
    return mean(posterior.alpha, posterior.beta).T


def _count(tree: SkillTree, weights: Floats, fold: Fold, success: Floats) -> tuple[Floats, Floats]:
    seen = success[fold.train]
    known = ~np.isnan(seen)
    won = np.where(known, seen, 0.0)
    credit = weights[fold.train]
    return pool_credit(tree, won.T @ credit), pool_credit(tree, (known - won).T @ credit)


def _make_error(fold: Fold, success: Floats) -> Callable[[Floats], Floats]:
    """Return the function from expected success, shape (test rows, agents), to the error of each row."""
    matters = find_contenders(success[fold.train]) | _find_specialists(fold, success)
    if np.count_nonzero(matters) < 2:  # noqa: PLR2004 - one agent alone leaves nothing to compare
        matters = np.ones_like(matters)
    actual = success[fold.test][:, matters]
    known = ~np.isnan(actual)
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)

    def centre(values: Floats) -> Floats:
        inside = np.where(known, values, 0.0)
        return np.where(known, inside - inside.sum(axis=1, keepdims=True) / count, 0.0)

    def measure(expected: Floats) -> Floats:
        difference = centre(expected[:, matters]) - centre(actual)
        return np.asarray((difference**2).sum(axis=1), dtype=np.float64)

    return measure


def _find_specialists(fold: Fold, success: Floats) -> NDArray[np.bool_]:
    """Return which agents come near the best one in some skill that has evidence, shape (agents,)."""
    weights = fold.weights[min(fold.weights)]  # the sharpest
    wins, losses = _count(fold.tree, weights, fold, success)
    posterior = tree_posteriors(fold.tree, wins, losses, _SCREENING_KAPPA)
    means = np.where(wins + losses >= _SCREENING_EVIDENCE, mean(posterior.alpha, posterior.beta), -np.inf)
    near = (means >= means.max(axis=0) - _NEAR_IN_A_SKILL) & np.isfinite(means)
    return np.asarray(near.any(axis=1), dtype=np.bool_)
