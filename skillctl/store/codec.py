"""Documents of a handbook as plain data and as model values, both directions side by side.

Decoding expects data that was checked; encoding leaves out what is unknown, empty or default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from skillctl.model.handbook import (
    SCHEMA_VERSION,
    Action,
    EvidenceSource,
    Handbook,
    Indicator,
    Insight,
    Mode,
    ModeId,
    OrchestratorSettings,
    Origin,
    Playbook,
    PlaybookId,
    Refined,
    Settings,
    Skill,
    SkillId,
)

Data = dict[str, Any]


def extra_fields(data: Mapping[str, Any]) -> Data:
    """Return the hand-written fields."""
    return {key: value for key, value in data.items() if key.startswith("x-")}


def without_nothing(data: Mapping[str, Any]) -> Data:
    """Return the fields that say something: neither ``None`` nor empty."""
    return {key: value for key, value in data.items() if value is not None and value not in ("", [], {})}


def encode_handbook_file(handbook: Handbook) -> Data:
    """Return the data of ``handbook.yaml``."""
    return {
        "schema_version": SCHEMA_VERSION,
        "name": handbook.name,
        **without_nothing({"description": handbook.description}),
        "settings": encode_settings(handbook.settings),
        **without_nothing(
            {
                "evidence": [without_nothing(asdict(source)) for source in handbook.evidence],
                "refined": [without_nothing(asdict(entry)) for entry in handbook.refined],
            }
        ),
        **handbook.extra,
    }


def decode_handbook_file(data: Data) -> Handbook:
    """Return a handbook that has what ``handbook.yaml`` says, and no modes and agents yet."""
    return Handbook(
        name=data["name"],
        description=data.get("description", ""),
        settings=decode_settings(data.get("settings", {})),
        evidence=tuple(EvidenceSource(**_known(source)) for source in data.get("evidence", ())),
        refined=tuple(Refined(**_known(entry)) for entry in data.get("refined", ())),
        extra=extra_fields(data),
    )


def encode_settings(settings: Settings) -> Data:
    """Return the data of the settings."""
    return {
        **without_nothing({"default_mode": settings.default_mode}),
        "lambda": float(settings.cost_weight),
        **without_nothing(
            {
                "half_life": settings.half_life,
                "prior_strength": settings.prior_strength,
                "orchestrator": without_nothing(asdict(settings.orchestrator)),
            }
        ),
        **settings.extra,
    }


def decode_settings(data: Data) -> Settings:
    """Return the settings."""
    return Settings(
        default_mode=data.get("default_mode"),
        cost_weight=data.get("lambda", 0.0),
        half_life=data.get("half_life"),
        prior_strength=data.get("prior_strength"),
        orchestrator=OrchestratorSettings(**_known(data.get("orchestrator", {}))),
        extra=extra_fields(data),
    )


def encode_mode(mode: Mode) -> Data:
    """Return the data of ``modes/<mode>.yaml``."""
    return {
        "mode": mode.id,
        **without_nothing(
            {
                "description": mode.description,
                "action": _encode_action(mode.action) if mode.action else None,
                "playbook": mode.playbook,
                "insights": [without_nothing(asdict(insight)) for insight in mode.insights],
            }
        ),
        **mode.extra,
    }


def decode_mode(data: Data) -> Mode:
    """Return a mode."""
    return Mode(
        id=ModeId(data["mode"]),
        description=data.get("description", ""),
        action=_decode_action(data["action"]) if "action" in data else None,
        playbook=data.get("playbook"),
        insights=tuple(Insight(**_known(insight)) for insight in data.get("insights", ())),
        extra=extra_fields(data),
    )


def _encode_action(action: Action) -> Data:
    return without_nothing({**asdict(action), "command": list(action.command)})


def _decode_action(data: Data) -> Action:
    known = _known(data)
    return Action(**{**known, "command": tuple(known.get("command", ()))})


def encode_playbook(playbook: Playbook) -> Data:
    """Return the data of ``playbooks/<playbook>.yaml``."""
    return {
        "playbook": playbook.id,
        **without_nothing(
            {
                "description": playbook.description,
                "instructions": playbook.instructions,
                "input": playbook.input,
                "tools": list(playbook.tools),
            }
        ),
        **playbook.extra,
    }


def decode_playbook(data: Data) -> Playbook:
    """Return a playbook."""
    return Playbook(
        id=PlaybookId(data["playbook"]),
        description=data.get("description", ""),
        instructions=data.get("instructions", ""),
        input=data.get("input", ""),
        tools=tuple(data.get("tools", ())),
        extra=extra_fields(data),
    )


def encode_skills(mode: ModeId, skills: tuple[Skill, ...]) -> Data:
    """Return the data of ``skills/<mode>.yaml``."""
    return {"mode": mode, "skills": [_encode_skill(skill) for skill in sorted(skills, key=lambda skill: skill.id)]}


def decode_skills(data: Data) -> tuple[Skill, ...]:
    """Return the skills of a mode in order of id."""
    return tuple(sorted((_decode_skill(skill) for skill in data["skills"]), key=lambda skill: skill.id))


def _encode_skill(skill: Skill) -> Data:
    return {
        "id": skill.id,
        **without_nothing({"parent": skill.parent}),
        "description": skill.description,
        **without_nothing(
            {
                "indicators": [{"regex": sign.text} if sign.is_regex else sign.text for sign in skill.indicators],
                "examples": list(skill.examples),
                "playbook": skill.playbook,
                "origin": _encode_origin(skill.origin) if skill.origin else None,
            }
        ),
        **skill.extra,
    }


def _decode_skill(data: Data) -> Skill:
    return Skill(
        id=SkillId(data["id"]),
        parent=data.get("parent"),
        description=data["description"],
        indicators=tuple(_decode_indicator(indicator) for indicator in data.get("indicators", ())),
        examples=tuple(data.get("examples", ())),
        playbook=data.get("playbook"),
        origin=_decode_origin(data["origin"]) if "origin" in data else None,
        extra=extra_fields(data),
    )


def _decode_indicator(data: str | Data) -> Indicator:
    return Indicator(data) if isinstance(data, str) else Indicator(data["regex"], is_regex=True)


def _encode_origin(origin: Origin) -> Data:
    return {
        "how": origin.how,
        **without_nothing({"from": list(origin.source_skills), "queries": list(origin.queries)}),
    }


def _decode_origin(data: Data) -> Origin:
    return Origin(
        how=data["how"],
        source_skills=tuple(SkillId(skill) for skill in data.get("from", ())),
        queries=tuple(data.get("queries", ())),
    )


def _known(data: Data) -> Data:
    return {key: value for key, value in data.items() if not key.startswith("x-")}
