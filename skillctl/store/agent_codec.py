"""An agent's file as plain data and as model values, both directions side by side."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from skillctl.model.handbook import Agent, AgentId, Capabilities, Competence, CostStats, ModeId, Price, Profile
from skillctl.store.codec import Data, extra_fields, without_nothing

if TYPE_CHECKING:
    from collections.abc import Mapping

_PRICES = tuple(field.name for field in fields(Price))
_COSTS = tuple(field.name for field in fields(CostStats))
_INTEGERS = frozenset({"runs", "context_tokens", *(name for name in _COSTS if name.endswith("_runs"))})


def encode_agent(agent: Agent) -> Data:
    """Return the data of ``agents/<agent>.yaml``."""
    capabilities = agent.capabilities
    return {
        "agent": agent.id,
        **without_nothing(
            {
                "model": agent.model,
                "tools": list(agent.tools),
                "playbook": agent.playbook,
                "modes": list(agent.modes),
            }
        ),
        # A price of which nothing is known is not the same as no word about the price.
        **({} if agent.price is None else {"price": _encode_numbers(agent.price, _PRICES)}),
        **without_nothing(
            {
                "capabilities": _without_none(
                    {
                        "modalities": None if capabilities.modalities is None else list(capabilities.modalities),
                        "context_tokens": capabilities.context_tokens,
                    }
                ),
                "api_base": agent.api_base,
                "api_key_env": agent.api_key_env,
                "params": dict(agent.params),
                "command": list(agent.command),
                "profiles": {mode: _encode_profile(mode, agent.profiles[mode]) for mode in sorted(agent.profiles)},
            }
        ),
        **agent.extra,
    }


def decode_agent(data: Data) -> Agent:
    """Return an agent."""
    profiles = data.get("profiles", {})
    return Agent(
        id=AgentId(data["agent"]),
        model=data.get("model"),
        tools=tuple(data.get("tools", ())),
        playbook=data.get("playbook"),
        modes=tuple(ModeId(mode) for mode in data.get("modes", ())),
        price=_decode_price(data["price"]) if "price" in data else None,
        capabilities=_decode_capabilities(data.get("capabilities", {})),
        api_base=data.get("api_base"),
        api_key_env=data.get("api_key_env"),
        params=data.get("params", {}),
        command=tuple(data.get("command", ())),
        profiles={ModeId(mode): _decode_profile(profiles[mode]) for mode in sorted(profiles)},
        extra=extra_fields(data),
    )


def _encode_profile(mode: ModeId, profile: Profile) -> Data:
    cost = {} if profile.cost == CostStats() else _encode_numbers(profile.cost, _COSTS)
    return {
        "runs": profile.runs,
        **without_nothing(
            {
                "cost": cost,
                "competence": {
                    skill: _encode_competence(profile.competence[skill])
                    for skill in sorted(profile.competence, key=lambda skill: (skill != mode, skill))
                },
                "signals": list(profile.signals),
                "strengths": list(profile.strengths),
                "weaknesses": list(profile.weaknesses),
            }
        ),
        **profile.extra,
    }


def _decode_profile(data: Data) -> Profile:
    cost = data.get("cost", {})
    return Profile(
        runs=data.get("runs", 0),
        cost=CostStats(**{name: cost[name] for name in _COSTS if name in cost}),
        competence={skill: _decode_competence(entry) for skill, entry in data.get("competence", {}).items()},
        signals=tuple(data.get("signals", ())),
        strengths=tuple(data.get("strengths", ())),
        weaknesses=tuple(data.get("weaknesses", ())),
        extra=extra_fields(data),
    )


def _encode_competence(competence: Competence) -> Data:
    return {
        "alpha": float(competence.alpha),
        "beta": float(competence.beta),
        "successes": float(competence.successes),
        "failures": float(competence.failures),
    }


def _decode_competence(data: Data) -> Competence:
    return Competence(data["alpha"], data["beta"], data["successes"], data["failures"])


def _decode_price(data: Data) -> Price:
    return Price(**{name: data.get(name) for name in _PRICES})


def _decode_capabilities(data: Data) -> Capabilities:
    modalities = data.get("modalities")
    return Capabilities(
        modalities=None if modalities is None else tuple(modalities),
        context_tokens=data.get("context_tokens"),
    )


def _encode_numbers(value: object, names: tuple[str, ...]) -> Data:
    numbers = _without_none({name: getattr(value, name) for name in names})
    return {name: int(number) if name in _INTEGERS else float(number) for name, number in numbers.items()}


def _without_none(data: Mapping[str, Any]) -> Data:
    return {key: value for key, value in data.items() if value is not None}
