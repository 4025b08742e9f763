"""The sentence about held-out queries says why skills stay, or why none do."""

from __future__ import annotations

from typing import Any

import pytest

from skillctl.core.discover.granularity import Granularity
from skillctl.model.handbook import Skill, SkillId
from skillctl.report.discovery import ModeReport

SKILL = Skill(id=SkillId("m.sums"), description="Sums.")
NUMBERS = "(gain 0.0123 ± 0.0040 a query, z 3.1)"
WEAK = "(gain 0.0123 ± 0.0040 a query, z 0.2)"


def report(more: dict[str, Any]) -> ModeReport:
    values: dict[str, Any] = {
        "mode": "m",
        "queries": 200,
        "agents": 3,
        "skills": (SKILL,),
        "added": 1,
        "removed": 0,
        "gain": 0.01234,
        "standard_error": 0.004,
        "z": 3.1,
        "granularity": Granularity.SUPPORTED,
        "evidence": 14.26,
        "temperature": 0.5,
        "prior_strength": 8.0,
    }
    return ModeReport(**{**values, **more})


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, f"skills foresee held-out outcomes better {NUMBERS}"),
        (
            {"granularity": Granularity.FINE},
            f"fine skills foresee held-out outcomes no worse than those that outcomes hold apart one by one {NUMBERS}",
        ),
        (
            {"z": 0.2},
            f"outcomes hold the skills clearly apart (log Bayes factor 14.3), if they foresee little {WEAK}",
        ),
        ({"skills": (), "granularity": Granularity.NONE}, f"no skills foresee held-out outcomes {NUMBERS}"),
        ({"skills": (), "gain": None}, "no skills: the agents fare alike on all groups of queries"),
        ({"skills": (), "gain": None, "queries": 7}, "too few queries to find skills: 20 is the least"),
    ],
)
def test_the_sentence_says_why(more: dict[str, Any], said: str) -> None:
    assert report(more).say_gain() == said
