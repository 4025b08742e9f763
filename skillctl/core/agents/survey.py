"""Who works in which modes, as traces show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillctl.model.handbook import Agent, AgentId, Handbook, Mode, ModeId, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from skillctl.model.trace import Trace

DEFAULT_MODE = "answer"


def survey_agents(traces: Iterable[Trace], default_mode: str) -> dict[str, set[str]]:
    """Return the agents seen, each with the modes that it was seen in; traces without a mode count for the default."""
    seen: dict[str, set[str]] = {}
    for trace in traces:
        seen.setdefault(trace.agent, set()).add(trace.mode or default_mode)
        for step in trace.steps:
            if step.agent is not None:
                seen.setdefault(step.agent, set()).add(step.mode or trace.mode or default_mode)
    return seen


def draft_handbook(name: str, description: str, modes: Sequence[str], seen: dict[str, set[str]]) -> Handbook:
    """Return a handbook without skills.

    Args:
        name: For people.
        description: For people.
        modes: At least those asked for; the first is the default. Without any, the modes of the agents do.
        seen: Agents with their modes.
    """
    everywhere = {mode for its_modes in seen.values() for mode in its_modes}
    names = sorted({*modes, *everywhere} or {DEFAULT_MODE})
    default = modes[0] if modes else DEFAULT_MODE if DEFAULT_MODE in names else names[0]
    return Handbook(
        name=name,
        description=description,
        settings=Settings(default_mode=ModeId(default)),
        modes={ModeId(mode): Mode(ModeId(mode)) for mode in names},
        skills={ModeId(mode): () for mode in names},
        agents={
            AgentId(agent): Agent(AgentId(agent), modes=tuple(ModeId(mode) for mode in sorted(seen[agent])))
            for agent in sorted(seen)
        },
    )
