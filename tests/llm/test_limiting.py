from __future__ import annotations

import threading
import time

import pytest

from skillctl.core.profile.pricing import Budget
from skillctl.errors import InputError, OutsideError
from skillctl.llm.base import Completion, Request
from skillctl.llm.limiting import BudgetCompleter, BudgetSpentError, LaneCompleter
from skillctl.llm.scripted import ScriptedCompleter
from skillctl.model.handbook import Price

PRICES = {"a": Price(1.0, 1.0), "b": None}


def _ask(agent: str = "a", text: str = "x") -> Request:
    return Request(agent, ({"role": "user", "content": text},), model="m", params={"max_tokens": 10})


def test_an_agent_answers_only_so_many_at_once() -> None:
    running, most, lock = [0], [0], threading.Lock()

    def reply(_: Request) -> str:
        return "x"

    class Slow(ScriptedCompleter):
        def complete(self, request: Request) -> Completion:
            with lock:
                running[0] += 1
                most[0] = max(most[0], running[0])
            time.sleep(0.02)
            with lock:
                running[0] -= 1
            return super().complete(request)

    lanes = LaneCompleter(Slow(reply), 2)
    threads = [threading.Thread(target=lanes.complete, args=(_ask(),)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [2]


def test_a_call_that_could_pass_the_limit_is_not_made() -> None:
    script = ScriptedCompleter(["x"])
    with pytest.raises(BudgetSpentError):
        BudgetCompleter(script, Budget(1e-9), PRICES).complete(_ask())
    assert script.requests == []


def test_what_a_call_cost_is_booked_and_its_bound_is_free_again() -> None:
    budget = Budget(1.0)
    script = ScriptedCompleter([Completion("x", prompt_tokens=100_000, completion_tokens=100_000)])
    BudgetCompleter(script, budget, PRICES).complete(_ask())
    assert budget.spent_usd == pytest.approx(0.2)
    assert budget.reserve("next", 0.79)


def test_a_failed_call_costs_nothing_but_one_that_timed_out_may() -> None:
    for code, is_free in (("connection", True), ("timeout", False)):
        budget = Budget(0.0002)
        completer = BudgetCompleter(ScriptedCompleter([OutsideError("no", code=code)]), budget, PRICES)
        with pytest.raises(OutsideError):
            completer.complete(_ask())
        assert budget.reserve("next", 0.0002) is is_free


def test_a_limit_needs_a_price() -> None:
    with pytest.raises(InputError, match="the price is unknown of: b"):
        BudgetCompleter(ScriptedCompleter(["x"]), Budget(1.0), PRICES).complete(_ask("b"))
    assert BudgetCompleter(ScriptedCompleter(["x"]), Budget(None), PRICES).complete(_ask("b")).text == "x"
