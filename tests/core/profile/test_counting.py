from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.orchestrate.orchestration import SkillWeights
from skillctl.core.profile.counting import EvidenceCounter
from skillctl.core.profile.evidence import Evidence, read_evidence
from skillctl.core.profile.half_life import HalfLife
from skillctl.core.profile.pair_layout import build_layout
from skillctl.core.profile.profiling import build_profiles
from skillctl.model.handbook import Agent, AgentId, Handbook, Mode, ModeId, Settings, Skill, SkillId
from skillctl.model.trace import Step, Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

_ANSWER, _CODE = ModeId("answer"), ModeId("code")


def _handbook() -> Handbook:
    skills = (
        Skill(SkillId("m"), "maths"),
        Skill(SkillId("m.a"), "algebra", parent=SkillId("m")),
        Skill(SkillId("w"), "words"),
    )
    agents = [Agent(AgentId("a"), modes=(_ANSWER, _CODE)), Agent(AgentId("b"), modes=(_ANSWER,))]
    return Handbook(
        "h",
        settings=Settings(default_mode=_ANSWER),
        modes={_ANSWER: Mode(_ANSWER), _CODE: Mode(_CODE)},
        skills={_ANSWER: skills, _CODE: ()},
        agents={agent.id: agent for agent in agents},
    )


class _ByFirstLetter:
    """Weighs a text by its first letter: 1 on algebra, or a third on each skill."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def weigh(self, texts: Sequence[str]) -> SkillWeights:
        self.asked += texts
        rows = [[(2, 1.0)] if text < "m" else [(1, 0.3333), (2, 0.3334), (3, 0.3333)] for text in texts]
        flat = [entry for row in rows for entry in row]
        return SkillWeights(
            np.cumsum([0, *map(len, rows)]),
            np.array([skill for skill, _ in flat], dtype=np.int32),
            np.array([weight for _, weight in flat]),
        )


_TRACES = st.lists(
    st.builds(
        Trace,
        trace_id=st.integers(0, 60),
        query_id=st.just("q"),
        query=st.sampled_from(["alpha", "beta", "sigma", "tau"]),
        agent=st.sampled_from(["a", "b", "gone"]),
        mode=st.sampled_from([None, "answer", "code"]),
        success=st.sampled_from([True, False, None]),
        cost_usd=st.none() | st.floats(0, 1),
        skills=st.just({}) | st.just({"w": 2.0, "m.a": 1.0}),
        steps=st.just(()) | st.just((Step("code", "a"), Step("answer", "b", success=True), Step("x", "y"))),
        time_s=st.floats(0, 1000).map(lambda time: round(time, 3)),
    ),
    max_size=30,
)


def _count(
    batches: Sequence[Sequence[Trace]], start: Evidence | None = None, half_life: HalfLife | None = None
) -> Evidence:
    evidence = start or Evidence(build_layout(_handbook()))
    counter = EvidenceCounter(evidence, lambda _: _ByFirstLetter(), half_life=half_life)
    for batch in batches:
        counter.add(batch)
    return evidence


_HALF_LIVES = st.none() | st.builds(HalfLife, st.sampled_from([3.0, 99.0]), st.booleans())


@given(traces=_TRACES, cut=st.integers(0, 30), half_life=_HALF_LIVES)
def test_where_batches_end_does_not_matter(traces: list[Trace], cut: int, half_life: HalfLife | None) -> None:
    whole = _count([traces], half_life=half_life)
    parts = _count([traces[:cut], traces[cut:]], half_life=half_life)
    assert parts.successes == pytest.approx(whole.successes, abs=1e-6)
    assert parts.failures == pytest.approx(whole.failures, abs=1e-6)
    assert parts.runs.tolist() == whole.runs.tolist()
    assert parts.moments.mean == pytest.approx(whole.moments.mean)


@given(traces=_TRACES)
def test_the_order_of_distinct_traces_does_not_matter(traces: list[Trace]) -> None:
    distinct = list({(trace.trace_id, trace.agent, trace.mode): trace for trace in traces}.values())
    forth, back = _count([distinct]), _count([distinct[::-1]])
    assert forth.successes.tolist() == back.successes.tolist()
    assert forth.failures.tolist() == back.failures.tolist()


@given(traces=_TRACES)
def test_a_profile_gives_back_the_evidence_that_made_it(traces: list[Trace]) -> None:
    evidence = _count([traces])
    evidence.round()
    profiled = build_profiles(_handbook(), evidence)
    again = read_evidence(profiled, evidence.layout)
    assert again.successes.tolist() == evidence.successes.tolist()
    assert again.failures.tolist() == evidence.failures.tolist()
    assert again.runs.tolist() == evidence.runs.tolist()
    assert again.moments.count.tolist() == evidence.moments.count.tolist()
    assert again.moments.mean == pytest.approx(evidence.moments.mean, rel=1e-5)
    assert build_profiles(profiled, again) == profiled


@given(traces=_TRACES, cut=st.integers(0, 30))
def test_counting_on_top_of_a_profile_is_counting_at_once(traces: list[Trace], cut: int) -> None:
    distinct = list({(trace.trace_id, trace.agent, trace.mode): trace for trace in traces}.values())
    at_once = _count([distinct])
    first = _count([distinct[:cut]])
    first.round()
    then = _count([distinct[cut:]], read_evidence(build_profiles(_handbook(), first), first.layout))
    assert then.successes.tolist() == at_once.successes.tolist()
    assert then.runs.tolist() == at_once.runs.tolist()
    assert then.moments.mean == pytest.approx(at_once.moments.mean, rel=1e-4)


def test_a_query_is_weighed_once_however_many_agents_answered_it() -> None:
    orchestrator = _ByFirstLetter()
    counter = EvidenceCounter(Evidence(build_layout(_handbook())), lambda _: orchestrator)
    for number in range(3):
        counter.add([Trace(number, text, text, agent, success=True) for text in ("alpha", "tau") for agent in "ab"])
    assert orchestrator.asked == ["alpha", "tau"]


def test_a_coarse_skill_gets_what_its_finer_skills_get_and_the_root_everything() -> None:
    evidence = _count([[Trace(1, "q", "tau", "a", success=True), Trace(2, "q", "alpha", "a", success=True)]])
    mode = evidence.layout.modes[0]
    assert mode.keys == ("answer", "m", "m.a", "w")
    assert evidence.successes[: len(mode.keys)].tolist() == [20_000.0, 16_667.0, 13_334.0, 3_333.0]


def test_one_id_for_the_runs_of_two_agents_is_two_traces() -> None:
    evidence = _count([[Trace("t", "q", "tau", agent, success=True) for agent in "ab"]])
    assert evidence.runs.sum() == 2


def test_one_id_for_a_session_of_two_queries_is_two_traces() -> None:
    assert _count([[Trace("t", query, "tau", "a", success=True) for query in ("q1", "q2")]]).runs.sum() == 2


def test_id_1_and_the_text_1_are_two_traces() -> None:
    assert (
        _count([[Trace(1, "q", "tau", "a", success=True), Trace("1", "q", "tau", "a", success=True)]]).runs.sum() == 2
    )


def test_a_skill_that_nobody_was_tried_in_has_no_entry() -> None:
    evidence = _count([[Trace(1, "q", "alpha", "a", success=True)]])
    profiles = build_profiles(_handbook(), evidence).agents[AgentId("a")].profiles
    assert list(profiles[_ANSWER].competence) == ["answer", "m", "m.a"]
    assert _CODE not in profiles


def test_hopeless_agents_keep_a_posterior_that_is_finite_and_positive() -> None:
    traces = [Trace(number, "q", "alpha", "a", success=False) for number in range(2000)]
    competence = build_profiles(_handbook(), _count([traces])).agents[AgentId("a")].profiles[_ANSWER].competence
    assert all(entry.alpha > entry.successes >= 0 and entry.beta > entry.failures for entry in competence.values())


def test_steps_are_credited_by_their_own_skills_verdict_and_error() -> None:
    steps = (
        Step("answer", "b", success=False, skills={"w": 1.0}, cost_usd=0.5),
        Step("answer", "b", error="timeout", cost_usd=9.0),
        Step("answer", "b"),
    )
    evidence = _count([[Trace(1, "q", "alpha", "a", mode="code", success=True, steps=steps)]])
    pair = evidence.layout.pairs["b", "answer"]
    first = evidence.layout.first_cell_of_pair[pair]
    assert evidence.runs[pair] == 2
    assert evidence.failures[first : first + 4].tolist() == [10_000.0, 0.0, 0.0, 10_000.0]
    assert evidence.successes[first : first + 4].tolist() == [10_000.0, 10_000.0, 10_000.0, 0.0]
    assert (evidence.moments.count[pair, 0], evidence.moments.mean[pair, 0]) == (1, 0.5)


def _cells(evidence: Evidence, agent: str, mode: str) -> list[float]:
    first = evidence.layout.first_cell_of_pair[evidence.layout.pairs[agent, mode]]
    return [float(count) / 10_000 for count in evidence.successes[first : first + 4]]


def test_a_step_without_skills_is_inferred_from_the_state_before_it() -> None:
    orchestrator = _ByFirstLetter()
    steps = (
        Step("code", "a", observation="x" * 300),
        Step("answer", "b"),
        Step("code", "a", observation="refused", success=False),
        Step("code", "a", observation="unheard", error="timeout"),
        Step("answer", "b", skills={"w": 1.0}),
    )
    evidence = Evidence(build_layout(_handbook()))
    EvidenceCounter(evidence, lambda _: orchestrator).add(
        [Trace(1, "q", "alpha", "a", mode="answer", success=True, steps=steps)]
    )
    # The trace's own agent has no step in the mode: it came after all of them.
    assert orchestrator.asked == ["alpha\n[code] " + "x" * 200]
    assert _cells(evidence, "a", "answer") == [1, 1, 1, 0]
    assert _cells(evidence, "b", "answer") == [2, 1, 1, 1]


@pytest.mark.parametrize(
    ("steps", "asked"),
    [
        ((), "alpha"),
        ((Step("answer", "a", observation="found"), Step("code", "b", observation="late")), "alpha"),
        ((Step(None, None, observation="found"),), "alpha"),
        ((Step("search", "gone", observation="found"), Step("answer", "a")), "alpha\n[search] found"),
        ((Step("code", "a", observation="found"), Step("answer", "a")), "alpha\n[code] found"),
        ((Step("code", "a", observation=""), Step("answer", "a")), "alpha"),
    ],
)
@pytest.mark.parametrize("mode", [None, "answer"])
def test_an_own_run_is_inferred_from_the_state_before_its_first_step(
    steps: tuple[Step, ...], asked: str, mode: str | None
) -> None:
    orchestrator = _ByFirstLetter()
    counter = EvidenceCounter(Evidence(build_layout(_handbook())), lambda _: orchestrator)
    counter.add([Trace(1, "q", "alpha", "a", mode=mode, success=True, steps=steps)])
    assert orchestrator.asked == [asked]


@given(traces=_TRACES)
def test_steps_that_the_trace_s_own_agent_ran_change_no_credit(traces: list[Trace]) -> None:
    bare = [replace(trace, steps=()) for trace in traces]
    own = [
        replace(trace, steps=(Step(trace.mode or "answer", trace.agent, observation="found"), Step(observation="x")))
        for trace in bare
    ]
    assert _count([own]).successes.tolist() == _count([bare]).successes.tolist()
