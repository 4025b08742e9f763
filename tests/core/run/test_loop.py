from __future__ import annotations

from collections.abc import Callable

import pytest

from skillctl.core.run.conversation import Conversation, Decision, Turn
from skillctl.core.run.loop import Check, Finished, Loop, LoopLimits, Stop

ASK = Conversation("q1", "How many?", ({"role": "user", "content": "How many?"},))


def answer(text: str = "42", agent: str = "a", **fields: object) -> Turn:
    return Turn(Decision("answer", agent), observation=text, is_answer=True, **fields)  # type: ignore[arg-type]


def found(text: str = "fact", agent: str = "s", **fields: object) -> Turn:
    return Turn(Decision("search", agent), action="look up", observation=text, succeeded=True, **fields)  # type: ignore[arg-type]


def broken(agent: str = "a") -> Turn:
    return Turn(Decision("answer", agent), error="timeout", error_message="too late")


class Script:
    """Decides whatever the scripted turns say, and acts them."""

    def __init__(self, turns: list[Turn]) -> None:
        self.turns = turns
        self.left: list[int] = []

    def choose(self, conversation: Conversation, turns_left: int) -> Decision | None:
        self.left.append(turns_left)
        place = len(conversation.turns)
        return self.turns[place].decision if place < len(self.turns) else None

    def act(self, conversation: Conversation, _: Decision) -> Turn:
        return self.turns[len(conversation.turns)]


class Verifier:
    def __init__(self, verdict: Callable[[str], bool | None]) -> None:
        self.verdict = verdict

    def check(self, _: Conversation, text: str) -> Check:
        return Check(self.verdict(text), 0.5)


def run(turns: list[Turn], limits: LoopLimits | None = None, checker: Verifier | None = None) -> Finished:
    script = Script(turns)
    return Loop(script, script, checker, limits or LoopLimits()).run(ASK)


def test_the_first_answer_ends_a_conversation() -> None:
    finished = run([found(), answer(), answer("not reached")])
    assert finished.stop == Stop.ANSWERED
    assert [turn.observation for turn in finished.conversation.turns] == ["fact", "42"]


def test_an_answer_that_is_refused_is_not_the_end_and_one_that_is_verified_is() -> None:
    finished = run([answer("1"), answer("2", "b"), answer("3")], checker=Verifier(lambda text: text == "2"))
    assert finished.stop == Stop.VERIFIED
    assert [turn.succeeded for turn in finished.conversation.turns] == [False, True]
    assert finished.conversation.answer_turn is finished.conversation.turns[1]
    assert finished.conversation.failed_agents("answer") == ("a",)


def test_an_answer_without_a_verdict_of_the_checker_stands() -> None:
    assert run([answer(), answer()], checker=Verifier(lambda _: None)).stop == Stop.ANSWERED


def test_checking_costs() -> None:
    finished = run([answer(cost_usd=1.0)], checker=Verifier(lambda _: True))
    assert finished.conversation.spent_usd() == 1.5


def test_the_turn_limit_ends_it_and_the_last_answer_stands() -> None:
    turns = [answer(str(n)) for n in range(9)]
    finished = run(turns, LoopLimits(turns=3), Verifier(lambda _: False))
    assert finished.stop == Stop.TURN_LIMIT
    assert len(finished.conversation.turns) == 3
    assert finished.conversation.answer_turn is not None
    assert finished.conversation.answer_turn.observation == "2"


def test_the_cost_limit_keeps_the_next_turn_from_beginning() -> None:
    finished = run([found("a", cost_usd=0.6), found("b", cost_usd=0.6), found("c")], LoopLimits(cost_usd=1.0))
    assert finished.stop == Stop.COST_LIMIT
    assert len(finished.conversation.turns) == 2


def test_a_cost_limit_of_nothing_lets_a_first_turn_happen() -> None:
    assert run([answer()], LoopLimits(cost_usd=0.0)).stop == Stop.ANSWERED


def test_repeating_the_same_action_with_the_same_result_is_a_failure_and_no_progress() -> None:
    finished = run([found("x"), found("x", "t"), found("x"), found("x")])
    assert finished.stop == Stop.NO_PROGRESS
    assert [turn.is_repeat for turn in finished.conversation.turns] == [False, True, True]
    assert finished.conversation.failed_agents("search") == ("t", "s")


def test_the_same_action_with_another_result_is_progress() -> None:
    finished = run([found("x"), found("y"), answer()])
    assert not any(turn.is_repeat for turn in finished.conversation.turns)


def test_an_outside_failure_takes_no_turn_and_blames_no_ability() -> None:
    finished = run([broken("a"), answer(agent="b")], LoopLimits(turns=1))
    assert finished.stop == Stop.ANSWERED
    assert finished.conversation.broken_agents() == ("a",)
    assert finished.conversation.failed_agents("answer") == ()


def test_when_everybody_is_out_of_reach_the_outside_is_to_blame() -> None:
    assert run([broken("a"), broken("b")]).stop == Stop.OUTSIDE
    assert run([broken(str(n)) for n in range(9)]).stop == Stop.OUTSIDE


def test_nobody_to_ask_is_said() -> None:
    finished = run([])
    assert finished.stop == Stop.NO_AGENT
    assert finished.conversation.turns == ()


@pytest.mark.parametrize(("turns", "left"), [([found("a"), found("b"), answer()], [3, 2, 1])])
def test_the_chooser_hears_how_many_turns_are_left(turns: list[Turn], left: list[int]) -> None:
    script = Script(turns)
    Loop(script, script, None, LoopLimits(turns=3)).run(ASK)
    assert script.left == left


def test_what_was_found_out_is_part_of_the_state() -> None:
    conversation = ASK.with_turn(found("the tower is 30 m high"))
    assert conversation.state_text() == "How many?\n[search] the tower is 30 m high"


def test_an_unknown_cost_is_not_zero() -> None:
    conversation = ASK.with_turn(answer(cost_usd=None))
    assert conversation.has_unknown_cost()
    assert not ASK.with_turn(answer()).has_unknown_cost()
