from __future__ import annotations

import numpy as np
import pytest

from skillctl.core.profile.evidence import Evidence, read_evidence
from skillctl.core.profile.pair_layout import build_layout
from skillctl.core.profile.profiling import build_profiles
from skillctl.core.profile.run_moments import METRICS
from skillctl.model.handbook import Agent, AgentId, CostStats, Handbook, Mode, ModeId, Profile, Skill, SkillId

_ANSWER = ModeId("answer")
_A, _B = AgentId("a"), AgentId("b")


def _handbook(profile: Profile | None = None) -> Handbook:
    profiles = {} if profile is None else {_ANSWER: profile}
    return Handbook(
        "h",
        modes={_ANSWER: Mode(_ANSWER)},
        skills={_ANSWER: (Skill(SkillId("s"), "one"), Skill(SkillId("t"), "two", parent=SkillId("s")))},
        agents={_A: Agent(_A, modes=(_ANSWER,), profiles=profiles), _B: Agent(_B, modes=(_ANSWER,))},
    )


def _evidence(*, runs: int = 4) -> Evidence:
    evidence = Evidence(build_layout(_handbook()))
    evidence.runs[0] = runs
    evidence.successes[:3] = 10_000.0 * np.array([3.0, 2.5, 1.25])
    evidence.failures[:3] = 10_000.0 * np.array([1.0, 0.5, 0.25])
    return evidence


def test_posteriors_are_prior_and_evidence_in_four_decimals() -> None:
    competence = build_profiles(_handbook(), _evidence()).agents[_A].profiles[_ANSWER].competence
    root, skill, finer = competence["answer"], competence["s"], competence["t"]
    assert (root.alpha, root.beta) == (4.0, 2.0)
    assert skill.alpha + skill.beta - skill.successes - skill.failures == pytest.approx(6.0, abs=2e-4)
    assert (finer.successes, finer.failures) == (1.25, 0.25)
    assert all(number == round(number, 4) for entry in competence.values() for number in (entry.alpha, entry.beta))


def test_an_agent_without_runs_has_no_profile() -> None:
    assert build_profiles(_handbook(), _evidence()).agents[_B].profiles == {}


def test_hand_written_words_outlive_the_evidence() -> None:
    written = Profile(runs=9, signals=("short sums",), extra={"x-note": "mine"})
    profile = build_profiles(_handbook(written), Evidence(build_layout(_handbook()))).agents[_A].profiles[_ANSWER]
    assert profile == Profile(signals=("short sums",), extra={"x-note": "mine"})


def test_costs_have_six_digits_and_say_how_many_runs_they_rest_on() -> None:
    evidence = _evidence(runs=3)
    values = np.full((3, len(METRICS)), np.nan)
    values[:, 0] = [1 / 3, 2 / 3, np.nan]
    values[:, 1] = [100.0, 200.0, 300.0]
    values[:2, 3] = [1.0, 2.0]
    evidence.moments.add(np.zeros(3, dtype=np.int64), values)
    cost = build_profiles(_handbook(), evidence).agents[_A].profiles[_ANSWER].cost
    assert cost == CostStats(mean_usd=0.5, sd_usd=0.235702, runs=2, prompt_tokens=200.0, latency_s=1.5, latency_runs=2)


def test_a_free_run_costs_nothing_and_an_unpriced_one_is_unknown() -> None:
    evidence = _evidence()
    values = np.full((1, len(METRICS)), np.nan)
    values[0, 0] = 0.0
    evidence.moments.add(np.zeros(1, dtype=np.int64), values)
    assert build_profiles(_handbook(), evidence).agents[_A].profiles[_ANSWER].cost == CostStats(0.0, 0.0, 1)
    assert build_profiles(_handbook(), _evidence()).agents[_A].profiles[_ANSWER].cost == CostStats()


def test_evidence_is_read_back_as_it_was_written() -> None:
    evidence = _evidence()
    profiled = build_profiles(_handbook(), evidence)
    again = read_evidence(profiled, evidence.layout)
    assert again.successes.tolist() == evidence.successes.tolist()
    assert build_profiles(profiled, again) == profiled
