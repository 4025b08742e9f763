from __future__ import annotations

from skillctl.core.agents.survey import draft_handbook, survey_agents
from skillctl.model.trace import Step, Trace


def _trace(agent: str, mode: str | None = None, steps: tuple[Step, ...] = ()) -> Trace:
    return Trace("t", "q", "text", agent, mode=mode, steps=steps)


def test_agents_are_listed_with_the_modes_that_they_were_seen_in() -> None:
    steps = (Step(mode="search", agent="s"), Step(agent="t"), Step(mode="code"))
    seen = survey_agents([_trace("a", "code", steps), _trace("a"), _trace("b", "code")], "answer")
    assert seen == {"a": {"code", "answer"}, "b": {"code"}, "s": {"search"}, "t": {"code"}}


def test_without_modes_there_is_one_to_answer_in() -> None:
    handbook = draft_handbook("h", "", [], {})
    assert (list(handbook.modes), handbook.settings.default_mode) == (["answer"], "answer")


def test_the_first_mode_asked_for_is_the_default_even_if_not_seen() -> None:
    handbook = draft_handbook("h", "", ["z", "b"], {"a": {"c"}})
    assert (list(handbook.modes), handbook.settings.default_mode) == (["b", "c", "z"], "z")
