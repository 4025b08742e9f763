from __future__ import annotations

from math import comb, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.profile.beliefs import child_posterior, interval, log_marginal, mean, root_posterior

_counts = st.integers(0, 40)


def test_the_mean_of_beta_3_1_is_three_quarters() -> None:
    assert mean([3.0], [1.0]) == pytest.approx(0.75)


def test_the_interval_of_the_uniform_is_the_level_itself() -> None:
    # Beta(1, 1) has the identity as distribution function.
    low, high = interval(1.0, 1.0)
    assert (low, high) == (pytest.approx(0.05), pytest.approx(0.95))


@given(st.floats(0.3, 50.0))
def test_the_interval_of_beta_a_1_has_a_closed_form(a: float) -> None:
    # The distribution function of Beta(a, 1) is x**a.
    low, high = interval(a, 1.0, level=0.8)
    assert (low, high) == (pytest.approx(0.1 ** (1 / a)), pytest.approx(0.9 ** (1 / a)))


@given(st.floats(0.5, 80.0), st.floats(0.5, 80.0))
def test_swapping_success_and_failure_mirrors_the_interval(a: float, b: float) -> None:
    one, other = interval(a, b), interval(b, a)
    assert one.low == pytest.approx(1.0 - other.high, abs=1e-9)


def test_more_evidence_at_the_same_rate_narrows_the_interval() -> None:
    low, high = interval([2.0, 20.0, 200.0], [1.0, 10.0, 100.0])
    assert np.all(np.diff(high - low) < 0)


@given(s=_counts, f=_counts)
def test_the_marginal_likelihood_under_a_uniform_prior_is_one_over_n_plus_1_choose(s: int, f: int) -> None:
    # ∫ pˢ(1 − p)ᶠ dp = 1 / ((n + 1) · C(n, s))
    assert log_marginal(s, f, 1.0, 1.0) == pytest.approx(-log((s + f + 1) * comb(s + f, s)))


@given(s=_counts, f=_counts, a=st.floats(0.2, 9.0), b=st.floats(0.2, 9.0))
def test_the_marginal_likelihood_follows_the_chain_rule(s: int, f: int, a: float, b: float) -> None:
    one_more = log_marginal(s + 1, f, a, b) - log_marginal(s, f, a, b)
    assert one_more == pytest.approx(log((a + s) / (a + b + s + f)), abs=1e-8)


def test_no_evidence_has_likelihood_one() -> None:
    assert log_marginal(0.0, 0.0, 2.5, 0.5) == 0.0


def test_the_root_reads_as_laplace_s_rule() -> None:
    assert mean(*root_posterior(3.0, 1.0)) == pytest.approx(4 / 6)


def test_the_prior_can_be_read_off_and_evidence_is_no_part_of_it() -> None:
    alpha, beta = child_posterior(0.7, 6.0, 2.5, 0.25)
    assert (alpha - 2.5, beta - 0.25) == (pytest.approx(4.2), pytest.approx(1.8))


def test_one_of_one_does_not_beat_nineteen_of_twenty() -> None:
    beaten = mean(*child_posterior([0.5, 0.5], 6.0, [1.0, 19.0], [0.0, 1.0]))
    assert beaten[0] < beaten[1]
