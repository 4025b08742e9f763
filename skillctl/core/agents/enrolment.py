"""Agents and modes that traces have and a handbook has not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillctl.model.handbook import Agent, AgentId, Handbook, Mode, ModeId

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet


def enrol(handbook: Handbook, seen: Mapping[str, AbstractSet[str]]) -> Handbook:
    """Return the handbook with every agent that was seen, in every mode that it was seen in.

    Args:
        handbook: What is known already; nothing of it is taken away.
        seen: Agents with their modes.
    """
    agents = dict(handbook.agents)
    modes = dict(handbook.modes)
    for name in seen:
        agent = agents.get(AgentId(name), Agent(AgentId(name)))
        extra = sorted(ModeId(mode) for mode in seen[name] - set(agent.modes))
        agents[agent.id] = replace(agent, modes=(*agent.modes, *extra)) if extra else agent
        modes |= {mode: Mode(mode) for mode in extra if mode not in modes}
    skills = {mode: handbook.skills.get(mode, ()) for mode in sorted(modes)}
    return replace(
        handbook,
        agents={agent: agents[agent] for agent in sorted(agents)},
        modes={mode: modes[mode] for mode in sorted(modes)},
        skills=skills,
    )


def explain_unknown(handbook: Handbook, unknown: Mapping[tuple[str, str | None], int]) -> dict[str, int]:
    """Return how many traces were not counted, by the reason in words.

    Args:
        handbook: Where the agents and modes were looked for.
        unknown: Traces by agent and mode, ``None`` for the default mode.
    """
    reasons: dict[str, int] = {}
    for (agent, mode), count in unknown.items():
        reason = _explain(handbook, AgentId(agent), mode)
        reasons[reason] = reasons.get(reason, 0) + count
    return {reason: reasons[reason] for reason in sorted(reasons)}


def _explain(handbook: Handbook, agent: AgentId, mode: str | None) -> str:
    if not handbook.modes:
        return "the handbook has no mode at all"
    mode = handbook.default_mode() if mode is None else mode
    if mode not in handbook.modes:
        return f"the handbook has no mode {mode!r}"
    if agent not in handbook.agents:
        return f"the handbook has no agent {agent!r}"
    return f"agent {agent!r} does not work in mode {mode!r}"
