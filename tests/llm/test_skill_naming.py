"""A language model names the skills of states: in the modes asked for, once paid in each conversation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from skillctl.core.run.conversation import Conversation, Decision, Turn
from skillctl.errors import OutsideError
from skillctl.llm.base import Completion
from skillctl.llm.language_orchestrator import LanguageOrchestrator, WeighingTally
from skillctl.llm.limiting import BudgetSpentError
from skillctl.llm.scripted import ScriptedCompleter
from skillctl.llm.skill_naming import ModelStateWeigher
from skillctl.llm.structured import Endpoint
from skillctl.model.handbook import Handbook, Mode, ModeId, Price, Skill, SkillId

if TYPE_CHECKING:
    from skillctl.core.orchestrate.orchestration import Orchestrator
    from skillctl.llm.base import Completer, Request
    from skillctl.llm.language_orchestrator import OnReply

ANSWER, CODE, SEARCH = ModeId("answer"), ModeId("code"), ModeId("search")
BOOK = Handbook(
    "h",
    modes={mode: Mode(mode) for mode in (ANSWER, CODE, SEARCH)},
    skills={
        ANSWER: (Skill(SkillId("answer.sum"), "Adds."), Skill(SkillId("answer.verse"), "Rhymes.")),
        CODE: (Skill(SkillId("code.loop"), "Loops."),),
        SEARCH: (),
    },
)
PRICE = Price(1.0, 1.0)
ROWS = {str(mode): [str(mode), *(skill.id for skill in skills)] for mode, skills in BOOK.skills.items()}
ASK = Conversation("q", "Add 1 and 2.", ({"role": "user", "content": "Add 1 and 2."},))
NAMED = {"skills": {"answer.sum": 3, "answer.verse": 1, "made.up": 9}}


def _say(**skills: float) -> Completion:
    return Completion(json.dumps({"skills": skills}), prompt_tokens=100, completion_tokens=10)


def _weigher(
    completer: Completer, *, tally: WeighingTally | None = None, price: Price | None = PRICE
) -> ModelStateWeigher:
    def open_one(mode: str, on_reply: OnReply) -> Orchestrator:
        endpoint = Endpoint("m", "openai/m")
        return LanguageOrchestrator(BOOK, ModeId(mode), endpoint, completer, tally=tally, on_reply=on_reply)

    return ModelStateWeigher(open_one, ROWS, price)


def test_each_mode_gets_the_skills_that_the_model_names_and_unknown_ones_are_dropped_and_counted() -> None:
    def reply(request: Request) -> Any:  # noqa: ANN401
        return _say(**{"code.loop": 1}) if "Mode code" in str(request.messages) else json.dumps(NAMED)

    tally, script = WeighingTally(), ScriptedCompleter(reply)
    weighed = _weigher(script, tally=tally).weigh(ASK, ["answer", "code", "search"])
    assert weighed.skills == {
        "answer": {"answer.sum": 0.75, "answer.verse": 0.25},
        "code": {"code.loop": 1.0},
        "search": {"search": 1.0},
    }
    assert len(script.requests) == 2  # a mode without skills is nothing to ask about
    assert (dict(tally.unknown), tally.requests) == ({"made.up": 1}, 2)


def test_a_state_is_paid_once_in_a_conversation_and_again_in_another() -> None:
    weigher = _weigher(ScriptedCompleter(lambda _: _say(**{"answer.sum": 1})))
    assert weigher.weigh(ASK, ["answer"]).cost_usd == pytest.approx(0.00011)
    assert weigher.weigh(ASK, ["answer"]).cost_usd == 0
    assert weigher.weigh(ASK, ["answer", "code"]).cost_usd == pytest.approx(0.00011)
    found = ASK.with_turn(Turn(Decision("search", "s"), observation="It is 3.", succeeded=True))
    assert weigher.weigh(found, ["answer", "code"]).cost_usd == pytest.approx(0.00022)
    other = Conversation("other", ASK.text, ASK.messages)
    assert weigher.weigh(other, ["answer"]).cost_usd == pytest.approx(0.00011)


def test_an_unknown_cost_is_not_zero_and_a_reply_that_cannot_be_used_costs_too() -> None:
    assert _weigher(ScriptedCompleter(lambda _: "?"), price=None).weigh(ASK, ["answer"]).cost_usd is None
    weighed = _weigher(ScriptedCompleter(lambda _: Completion("?", cost_usd=0.5)), price=None).weigh(ASK, ["answer"])
    assert (weighed.skills, weighed.cost_usd) == ({"answer": {"answer": 1.0}}, 0.5)


def test_a_budget_that_is_spent_ends_the_run() -> None:
    class Spent:
        def complete(self, _: Request) -> Completion:
            raise BudgetSpentError

    with pytest.raises(BudgetSpentError):
        _weigher(Spent()).weigh(ASK, ["answer"])


def test_a_service_that_never_answers_ends_the_run_and_one_that_did_is_forgiven() -> None:
    down = OutsideError("no route", code="connection")
    weigher = _weigher(ScriptedCompleter([down] * 3))
    for _ in range(2):
        assert weigher.weigh(ASK, ["answer"]).skills == {"answer": {"answer": 1.0}}
    with pytest.raises(OutsideError, match="no route"):
        weigher.weigh(ASK, ["answer"])
    forgiven = _weigher(ScriptedCompleter([_say(**{"answer.sum": 1}), *[down] * 5]))
    assert [forgiven.weigh(ASK, ["answer"]).skills["answer"] for _ in range(6)][1:] == [{"answer": 1.0}] * 5
