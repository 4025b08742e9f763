from __future__ import annotations

import pytest

from skillctl.core.profile.half_life import parse_half_life


@pytest.mark.parametrize(
    ("text", "amount", "is_time"),
    [
        ("500", 500, False),
        ("1.5", 1.5, False),
        ("30d", 2_592_000, True),
        ("12h", 43_200, True),
        ("2w", 1_209_600, True),
    ],
)
def test_a_number_alone_counts_runs_and_a_unit_makes_it_a_time(text: str, amount: float, *, is_time: bool) -> None:
    assert parse_half_life(text) == (amount, is_time)


@pytest.mark.parametrize("text", ["", "d", "0", "0d", "-1", "5y", "1 d", "1e3", "nan", "inf"])
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="such as 500"):
        parse_half_life(text)
