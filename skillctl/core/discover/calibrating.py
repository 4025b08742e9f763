"""The global numbers of a handbook, and whether its skills pay at all, judged on queries that they have not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.discover.contenders import find_rivals
from skillctl.core.outcomes import remove_means
from skillctl.core.profile.beliefs import mean
from skillctl.core.profile.skill_tree import SkillTree, credit_outcomes, tree_posteriors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

FOLDS = 4
# Groups found in outcomes have soft borders: chosen on 200 queries among 0.25, 0.5 and 1, the temperature costs a point
# of headroom against always taking this one.
SOFT_TEMPERATURE = 0.5
# Candidates have sharper borders, and skills that somebody wrote can be told apart more sharply still.
TEMPERATURES = (0.25, SOFT_TEMPERATURE, 1.0)
SHARP_TEMPERATURES = (0.05, 0.1, *TEMPERATURES)
KAPPAS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)


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
        z: By how many of its standard errors the mean product of foreseen and observed deviations from the agents'
            overall means is above 0. It does not suffer, as the gain does, where deviations are foreseen too large.
    """

    temperature: float
    kappa: float
    gain: float
    standard_error: float
    z: float


def draw_folds(count: int, rng: np.random.Generator) -> list[tuple[Ints, Ints]]:
    """Return (train, test) rows of each fold of a random partition."""
    fold = rng.permutation(count) % FOLDS
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(min(FOLDS, count))]


def calibrate(folds: Sequence[Fold], success: Floats, *, averages: bool = False) -> Calibration:
    """Choose the temperature and κ that foresee held-out queries well.

    With r and d the observed and foreseen deviations of the agents that matter from their overall means, both centred
    over them (what is common to all agents is of no use to routing), a query's error is |r − d|², and the gain
    |r|² − |r − d|² = 2 r·d − |d|². The numbers with the largest gain are chosen, or averages: the likeliest
    temperature, and the posterior mean of log κ, under a general Bayesian update by the error (Bissiri et al., 2016) of
    equal chances. Of skills found in a few hundred queries the largest gain is often at an end of what is tried by
    chance; the average is in the middle then, and headroom at 200 queries a point larger.

    Args:
        folds: At least one.
        success: Shape (n, agents), NaN where there is no verdict.
        averages: Whether to average.
    """
    found = _foresee(folds, success, [_find_rivals(fold, success) for fold in folds])
    total = {numbers: round(float(_find_gains(part).sum()), 12) for numbers, part in found.items()}
    best = _average(total) if averages else max(total, key=lambda one: (total[one], one[1], -one[0]))
    gains = _find_gains(found[best])
    return Calibration(*best, float(gains.mean()), _standard_error(gains), _find_z(found[best].product))


def find_advantage(folds: Sequence[Fold], others: Sequence[Fold], success: Floats) -> float:
    """Return by how many standard errors one kind of skills foresees the same held-out queries better than another.

    Args:
        folds: With the one kind of skills, at least one fold.
        others: The same folds with the other kind.
        success: Shape (n, agents), NaN where there is no verdict.
    """
    matters = [
        _find_rivals(one, success) | _find_rivals(other, success) for one, other in zip(folds, others, strict=True)
    ]
    best, second = (
        max(map(_find_gains, _foresee(side, success, matters).values()), key=lambda gains: round(gains.sum(), 12))
        for side in (folds, others)
    )
    return _find_z(best - second)


def _average(total: Mapping[tuple[float, float], float]) -> tuple[float, float]:
    """Return the temperature and κ that the total gains speak for; of equal temperatures the lowest."""
    most = max(total.values())
    weight = {numbers: np.exp(value - most) for numbers, value in total.items()}
    temperatures = sorted({temperature for temperature, _ in total})
    temperature = max(temperatures, key=lambda value: sum(weight[value, kappa] for kappa in KAPPAS))
    share = np.array([weight[temperature, kappa] for kappa in KAPPAS])
    centre = float(share @ np.log(KAPPAS) / share.sum())
    return temperature, min(KAPPAS, key=lambda kappa: abs(np.log(kappa) - centre))


def _standard_error(values: Floats) -> float:
    return float(values.std() / np.sqrt(len(values)))


def _find_z(values: Floats) -> float:
    error = _standard_error(values)
    return float(values.mean()) / error if error > 0 else 0.0


class _Foresight(NamedTuple):
    """How foreseen deviations d compare with observed ones r, of each held-out query."""

    product: Floats  # r·d
    size: Floats  # |d|²


def _find_gains(foresight: _Foresight) -> Floats:
    return 2 * foresight.product - foresight.size


def _foresee(
    folds: Sequence[Fold], success: Floats, matters: Sequence[NDArray[np.bool_]]
) -> dict[tuple[float, float], _Foresight]:
    """Return what each temperature and κ foresees of all held-out queries, for the agents that matter in a fold."""
    found: dict[tuple[float, float], list[_Foresight]] = {}
    for fold, agents in zip(folds, matters, strict=True):
        compare = _make_comparison(fold, success, agents)
        for temperature, weights in fold.weights.items():
            wins, losses = _count(fold, success, weights)
            for kappa in KAPPAS:
                means = mean(*tree_posteriors(fold.tree, wins, losses, kappa)).T
                found.setdefault((temperature, kappa), []).append(compare(weights[fold.test] @ means, means[0]))
    return {
        numbers: _Foresight(
            np.concatenate([part.product for part in parts]), np.concatenate([part.size for part in parts])
        )
        for numbers, parts in found.items()
    }


def _count(fold: Fold, success: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the successes and failures in the training rows, each of shape (agents, skills + 1)."""
    return credit_outcomes(fold.tree, success[fold.train], weights[fold.train])


def _make_comparison(fold: Fold, success: Floats, matters: NDArray[np.bool_]) -> Callable[[Floats, Floats], _Foresight]:
    """Return the function that compares chances, shape (test rows, agents), with outcomes, beside the overall means."""
    actual = success[fold.test][:, matters]
    known = ~np.isnan(actual)

    def compare(expected: Floats, overall: Floats) -> _Foresight:
        foreseen = remove_means(expected[:, matters] - overall[matters], known, axes=(1,))
        observed = remove_means(actual - overall[matters], known, axes=(1,))
        return _Foresight((foreseen * observed).sum(axis=1), (foreseen**2).sum(axis=1))

    return compare


def _find_rivals(fold: Fold, success: Floats) -> NDArray[np.bool_]:
    """Return the agents that matter to routing in a fold, shape (agents,)."""
    wins, losses = _count(fold, success, fold.weights[min(fold.weights)])  # under the sharpest weights
    matters = find_rivals(success[fold.train], wins, losses)
    # One agent alone leaves nothing to compare.
    return matters if np.count_nonzero(matters) > 1 else np.ones_like(matters)
