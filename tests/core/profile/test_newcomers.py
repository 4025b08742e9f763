from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.agents.planning import plan_queries
from skillctl.core.orchestrate.orchestration import SkillWeights
from skillctl.core.profile.newcomers import SkillPrior, find_newcomers, learn_prior, prior_mean_for, update_prior


def _known(agents: int = 24) -> np.ndarray:
    """Skills 0 and 1 go together, skill 2 is the opposite of both."""
    ability = np.linspace(-1.5, 1.5, agents)
    return 1 / (1 + np.exp(-np.column_stack([ability, ability, -ability])))


def test_without_evidence_a_newcomer_is_like_the_mean_of_the_known() -> None:
    prior = learn_prior(_known())
    same = update_prior(prior, np.zeros(3), np.zeros(3))
    assert same.success() == pytest.approx(prior.success())
    assert prior.success() == pytest.approx([0.5, 0.5, 0.5], abs=1e-9)


def test_evidence_in_one_skill_moves_the_skills_that_go_with_it() -> None:
    success = update_prior(learn_prior(_known()), [8.0, 0.0, 0.0], [0.0, 0.0, 0.0]).success()
    assert success[0] > 0.7
    assert success[1] > 0.65
    assert success[2] < 0.35


def test_with_much_evidence_the_rate_is_the_evidence() -> None:
    success = update_prior(learn_prior(_known()), [3000.0, 1000.0, 500.0], [1000.0, 3000.0, 500.0]).success()
    assert success == pytest.approx([0.75, 0.25, 0.5], abs=0.01)


def test_the_mode_is_where_the_slope_is_nothing() -> None:
    prior = learn_prior(_known())
    s, f = np.array([2.0, 0.5, 1.0]), np.array([1.0, 0.0, 3.0])
    after = update_prior(prior, s, f)
    slope = s - (s + f) * after.success() - np.linalg.solve(prior.covariance, after.mean - prior.mean)
    assert slope == pytest.approx(np.zeros(3), abs=1e-6)


def test_agents_that_resemble_the_newcomer_count_more() -> None:
    known = np.array([[0.9, 0.9], [0.1, 0.1], [0.1, 0.1]])
    assert learn_prior(known, [10.0, 1.0, 1.0]).success()[0] > learn_prior(known).success()[0]


@given(
    st.lists(st.tuples(st.floats(0, 500), st.floats(0, 500)), min_size=3, max_size=3),
    st.integers(3, 30),
)
def test_any_evidence_gives_a_finite_posterior(evidence: list[tuple[float, float]], agents: int) -> None:
    s, f = np.array(evidence).T
    after = update_prior(learn_prior(_known(agents)), s, f)
    assert np.isfinite(after.mean).all()
    assert (np.linalg.eigvalsh(after.covariance) > 0).all()


@pytest.mark.parametrize(
    ("runs", "young"),
    [
        ([100, 100, 100, 10], [False, False, False, True]),
        ([100, 100, 100, 50], [False] * 4),
        ([100, 100, 10], [False] * 3),
        ([0, 0, 0], [False] * 3),
        ([], []),
    ],
)
def test_a_newcomer_has_few_runs_beside_at_least_three_others(runs: list[int], young: list[bool]) -> None:
    assert find_newcomers(runs).tolist() == young


def test_the_prior_mean_gives_the_posterior_mean_that_is_asked_for() -> None:
    mu = prior_mean_for(0.6, 6.0, 2.0, 1.0)
    assert (6.0 * mu + 2.0) / (6.0 + 3.0) == pytest.approx(0.6)
    assert prior_mean_for(0.9, 6.0, 0.0, 90.0) == 0.99


def _one_hot(skills: list[int]) -> SkillWeights:
    return SkillWeights(np.arange(len(skills) + 1), np.array(skills, np.int32), np.ones(len(skills)))


def test_a_plan_spreads_over_skills_that_are_equally_open() -> None:
    prior = SkillPrior(np.zeros(2), np.eye(2))
    plan = plan_queries(_one_hot([1, 1, 1, 2, 2, 2]), prior, np.full(2, 0.5), 4)
    assert sorted(plan.tolist()) == [0, 1, 3, 4]


def test_a_plan_prefers_the_skill_whose_verdict_is_open() -> None:
    prior = SkillPrior(np.zeros(2), np.eye(2))
    plan = plan_queries(_one_hot([1, 2] * 5), prior, np.array([0.5, 0.99]), 3)
    assert [1 + number % 2 for number in plan.tolist()].count(1) >= 2


def test_a_plan_asks_once_about_skills_that_always_go_together() -> None:
    together = SkillPrior(np.zeros(3), 4.0 * np.array([[1.0, 0.999, 0.0], [0.999, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    plan = plan_queries(_one_hot([1, 2, 3]), together, np.full(3, 0.5), 2)
    assert 2 in plan.tolist()


def test_a_plan_is_never_longer_than_what_there_is_and_names_no_query_twice() -> None:
    plan = plan_queries(_one_hot([0, 1, 2]), SkillPrior(np.zeros(2), np.eye(2)), np.full(2, 0.5), 9)
    assert sorted(plan.tolist()) == [0, 1, 2]
