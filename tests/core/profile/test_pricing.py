"""Costs: known, unknown, free, and never above the limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.profile.pricing import Budget, Usage, bound_usage, expect_usage, is_priced, price_usage, sum_known
from skillctl.model.handbook import Price

PRICE = Price(2.5, 10.0, 1.25)


@pytest.mark.parametrize(
    ("price", "usage", "cost"),
    [
        (PRICE, Usage(1000, 100), 0.0035),
        # 400 of the 1000 tokens are cached: 600 * 2.5 + 400 * 1.25 + 100 * 10, all per million
        (PRICE, Usage(1000, 100, 400), 0.003),
        (Price(2.5, 10.0), Usage(1000, 100, 400), 0.0035),
        (Price(0.0, 0.0), Usage(1000, 100), 0.0),
        (Price(0.0, 0.0), Usage(None, None), 0.0),
        (Price(2.5, None), Usage(1000, 100), None),
        (Price(2.5, None), Usage(1000, 0), 0.0025),
        (PRICE, Usage(None, 100), None),
        (PRICE, Usage(1000, None), None),
        (Price(), Usage(1000, 100), None),
        (None, Usage(1000, 100), None),
        (None, Usage(), None),
    ],
)
def test_a_cost_is_known_if_price_and_tokens_are(price: Price | None, usage: Usage, cost: float | None) -> None:
    assert price_usage(price, usage) == (None if cost is None else pytest.approx(cost))


@pytest.mark.parametrize(
    ("price", "expected"), [(PRICE, True), (Price(0.0, 0.0), True), (Price(1.0), False), (None, False)]
)
def test_a_price_needs_both_parts(price: Price | None, *, expected: bool) -> None:
    assert is_priced(price) is expected


@given(st.text(), st.integers(1, 5000), st.integers(1, 3))
def test_what_is_expected_is_never_more_than_the_bound(text: str, max_tokens: int, replies: int) -> None:
    size = len(text.encode())
    expected = expect_usage(size, profile=Usage(), max_tokens=max_tokens)
    bound = bound_usage(size, 1, max_tokens=max_tokens, context_tokens=None, replies=replies)
    cost, most = price_usage(PRICE, expected), price_usage(PRICE, bound)
    assert cost is not None
    assert most is not None
    assert cost <= most


def test_a_profile_tells_how_long_answers_are() -> None:
    assert expect_usage(400, profile=Usage(completion=33.0), max_tokens=500).completion == 33.0


def test_unknown_costs_are_counted_and_not_added() -> None:
    assert sum_known([1.0, None, 0.5, None]) == (1.5, 2)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=30), st.floats(0, 5))
def test_a_budget_is_never_passed(calls: list[tuple[float, float]], limit: float) -> None:
    budget = Budget(limit)
    for number, (bound, share) in enumerate(calls):
        if budget.reserve(str(number), bound):
            budget.settle(str(number), bound * share)
    assert budget.spent_usd <= limit + 1e-9


def test_what_is_set_aside_counts_until_it_is_settled() -> None:
    budget = Budget(1.0)
    assert budget.reserve("a", 0.6)
    assert not budget.reserve("b", 0.6)
    budget.settle("a", 0.1)
    assert budget.reserve("b", 0.6)


def test_without_a_limit_everything_may_run() -> None:
    budget = Budget(None)
    assert not budget.is_limited
    assert budget.reserve("a", 1e9)
