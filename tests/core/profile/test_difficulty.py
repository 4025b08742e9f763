from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skillctl.core.profile.beliefs import mean, root_posterior
from skillctl.core.profile.difficulty import prior_means

_EVIDENCE = arrays(np.float64, (4, 3), elements=st.floats(0, 50).map(lambda value: round(value, 4)))


def _means(successes: np.ndarray, failures: np.ndarray) -> np.ndarray:
    return mean(*root_posterior(successes.sum(axis=1), failures.sum(axis=1)))


def _fit(successes: object, failures: object) -> tuple[np.ndarray, np.ndarray]:
    s, f = np.asarray(successes, dtype=float), np.asarray(failures, dtype=float)
    means = _means(s, f)
    return means, prior_means(means, s, f)


def test_without_evidence_every_skill_reads_as_the_parent() -> None:
    means = np.array([0.2, 0.9])
    assert prior_means(means, np.zeros((2, 3)), np.zeros((2, 3))) == pytest.approx(np.repeat(means[:, None], 3, axis=1))


def test_a_skill_without_evidence_reads_as_the_parent_beside_others_that_have_some() -> None:
    means, mu = _fit([[9, 1, 0], [5, 1, 0]], [[1, 9, 0], [5, 9, 0]])
    assert mu[:, 2] == pytest.approx(means)


def test_a_balanced_log_whose_skills_are_alike_gives_the_agents_means() -> None:
    means, mu = _fit([[8, 8], [4, 4]], [[2, 2], [6, 6]])
    assert mu == pytest.approx(np.repeat(means[:, None], 2, axis=1), abs=1e-9)


def test_an_agent_that_saw_only_hard_queries_recovers() -> None:
    # Two agents of the same ability on both skills (90 % easy, 30 % hard); the third is like them but only saw hard.
    means, mu = _fit([[900, 300], [900, 300], [0, 300]], [[100, 700], [100, 700], [0, 700]])
    assert means[2] == pytest.approx(0.3, abs=0.01)
    assert mu[2] == pytest.approx([0.9, 0.3], abs=0.02)


def test_a_weak_agent_that_saw_only_easy_queries_does_not_look_strong() -> None:
    means, mu = _fit([[900, 300], [900, 300], [800, 0]], [[100, 700], [100, 700], [200, 0]])
    assert means[2] > means[0]
    assert np.all(mu[2] < mu[0])


@given(successes=_EVIDENCE, failures=_EVIDENCE)
def test_each_agent_keeps_its_mean_over_its_own_mix(successes: np.ndarray, failures: np.ndarray) -> None:
    n = successes + failures
    means, mu = _fit(successes, failures)
    assert np.all((mu > 0) & (mu < 1))
    assert (n * mu).sum(axis=1) == pytest.approx(n.sum(axis=1) * means, abs=2e-3)


@given(successes=_EVIDENCE, failures=_EVIDENCE)
def test_success_and_failure_have_symmetric_roles(successes: np.ndarray, failures: np.ndarray) -> None:
    _, mu = _fit(successes, failures)
    _, mirrored = _fit(failures, successes)
    assert mu == pytest.approx(1.0 - mirrored, abs=1e-3)


@given(successes=_EVIDENCE, failures=_EVIDENCE, order=st.permutations(range(4)))
def test_the_order_of_agents_does_not_matter(successes: np.ndarray, failures: np.ndarray, order: list[int]) -> None:
    _, mu = _fit(successes, failures)
    _, permuted = _fit(successes[order], failures[order])
    assert permuted == pytest.approx(mu[order], abs=1e-3)


@pytest.mark.parametrize("failures", [0.0, 30.0])
def test_a_log_of_one_class_is_no_trouble(failures: float) -> None:
    _, mu = _fit(np.full((3, 2), 30.0 - failures), np.full((3, 2), failures))
    assert np.ptp(mu) < 1e-6


def test_a_single_agent_s_prior_follows_the_difficulty_of_the_skills() -> None:
    means, mu = _fit([[90, 30]], [[10, 70]])
    assert mu[0, 0] > means[0] > mu[0, 1]


def test_more_skills_than_agents_are_solved_alike() -> None:
    rng = np.random.default_rng(3)
    n = rng.integers(0, 30, size=(3, 12)).astype(float)
    s = rng.binomial(n.astype(int), 0.6).astype(float)
    means, mu = _fit(s, n - s)
    assert (n * mu).sum(axis=1) == pytest.approx(n.sum(axis=1) * means, rel=1e-5)


def test_means_that_are_the_same_for_all_skills_are_those_of_the_agents() -> None:
    means = np.array([0.3, 0.7])
    wins, losses = np.array([[5.0, 2.0, 0.0], [9.0, 1.0, 0.0]]), np.array([[5.0, 8.0, 0.0], [1.0, 4.0, 0.0]])
    alike = prior_means(np.repeat(means[:, None], 3, axis=1), wins, losses)
    assert alike == pytest.approx(prior_means(means, wins, losses), abs=1e-9)


def test_what_is_known_of_a_skill_moves_its_prior() -> None:
    wins = losses = np.full((2, 2), 5.0)
    known = np.array([[0.9, 0.1], [0.1, 0.9]])
    assert prior_means(known, wins, losses) == pytest.approx(known, abs=0.02)
