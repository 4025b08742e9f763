"""Whether a trace is a conversation that the loop could have had: known names, one final answer, within limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillctl.model.handbook import Handbook
    from skillctl.model.trace import Step, Trace


class Breach(NamedTuple):
    """A rule that a trace breaks: the JSON path, and the rule in words."""

    path: str
    message: str


class ProtocolChecker:
    """Checks traces against a handbook.

    Args:
        handbook: Whose modes, agents and skills may be named.
        max_turns: How many steps a trajectory may have, outside failures apart; ``None`` for any number.
    """

    def __init__(self, handbook: Handbook, *, max_turns: int | None = None) -> None:
        self._modes = {str(mode): handbook.modes[mode] for mode in handbook.modes}
        self._agents = {str(name): agent for name, agent in handbook.agents.items()}
        self._skills = {str(mode): {str(skill.id) for skill in skills} for mode, skills in handbook.skills.items()}
        self._default = handbook.default_mode() if handbook.modes else None
        self._max_turns = max_turns

    def find_breaches(self, trace: Trace) -> list[Breach]:
        """Return all rules that a trace breaks, in order of its parts."""
        breaches = list(self._check_place("$", trace.agent, trace.mode or self._default))
        breaches += self._check_skills("$.skills", trace.skills, trace.mode or self._default)
        for index, step in enumerate(trace.steps):
            breaches += self._check_step(f"$.steps[{index}]", step)
        return breaches + (list(self._check_course(trace)) if trace.steps else [])

    def _check_step(self, path: str, step: Step) -> Iterator[Breach]:
        if step.mode is None:
            yield Breach(path, "the step names no mode")
        if step.agent is None:
            yield Breach(path, "the step names no agent")
        if step.mode is not None and step.agent is not None:
            yield from self._check_place(path, step.agent, step.mode)
        yield from self._check_skills(f"{path}.skills", step.skills, step.mode)

    def _check_place(self, path: str, agent: str, mode: str | None) -> Iterator[Breach]:
        if mode not in self._modes:
            yield Breach(f"{path}.mode", f"the handbook has no mode {mode!r}")
        known = self._agents.get(agent)
        if known is None:
            yield Breach(f"{path}.agent", f"the handbook has no agent {agent!r}")
        elif mode in self._modes and mode not in known.modes and mode not in known.profiles:
            yield Breach(f"{path}.agent", f"agent {agent!r} does not work in mode {mode!r}")

    def _check_skills(self, path: str, skills: object, mode: str | None) -> Iterator[Breach]:
        for skill in skills if isinstance(skills, dict) else ():
            if mode is not None and skill != mode and skill not in self._skills.get(mode, ()):
                yield Breach(path, f"the mode {mode!r} has no skill {skill!r}")

    def _check_course(self, trace: Trace) -> Iterator[Breach]:
        ran = [(index, step) for index, step in enumerate(trace.steps) if step.error is None]
        if self._max_turns is not None and len(ran) > self._max_turns:
            yield Breach("$.steps", f"{len(ran)} steps are more than the limit of {self._max_turns}")
        finals = [index for index, step in ran if self._ends(step) and step.success is not False]
        if trace.answer is not None and not any(self._ends(step) for _, step in ran):
            yield Breach("$.answer", "there is an answer, but no step in a mode that gives one")
        for index in finals[:-1]:
            yield Breach(f"$.steps[{index}]", "the conversation went on after a final answer")
        if finals and ran and finals[-1] != ran[-1][0]:
            yield Breach(f"$.steps[{finals[-1]}]", "the conversation went on after its final answer")
        if trace.answer is None and trace.success and trace.error is None:
            yield Breach("$.answer", "it succeeded without an answer")

    def _ends(self, step: Step) -> bool:
        mode = self._modes.get(step.mode or "")
        return mode is not None and (mode.action is None or mode.action.ends)
