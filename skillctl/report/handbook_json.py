"""A handbook as JSON for scripts."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from skillctl.core.profile.standing import find_playbooks
from skillctl.model.handbook import Action

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillctl.core.profile.standing import Belief, Scope
    from skillctl.model.handbook import Agent, Handbook, Mode, Playbook, Profile, Skill


def render_handbook_json(handbook: Handbook, beliefs: Sequence[Belief], scope: Scope) -> str:
    """Return the part of a handbook that is in scope, in the shape of ``show.schema.json``."""
    return json.dumps(
        {
            "name": handbook.name,
            "description": handbook.description,
            "default_mode": handbook.default_mode() if handbook.modes else None,
            "lambda": handbook.settings.cost_weight,
            "modes": [_mode(mode) for mode in handbook.modes.values() if scope.has_mode(mode.id)],
            "skills": [
                _skill(mode, skill)
                for mode, skills in handbook.skills.items()
                for skill in skills
                if scope.has_mode(mode) and scope.has_skill(skill.id)
            ],
            "agents": [_agent(agent, scope) for agent in scope.agents_of(handbook)],
            "playbooks": [_playbook(playbook) for playbook in find_playbooks(handbook, scope)],
            "competence": [belief._asdict() for belief in beliefs],
        },
        ensure_ascii=False,
        indent=2,
        allow_nan=False,
    )


def _mode(mode: Mode) -> dict[str, Any]:
    return {
        "mode": mode.id,
        "description": mode.description,
        "action": _action(mode.action or Action("answer")),
        "playbook": mode.playbook,
        "insights": [
            {
                "text": insight.text,
                "after": insight.after,
                "support": insight.support,
                "confidence": insight.confidence,
            }
            for insight in mode.insights
        ],
    }


def _action(action: Action) -> dict[str, Any]:
    return {**asdict(action), "is_final": action.ends, "command": list(action.command)}


def _playbook(playbook: Playbook) -> dict[str, Any]:
    return {
        "playbook": playbook.id,
        "description": playbook.description,
        "instructions": playbook.instructions,
        "input": playbook.input,
        "tools": list(playbook.tools),
    }


def _skill(mode: str, skill: Skill) -> dict[str, Any]:
    origin = skill.origin
    return {
        "mode": mode,
        "skill": skill.id,
        "parent": skill.parent,
        "description": skill.description,
        "playbook": skill.playbook,
        "indicators": [{"regex": sign.text} if sign.is_regex else sign.text for sign in skill.indicators],
        "examples": list(skill.examples),
        "origin": origin and {"how": origin.how, "from": list(origin.source_skills), "queries": list(origin.queries)},
    }


def _agent(agent: Agent, scope: Scope) -> dict[str, Any]:
    price = agent.price
    return {
        "agent": agent.id,
        "model": agent.model,
        "command": list(agent.command),
        "tools": list(agent.tools),
        "playbook": agent.playbook,
        "modes": list(agent.modes),
        "price": price
        and {
            "prompt_usd_per_mtok": price.prompt_usd_per_mtok,
            "completion_usd_per_mtok": price.completion_usd_per_mtok,
            "cached_usd_per_mtok": price.cached_usd_per_mtok,
        },
        "profiles": [_profile(mode, profile) for mode, profile in agent.profiles.items() if scope.has_mode(mode)],
    }


def _profile(mode: str, profile: Profile) -> dict[str, Any]:
    return {
        "mode": mode,
        "runs": profile.runs,
        "mean_cost_usd": profile.cost.mean_usd,
        "runs_with_cost": profile.cost.runs,
        "signals": list(profile.signals),
        "strengths": list(profile.strengths),
        "weaknesses": list(profile.weaknesses),
    }
