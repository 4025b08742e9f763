"""How fine skills are: those that the evidence holds apart one by one, or all, as held-out queries have it."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from skillctl.core.discover.calibrating import SOFT_TEMPERATURE, Calibration, Fold, calibrate, find_advantage
from skillctl.core.discover.weighing import number_tree
from skillctl.core.profile.skill_tree import build_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from skillctl.core.outcomes import Outcomes
    from skillctl.model.handbook import Skill

    Ints = NDArray[np.int64]


class Granularity(Enum):
    """Which skills stay."""

    NONE = "none"
    SUPPORTED = "supported"
    FINE = "fine"


# Skills stay when what they foresee of held-out queries goes with what happened by so many standard errors. Most logs
# without structure have no supported skills to begin with; one in ten of the others comes so far by chance.
MIN_Z = 1.28
# Or on evidence that chance hardly ever reaches: of 240 planted logs without structure, none was beyond 10.3.
CLEAR_EVIDENCE = 12.0
# Real queries shade into each other: most lie between skills, where many fine ones tell more than a few. There the fine
# ones stay unless they foresee held-out queries worse by a standard error. Where queries belong to one supported skill
# each, those are the structure, and finer ones must clearly foresee more.
SHARE_OF_ONE_SKILL = 0.85
MIN_ADVANTAGE_BETWEEN_SKILLS = -1.0
MIN_ADVANTAGE_WITHIN_SKILLS = 1.64


class Trial(NamedTuple):
    """Skills of both granularities that were found without seeing some queries.

    Attributes:
        train: Rows that they have seen.
        test: Rows that they have not.
        supported: Skills that the evidence holds apart; may be none.
        fine: All.
    """

    train: Ints
    test: Ints
    supported: tuple[Skill, ...]
    fine: tuple[Skill, ...]


class Choice(NamedTuple):
    """Which skills stay, and what held-out queries say of them, or of the supported ones where none stays."""

    granularity: Granularity
    calibration: Calibration


class Weigh(Protocol):
    """Gives the weights of texts on skills and the root under each temperature."""

    def __call__(
        self, skills: Sequence[Skill], texts: Sequence[str], *, temperatures: Sequence[float]
    ) -> Mapping[float, NDArray[np.float64]]:
        """Return weights of shape (n, skills + 1)."""


def choose_granularity(
    trials: Sequence[Trial], evidence: float, outcomes: Outcomes, weigh: Weigh, *, temperatures: Sequence[float]
) -> Choice:
    """Choose the fine skills where they foresee held-out queries well enough, else the supported ones, if they pay.

    The innermost skills alone are compared: they are where the two differ.

    Args:
        trials: At least one.
        evidence: Log Bayes factor that holds the two least alike of the supported skills apart, 0 where there are none.
            Without any evidence no fine skills stay either: they foresee noise well in one case of eight.
        outcomes: Of the queries that the trials' rows refer to.
        weigh: Weighs their texts.
        temperatures: Which to try, `skillctl.core.discover.calibrating.SOFT_TEMPERATURE` among them.
    """
    supported, fine = [trial.supported for trial in trials], [trial.fine for trial in trials]

    def make_folds(found: Sequence[tuple[Skill, ...]]) -> list[Fold]:
        return [
            Fold(
                trial.train,
                trial.test,
                build_tree(number_tree(skills)),
                weigh(skills, outcomes.texts, temperatures=temperatures),
            )
            for trial, skills in zip(trials, found, strict=True)
        ]

    if evidence > 0:
        inner, others = (make_folds([_find_innermost(skills) for skills in found]) for found in (fine, supported))
        if find_advantage(inner, others, outcomes.success) > _find_least_advantage(others):
            calibration = calibrate(make_folds(fine), outcomes.success, averages=True)
            if evidence >= CLEAR_EVIDENCE or calibration.z >= MIN_Z:
                return Choice(Granularity.FINE, calibration)
    calibration = calibrate(make_folds(supported), outcomes.success, averages=True)
    stays = evidence >= CLEAR_EVIDENCE or (evidence > 0 and calibration.z >= MIN_Z)
    return Choice(Granularity.SUPPORTED if stays else Granularity.NONE, calibration)


def _find_least_advantage(supported: Sequence[Fold]) -> float:
    """Return the advantage that fine skills need, by how much of a held-out query its nearest supported skill has."""
    share = np.concatenate([fold.weights[SOFT_TEMPERATURE][fold.test].max(axis=1) for fold in supported]).mean()
    return MIN_ADVANTAGE_WITHIN_SKILLS if share >= SHARE_OF_ONE_SKILL else MIN_ADVANTAGE_BETWEEN_SKILLS


def _find_innermost(skills: Sequence[Skill]) -> tuple[Skill, ...]:
    """Return the skills without parts, as if there were no others."""
    inner = {skill.parent for skill in skills}
    return tuple(replace(skill, parent=None) for skill in skills if skill.id not in inner)
