from __future__ import annotations

from dataclasses import replace

import strategies as handmade
from hypothesis import HealthCheck, given, settings

from skillctl.core.diff.handbook_diff import diff_handbooks
from skillctl.core.diff.handbook_facts import list_facts
from skillctl.core.diff.handbook_merge import merge_facts, merge_handbooks
from skillctl.model.handbook import Agent, Competence, CostStats, EvidenceSource, Handbook, Mode, Profile, Skill

slow = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


@slow
@given(handmade.handbooks(), handmade.handbooks(), handmade.handbooks())
def test_a_merge_is_symmetric_where_there_is_no_conflict(base: Handbook, ours: Handbook, theirs: Handbook) -> None:
    one = merge_facts(list_facts(base), list_facts(ours), list_facts(theirs))
    other = merge_facts(list_facts(base), list_facts(theirs), list_facts(ours))
    assert one.conflicts == other.conflicts
    clear = one.facts.keys() & other.facts.keys() - set(one.conflicts)
    assert not one.conflicts or clear
    if not one.conflicts:
        assert one.facts == other.facts


@slow
@given(handmade.handbooks(), handmade.handbooks())
def test_a_side_that_did_nothing_gives_way(base: Handbook, theirs: Handbook) -> None:
    assert merge_handbooks(base, base, theirs) == (theirs, ())
    assert merge_handbooks(base, theirs, base) == (theirs, ())
    assert merge_handbooks(base, theirs, theirs) == (theirs, ())


def _handbook(entry: Competence, cost: CostStats, runs: int, log: str, **words: tuple[str, ...]) -> Handbook:
    profile = Profile(runs=runs, cost=cost, competence={"m": entry}, **words)
    agent = Agent("a", modes=("m",), profiles={"m": profile})  # type: ignore[arg-type, dict-item]
    evidence = (EvidenceSource(log, f"blake2b:{log:0>32}", 1, runs),) if log else ()
    return Handbook("h", evidence=evidence, modes={"m": Mode("m")}, skills={"m": ()}, agents={"a": agent})  # type: ignore[dict-item, arg-type]


BASE = _handbook(Competence(3.0, 2.0, 2.0, 1.0), CostStats(2.0, 1.0, 3), 3, "")


def test_evidence_of_both_sides_adds_up_over_the_base() -> None:
    ours = _handbook(Competence(6.0, 3.0, 5.0, 2.0), CostStats(3.0, 1.0, 7), 7, "1")
    theirs = _handbook(Competence(4.0, 5.0, 3.0, 4.0), CostStats(2.0, 2.0, 7), 7, "2")
    merged, conflicts = merge_handbooks(BASE, ours, theirs)
    profile = merged.agents["a"].profiles["m"]  # type: ignore[index]
    assert conflicts == ()
    assert profile.runs == 11
    assert profile.competence["m"] == Competence(7.0, 6.0, 6.0, 5.0)
    assert (profile.cost.mean_usd, profile.cost.runs) == (round((21 + 14 - 6) / 11, 5), 11)
    assert [source.name for source in merged.evidence] == ["1", "2"]


def test_moments_of_costs_merge_exactly() -> None:
    import numpy as np

    from skillctl.core.diff.evidence_merge import RunCosts, merge_costs

    base, one, two = [1.0, 2.0, 4.0], [3.0, 9.0], [5.0, 5.5, 7.0]

    def measure(*parts: list[float]) -> RunCosts:
        values = np.concatenate(parts)
        stats = CostStats(float(values.mean()), float(values.std(ddof=1)), len(values), steps=float(values.mean()))
        return RunCosts(stats, len(values))

    merged = merge_costs(measure(base), measure(base, one), measure(base, two))
    whole = measure(base, one, two).stats
    assert merged.runs == whole.runs
    assert merged.steps_runs is None
    for field in ("mean_usd", "sd_usd", "steps"):
        assert abs(getattr(merged, field) - getattr(whole, field)) < 1e-4


def test_a_log_that_both_sides_counted_is_a_conflict_and_never_counted_twice() -> None:
    ours = _handbook(Competence(6.0, 3.0, 5.0, 2.0), CostStats(2.0, 1.0, 7), 7, "1")
    theirs = _handbook(Competence(7.0, 3.0, 6.0, 2.0), CostStats(2.0, 1.0, 8), 8, "1")
    _, conflicts = merge_handbooks(BASE, ours, theirs)
    assert ("agents", "a", "profiles", "m", "competence", "m") in conflicts


def test_words_that_both_sides_changed_differently_are_a_conflict_in_that_place_alone() -> None:
    cost = CostStats(2.0, 1.0, 3)
    entry = Competence(3.0, 2.0, 2.0, 1.0)
    ours = _handbook(entry, cost, 3, "", signals=("ours",), strengths=("one",))
    theirs = _handbook(entry, cost, 3, "", signals=("theirs",))
    merged, conflicts = merge_handbooks(BASE, ours, theirs)
    assert conflicts == (("agents", "a", "profiles", "m", "signals"),)
    assert merged.agents["a"].profiles["m"].strengths == ("one",)  # type: ignore[index]


def test_an_agent_that_one_side_removed_and_the_other_changed_is_kept_or_removed_as_a_whole() -> None:
    ours = replace(BASE, agents={})
    theirs = _handbook(Competence(6.0, 3.0, 5.0, 2.0), CostStats(2.0, 1.0, 7), 7, "1")
    merged, conflicts = merge_handbooks(BASE, ours, theirs)
    assert conflicts
    assert merged.agents == {}
    kept = merge_facts(list_facts(BASE), list_facts(ours), list_facts(theirs), prefer="theirs").facts
    assert {path: v for path, v in kept.items() if path[0] == "agents"} == {
        path: v for path, v in list_facts(theirs).items() if path[0] == "agents"
    }
    assert merge_handbooks(BASE, ours, BASE) == (ours, ())


def test_a_competence_goes_with_its_skill() -> None:
    with_skill = replace(BASE, skills={"m": (Skill("s", "S."),)})  # type: ignore[dict-item, arg-type]

    def counted(handbook: Handbook, successes: float) -> Handbook:
        agent = handbook.agents["a"]  # type: ignore[index]
        profile = agent.profiles["m"]  # type: ignore[index]
        entry = Competence(successes + 3, 3.0, successes, 0.0)
        profiles = {"m": replace(profile, competence={**profile.competence, "s": entry})}
        return replace(handbook, agents={"a": replace(agent, profiles=profiles)})  # type: ignore[dict-item]

    merged, conflicts = merge_handbooks(counted(with_skill, 1.0), BASE, counted(with_skill, 5.0))
    assert conflicts == ()
    assert diff_handbooks(merged, BASE) == ()
