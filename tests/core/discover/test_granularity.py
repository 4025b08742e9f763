"""Fine skills need to foresee better than those held apart by evidence, and either needs to foresee something."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from skillctl.core.discover.calibrating import draw_folds
from skillctl.core.discover.granularity import (
    CLEAR_EVIDENCE,
    SHARE_OF_ONE_SKILL,
    Choice,
    Granularity,
    Trial,
    choose_granularity,
)
from skillctl.core.outcomes import Outcomes
from skillctl.model.handbook import Skill, SkillId

COUNT = 240
KINDS = np.arange(COUNT) % 4
# Two agents differ between the coarse kinds, 0 and 1 against 2 and 3; the other two between the fine ones inside them.
COARSE = np.where(KINDS[:, None] < 2, [[0.8, 0.3, 0.55, 0.55]], [[0.3, 0.8, 0.55, 0.55]])
FINE = np.where(KINDS[:, None] % 2, [[0.1, 0.9, 0.1, 0.9]], [[0.9, 0.1, 0.9, 0.1]])
NOISE = np.full((COUNT, 4), 0.5)


def skills(*names: str) -> tuple[Skill, ...]:
    return tuple(Skill(id=SkillId(f"m.{name}"), description="About something.") for name in names)


TWO, FOUR = skills("a", "b"), skills("a1", "a2", "b1", "b2")


def weigh(
    found: tuple[Skill, ...], texts: tuple[str, ...], *, temperatures: tuple[float, ...], share: float
) -> dict[float, np.ndarray]:
    """Each text has a share of its kind's skill, and the rest of the others, whatever the temperature."""
    kinds = np.array([int(text) for text in texts])
    place = {0: np.zeros_like(kinds), 2: 1 + kinds // 2, 4: 1 + kinds}[len(found)]
    own = np.eye(len(found) + 1)[place]
    others = (1 - own) * ([0] + [1] * len(found)) / max(len(found) - 1, 1)
    return dict.fromkeys(temperatures, share * own + (1 - share) * others)


def choose(
    chances: np.ndarray, evidence: float, *, supported: tuple[Skill, ...] = TWO, seed: int = 0, share: float = 1.0
) -> Choice:
    rng = np.random.default_rng(seed)
    success = (rng.random(chances.shape) < chances).astype(float)
    ids, texts = tuple(map(str, range(COUNT))), tuple(map(str, KINDS))
    outcomes = Outcomes(
        ids, texts, ids, ("p", "q", "r", "s"), success, np.ones_like(success), np.full_like(success, np.nan)
    )
    trials = [Trial(train, test, supported, FOUR) for train, test in draw_folds(COUNT, rng)]
    return choose_granularity(trials, evidence, outcomes, partial(weigh, share=share), temperatures=(0.5,))


def test_fine_skills_stay_where_they_foresee_more() -> None:
    choice = choose(FINE, 6.0)
    assert choice.granularity is Granularity.FINE
    assert choice.calibration.gain > 5 * choice.calibration.standard_error


def test_supported_skills_stay_where_finer_ones_foresee_no_more() -> None:
    assert [choose(COARSE, 6.0, seed=seed).granularity for seed in range(6)] == [Granularity.SUPPORTED] * 6


def test_nothing_stays_where_nothing_is_foreseen_unless_the_evidence_is_clear() -> None:
    choices = [choose(NOISE, 6.0, seed=seed) for seed in range(12)]
    assert sum(choice.granularity is Granularity.NONE for choice in choices) >= 10
    unforeseen = next(seed for seed, choice in enumerate(choices) if choice.granularity is Granularity.NONE)
    assert choose(NOISE, CLEAR_EVIDENCE, seed=unforeseen).granularity is not Granularity.NONE


def test_finer_skills_stay_where_queries_lie_between_skills_unless_they_foresee_less() -> None:
    border = SHARE_OF_ONE_SKILL
    between, within = (
        sum(choose(COARSE, 6.0, seed=seed, share=share).granularity is Granularity.FINE for seed in range(12))
        for share in (border - 0.01, border + 0.01)
    )
    assert between > within
    assert between + within < 24


@pytest.mark.parametrize("chances", [FINE, NOISE])
def test_without_any_evidence_nothing_stays(chances: np.ndarray) -> None:
    assert choose(chances, 0.0, supported=()).granularity is Granularity.NONE
