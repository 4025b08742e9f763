from __future__ import annotations

import numpy as np
import pytest

from skillctl.core.evaluate.policy_learning import PolicyTraining, _find_slope, predict_policy, train_policy


def _two_skills(n: int = 64) -> tuple[np.ndarray, np.ndarray]:
    """Agent 0 can do skill 0, agent 1 can do skill 1, agent 2 can do nothing."""
    skill = np.arange(n) % 2
    return np.eye(2)[skill], np.column_stack([skill == 0, skill == 1, np.zeros(n)]).astype(float)


def test_each_skill_goes_to_the_agent_that_has_it() -> None:
    weights, reward = _two_skills()
    theta = train_policy(weights, reward, np.random.default_rng(0))
    chance = predict_policy(theta, np.eye(2))
    assert chance.argmax(axis=1).tolist() == [0, 1]
    assert chance.max(axis=1).min() > 0.8
    assert chance.sum(axis=1) == pytest.approx(1.0)


def test_the_same_seed_gives_the_same_policy() -> None:
    weights, reward = _two_skills()
    first, second = (train_policy(weights, reward, np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(first, second)


def test_equal_rewards_teach_nothing() -> None:
    weights, _ = _two_skills()
    theta = train_policy(weights, np.ones((64, 3)), np.random.default_rng(0))
    assert np.array_equal(theta, np.zeros((2, 3)))


def test_an_agent_that_was_not_tried_is_never_drawn() -> None:
    weights, reward = _two_skills()
    reward[:, 2] = np.nan
    theta = train_policy(weights, reward, np.random.default_rng(0))
    assert np.array_equal(theta[:, 2], np.zeros(2))


def test_a_query_that_nobody_tried_is_left_out() -> None:
    weights, reward = _two_skills()
    reward[0] = np.nan
    assert np.isfinite(train_policy(weights, reward, np.random.default_rng(0))).all()


def test_an_entropy_bonus_keeps_more_agents_in_play() -> None:
    weights, reward = _two_skills()
    plain, bonus = (
        predict_policy(train_policy(weights, reward, np.random.default_rng(0), PolicyTraining(entropy=e)), np.eye(2))
        for e in (0.0, 0.5)
    )
    assert bonus.max(axis=1).mean() < plain.max(axis=1).mean()


def test_the_slope_is_unbiased_for_the_gradient_of_the_group_objective() -> None:
    # With a group of one the advantage is 0; with large groups of rewards 0 and 1 the mean slope in θ_a tends to
    # π_a (r_a − r̄) / sd, r̄ and sd those of the policy's rewards.
    theta, weights, reward = np.array([[0.3, -0.2, 0.1]]), np.ones((1, 1)), np.array([[1.0, 0.0, 0.0]])
    rng = np.random.default_rng(1)
    how = PolicyTraining(group=4000)
    slope = np.mean([_find_slope(theta, weights, reward, how, rng) for _ in range(50)], axis=0)[0]
    chance = predict_policy(theta, weights)[0]
    expected = chance * (reward[0] - chance[0]) / np.sqrt(chance[0] * (1 - chance[0]))
    assert slope == pytest.approx(expected, abs=5e-3)
