from __future__ import annotations

from skillctl.core.agents.enrolment import enrol, explain_unknown
from skillctl.model.handbook import Agent, AgentId, Handbook, Mode, ModeId

_ANSWER = ModeId("answer")
_HANDBOOK = Handbook(
    "h",
    modes={_ANSWER: Mode(_ANSWER, "kept")},
    skills={_ANSWER: ()},
    agents={AgentId("m"): Agent(AgentId("m"), model="kept", modes=(_ANSWER,))},
)


def test_what_was_seen_is_added_and_nothing_is_taken_away() -> None:
    grown = enrol(_HANDBOOK, {"m": {"code", "answer"}, "a": {"code"}})
    assert {agent.id: (agent.model, agent.modes) for agent in grown.agents.values()} == {
        "a": (None, ("code",)),
        "m": ("kept", ("answer", "code")),
    }
    assert [(mode.id, mode.description) for mode in grown.modes.values()] == [("answer", "kept"), ("code", "")]
    assert list(grown.agents) == ["a", "m"]


def test_seeing_what_is_known_changes_nothing() -> None:
    assert enrol(_HANDBOOK, {"m": {"answer"}}) == _HANDBOOK


def test_each_reason_is_said_once_with_its_count() -> None:
    both = enrol(_HANDBOOK, {"a": {"code"}})
    unknown = {("x", None): 2, ("x", "answer"): 1, ("m", "nope"): 3, ("a", "answer"): 4}
    assert explain_unknown(both, unknown) == {
        "agent 'a' does not work in mode 'answer'": 4,
        "the handbook has no agent 'x'": 3,
        "the handbook has no mode 'nope'": 3,
    }


def test_a_handbook_without_modes_says_so() -> None:
    assert explain_unknown(Handbook("h"), {("a", None): 1, ("a", "m"): 1}) == {"the handbook has no mode at all": 2}
