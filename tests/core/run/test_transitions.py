from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from skillctl.core.orchestrate.orchestration import SkillWeights
from skillctl.core.route.batch_routing import RouteOptions, Router
from skillctl.core.route.routing_table import compile_table
from skillctl.core.run.conversation import Conversation, Decision, Turn
from skillctl.core.run.state_weighing import Weighed
from skillctl.core.run.transitions import (
    INSIGHT_WEIGHT,
    LoopPolicy,
    RouterChooser,
    find_open_modes,
    read_modes,
    weigh_insights,
)
from skillctl.model.handbook import (
    Action,
    Agent,
    AgentId,
    Competence,
    CostStats,
    Handbook,
    Insight,
    Mode,
    ModeId,
    Profile,
    Settings,
    Skill,
    SkillId,
)
from skillctl.model.query import Needs

if TYPE_CHECKING:
    from collections.abc import Sequence

ANSWER, SEARCH = ModeId("answer"), ModeId("search")
FOUND = SkillId("answer.found")
ASK = Conversation("q1", "How high?", ({"role": "user", "content": "How high?"},))


class Marks:
    """Names the skill `answer.found` once something was found, else the root."""

    mark = "[search]"

    def __init__(self, mode: str) -> None:
        self.mode = mode

    def weigh(self, texts: Sequence[str]) -> SkillWeights:
        skills = [int(self.mark in text and self.mode == "answer") for text in texts]
        return SkillWeights(np.arange(len(texts) + 1), np.array(skills, np.int32), np.ones(len(texts)))


def _profile(cost: float | None, **rates: tuple[float, float]) -> Profile:
    competence = {key: Competence(s + 1.0, f + 1.0, s, f) for key, (s, f) in rates.items()}
    return Profile(runs=10, competence=competence, cost=CostStats(mean_usd=cost, runs=10 if cost is not None else 0))


def _agent(name: str, **profiles: Profile) -> Agent:
    modes = {ModeId(mode): profile for mode, profile in profiles.items()}
    return Agent(AgentId(name), modes=tuple(modes), profiles=modes)


def _book(
    *, cost_weight: float = 0.0, insights: tuple[Insight, ...] = (), search: tuple[float, float] = (5.0, 5.0)
) -> Handbook:
    """``big`` and ``small`` answer; what the library finds makes ``big`` sure, and ``small`` hardly better."""
    agents = (
        _agent("big", answer=_profile(0.02, **{"answer": (4, 6), "answer.found": (19, 1)})),
        _agent("small", answer=_profile(0.001, **{"answer": (3, 7), "answer.found": (3, 7)})),
        _agent("library", search=_profile(0.0, search=search)),
    )
    return Handbook(
        "h",
        settings=Settings(default_mode=ANSWER, cost_weight=cost_weight),
        modes={
            ANSWER: Mode(ANSWER),
            SEARCH: Mode(SEARCH, action=Action("search", corpus="c"), insights=insights),
        },
        skills={ANSWER: (Skill(FOUND, "From passages."),), SEARCH: ()},
        agents={agent.id: agent for agent in sorted(agents, key=lambda agent: agent.id)},
    )


def _chooser(
    book: Handbook,
    policy: LoopPolicy = "handbook",
    agents: tuple[str, ...] = (),
    path: tuple[str, ...] = (),
    seed: int = 0,
) -> RouterChooser:
    router = Router(compile_table(book, {}), Marks, RouteOptions())
    return RouterChooser(router, read_modes(book), policy=policy, agents=agents, path=path, seed=seed)


def _choose(chooser: RouterChooser, conversation: Conversation = ASK, left: int = 6) -> tuple[str, str] | None:
    decision = chooser.choose(conversation, left)
    return (decision.mode, decision.agent) if decision else None


def _found(conversation: Conversation = ASK) -> Conversation:
    return conversation.with_turn(Turn(Decision("search", "library"), observation="It is 30 m high.", succeeded=True))


def _failed(agent: str, error: str | None = None, conversation: Conversation = ASK) -> Conversation:
    turn = Turn(Decision("answer", agent), observation=agent, is_answer=True, succeeded=False, error=error)
    return conversation.with_turn(turn)


def test_a_mode_that_does_not_answer_is_worth_what_the_best_answer_after_it_is() -> None:
    # Half of the conversations through search succeeded, but with big afterwards nearly all would.
    assert _choose(_chooser(_book())) == ("search", "library")


def test_a_search_that_seldom_helps_is_not_begun() -> None:
    assert _choose(_chooser(_book(search=(0.0, 20.0)))) == ("answer", "big")


class MarksHeights(Marks):
    """Names the skill `answer.found` only where what was found says a height."""

    mark = "m high"


@pytest.mark.parametrize(
    ("finds", "choice"),
    [
        ([], ("answer", "big")),
        (["The hall is 9 m high."], ("search", "library")),
        (["The hall is red."], ("answer", "big")),
        (["The hall is 9 m high.", "It is 8 m high.", "The hall is red."], ("search", "library")),
    ],
)
def test_what_will_be_found_is_taken_to_be_like_what_was_found_in_the_examples(
    finds: list[str], choice: tuple[str, str]
) -> None:
    book = _book(search=(3.0, 7.0))
    skill = Skill(FOUND, "From passages.", examples=tuple(f"How old?\n[search] {find}" for find in finds))
    book = replace(book, skills={ANSWER: (skill,), SEARCH: ()})
    router = Router(compile_table(book, {}), MarksHeights, RouteOptions())
    assert _choose(RouterChooser(router, read_modes(book))) == choice


def test_once_something_is_found_the_skills_of_the_new_state_decide() -> None:
    decision = _chooser(_book()).choose(_found(), 5)
    assert decision is not None
    assert (decision.mode, decision.agent, decision.skills) == ("answer", "big", {"answer.found": 1.0})


def test_cost_counts_by_lambda() -> None:
    assert _choose(_chooser(_book(search=(0.0, 20.0), cost_weight=20.0))) == ("answer", "small")


def test_the_cost_of_the_answer_after_it_is_counted_for_a_search() -> None:
    # Searching is free, but what is found is worth little without big, who is too dear.
    assert _choose(_chooser(_book(cost_weight=60.0))) == ("answer", "small")


def test_an_agent_that_failed_in_this_conversation_is_less_likely() -> None:
    assert _choose(_chooser(_book(search=(0.0, 20.0))), _failed("big")) == ("answer", "small")


def test_an_agent_that_is_out_of_reach_is_not_asked_again() -> None:
    chooser = _chooser(_book(), agents=("big",))
    assert _choose(chooser, _failed("big", error="timeout")) is None


def test_the_last_turn_is_for_an_answer() -> None:
    assert _choose(_chooser(_book()), left=1) == ("answer", "big")


def test_a_mode_that_found_something_is_done_until_an_answer_is_refused() -> None:
    modes = read_modes(_book())
    assert [mode.id for mode in find_open_modes(ASK, modes, 6)] == ["answer", "search"]
    assert [mode.id for mode in find_open_modes(_found(), modes, 5)] == ["answer"]
    assert [mode.id for mode in find_open_modes(_failed("big", conversation=_found()), modes, 4)] == [
        "answer",
        "search",
    ]


def test_a_search_that_found_nothing_may_be_tried_by_another() -> None:
    nothing = ASK.with_turn(Turn(Decision("search", "library"), observation="nothing", succeeded=False))
    assert [mode.id for mode in find_open_modes(nothing, read_modes(_book()), 5)] == ["answer", "search"]


def test_an_insight_decides_between_modes_of_like_value_where_its_condition_holds() -> None:
    start = (Insight("Start with search.", None, 9, 0.9),)
    modes = read_modes(_book(insights=start))
    shifts = weigh_insights(ASK, modes)
    assert shifts == {"answer": pytest.approx(INSIGHT_WEIGHT * np.log(0.02 / 0.9)), "search": 0.0}
    assert weigh_insights(_found(), modes) == {"answer": 0.0, "search": 0.0}
    assert weigh_insights(ASK, read_modes(_book())) == {"answer": 0.0, "search": 0.0}
    assert _choose(_chooser(_book(search=(2.0, 8.0), insights=start))) == ("search", "library")


def test_a_path_is_taken_whatever_the_values_are() -> None:
    chooser = _chooser(_book(search=(0.0, 20.0)), path=("search", "answer"))
    assert _choose(chooser) == ("search", "library")
    assert _choose(chooser, _found()) == ("answer", "big")
    assert _choose(chooser, _failed("big", conversation=_found())) is None


def test_the_baselines_choose_by_their_own_rule() -> None:
    book = _book(search=(0.0, 20.0))
    assert _choose(_chooser(book, "cheapest")) == ("answer", "small")
    assert _choose(_chooser(book, "strongest")) == ("answer", "big")
    drawn = {_choose(_chooser(book, "random", seed=seed)) for seed in range(30)}
    assert drawn == {("answer", "big"), ("answer", "small"), ("search", "library")}
    assert len({_choose(_chooser(book, "random", seed=3)) for _ in range(5)}) == 1


def test_nobody_who_is_allowed_means_no_decision() -> None:
    assert _choose(_chooser(_book(), agents=("nobody",))) is None


@pytest.mark.parametrize(
    ("needs", "refusal"),
    [
        (Needs(tools=("python",)), ["no agent is left in mode 'answer': all are gated out: 1 by mode, 2 by tools"]),
        (Needs(), []),
    ],
)
def test_a_query_that_nobody_can_answer_is_refused_before_the_first_turn(needs: Needs, refusal: list[str]) -> None:
    chooser, asked = _chooser(_book(search=(20.0, 0.0))), replace(ASK, needs=needs)
    assert [error.message for error in chooser.find_refusal(asked)] == refusal
    assert (chooser.choose(asked, 6) is None) == bool(refusal)


def test_a_path_needs_an_agent_in_each_mode_up_to_the_answer() -> None:
    (error,) = _chooser(_book(), agents=("big",), path=("search", "answer")).find_refusal(ASK)
    assert (error.code, "'search'" in error.message) == ("no_agent", True)
    assert _chooser(_book(), agents=("big",), path=("answer", "search")).find_refusal(ASK) == []


class Named:
    """Names a skill in the mode that answers, and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    def weigh(self, conversation: Conversation, modes: Sequence[str]) -> Weighed:
        self.asked.append((conversation.state_text(), list(modes)))
        return Weighed({"answer": {FOUND: 1.0}}, 0.5)


@pytest.mark.parametrize(
    ("policy", "agents", "modes"),
    [
        ("handbook", (), [["answer", "search"]]),
        ("handbook", ("library", "big"), [["answer", "search"]]),
        ("handbook", ("big",), [["answer"]]),
        ("strongest", (), []),
    ],
)
def test_who_names_skills_is_asked_once_a_turn_about_the_modes_with_agents(
    policy: LoopPolicy, agents: tuple[str, ...], modes: list[list[str]]
) -> None:
    book, named = _book(cost_weight=1.0), Named()
    router = Router(compile_table(book, {}), Marks, RouteOptions())
    chooser = RouterChooser(router, read_modes(book), policy=policy, agents=agents, weigher=named)
    decision = chooser.choose(ASK, 6)
    assert decision is not None
    assert named.asked == [(ASK.text, part) for part in modes]
    if modes:
        assert (decision.agent, dict(decision.skills), decision.cost_usd) == ("big", {FOUND: 1.0}, 0.5)
