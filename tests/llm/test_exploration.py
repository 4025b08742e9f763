"""Exploration with a scripted completer: prices, verdicts and what is pending."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillctl.core.profile.pricing import Budget
from skillctl.core.run.exploring import AgentTally, ExploreQuery, render_tallies
from skillctl.errors import InputError
from skillctl.llm.base import Completion
from skillctl.llm.dispatch import Limits
from skillctl.llm.exploration import Explorer, add_known_prices, find_pending, mark_kept, plan_calls, refuse_unpriced
from skillctl.llm.judging import RuleJudge
from skillctl.llm.scripted import ScriptedCompleter
from skillctl.model.handbook import Agent, AgentId, CostStats, ModeId, Price, Profile

ANSWER = ModeId("answer")
QUERIES = [
    ExploreQuery(n, n, f"{n}?", ({"role": "user", "content": f"{n}?"},), reference=n, has_reference=True)
    for n in (1, 2)
]
REPLY = Completion("1", "another-name", 1000, 100, 400, cost_usd=9.0)


def plan(*agents: Agent) -> list:  # type: ignore[type-arg]
    return plan_calls(QUERIES, agents, mode=ANSWER, folder=Path(), timeout_s=1.0)


def agent(name: str, price: Price | None = None, **fields: object) -> Agent:
    return Agent(AgentId(name), model=f"openai/{name}", price=price, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("price", "cost"),
    [
        (Price(2.5, 10.0, 1.25), 0.003),  # 600 * 2.5 + 400 * 1.25 + 100 * 10, per million
        (Price(0.0, 0.0), 0.0),
        (None, 9.0),  # what litellm knows
        (Price(2.5, None), 9.0),
    ],
)
def test_the_agents_own_price_goes_first(price: Price | None, cost: float) -> None:
    explorer = Explorer(ScriptedCompleter(lambda _: REPLY), RuleJudge(), budget=Budget(None), limits=Limits())
    first, second = explorer.run(plan(agent("a", price)))
    assert first.trace["cost_usd"] == pytest.approx(cost)
    assert (first.trace["success"], second.trace["success"]) == (True, False)
    assert first.trace["model"] == "openai/a"


def test_a_logged_trace_is_done_and_a_changed_request_is_not() -> None:
    calls = plan(agent("a"), agent("b"))
    logged = [{"trace_id": calls[0].trace_id, "success": True}]
    assert find_pending(calls, logged, retry_errors=True) == calls[1:]
    changed = plan(agent("a", params={"temperature": 1}))
    assert len(find_pending(changed, logged, retry_errors=False)) == 2


def test_the_expected_cost_comes_from_price_or_profile_and_is_else_unknown() -> None:
    profiles = {ANSWER: Profile(cost=CostStats(mean_usd=0.25))}
    calls = plan(agent("a", Price(1.0, 1.0)), agent("b", profiles=profiles), agent("c"))[:3]
    expected = [call.expected_usd() for call in calls]
    assert expected[1:] == [0.25, None]
    assert expected[0] is not None
    assert 0 < expected[0] <= calls[0].bound_usd()
    assert mark_kept(calls, lambda _key: True)[2].expected_usd() == 0.0


def test_public_prices_fill_in_and_what_stays_unknown_is_refused() -> None:
    calls = add_known_prices(plan(agent("a"), agent("b")), {"openai/a": Price(1.0, 1.0)}.get)
    with pytest.raises(InputError, match="the price is unknown of: b"):
        refuse_unpriced(calls)
    refuse_unpriced(call for call in calls if call.agent.id == "a")


def test_the_closing_table_never_shows_an_unknown_cost_as_0() -> None:
    tally = AgentTally("a")
    tally.count({"success": True, "cost_usd": None}, is_cached=False)
    assert render_tallies([tally]) == [["a", "1", "100.0%", "0", "0", "1", "0", "unknown"]]
    tally.count({"success": None, "cost_usd": 0.5}, is_cached=True)
    assert render_tallies([tally]) == [["a", "2", "100.0%", "1", "0", "1", "1", "0.500000 + unknown"]]
    assert render_tallies([AgentTally("b")])[0][2] == "-"
