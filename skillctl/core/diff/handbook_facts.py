"""A handbook as a flat table of facts, each under its path of ids: what differences and merges work on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from skillctl.model.handbook import (
    Agent,
    AgentId,
    Handbook,
    Mode,
    ModeId,
    Playbook,
    PlaybookId,
    Profile,
    Settings,
    Skill,
    SkillId,
)

Path = tuple[str, ...]
Facts = dict[Path, Any]


class Absent:
    """The value of a fact that is not there; ``None`` is a value of its own."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return its name."""
        return "ABSENT"


ABSENT: Final = Absent()

_TABLES = frozenset({"settings", "modes", "skills", "agents", "playbooks"})
_ROOT_FIELDS = tuple(field.name for field in fields(Handbook) if field.name not in _TABLES)
_SETTINGS_FIELDS = tuple(field.name for field in fields(Settings))
_MODE_FIELDS = tuple(field.name for field in fields(Mode) if field.name != "id")
_SKILL_FIELDS = tuple(field.name for field in fields(Skill) if field.name != "id")
_PLAYBOOK_FIELDS = tuple(field.name for field in fields(Playbook) if field.name != "id")
_AGENT_FIELDS = tuple(field.name for field in fields(Agent) if field.name not in {"id", "profiles"})
_PROFILE_FIELDS = tuple(field.name for field in fields(Profile) if field.name != "competence")
_AGENT_DEPTH, _PROFILE_DEPTH, _COMPETENCE_DEPTH = 3, 5, 6


def list_facts(handbook: Handbook) -> Facts:
    """Return all facts of a handbook.

    Paths are ``(name)``, ``(settings, field)``, ``(modes, mode, field)``, ``(playbooks, playbook,
    field)``, ``(skills, mode, skill, field)``,
    ``(agents, agent, field)``, ``(agents, agent, profiles, mode, field)`` and
    ``(agents, agent, profiles, mode, competence, skill)``.
    """
    facts: Facts = {(name,): getattr(handbook, name) for name in _ROOT_FIELDS}
    facts |= {("settings", name): getattr(handbook.settings, name) for name in _SETTINGS_FIELDS}
    for mode in handbook.modes.values():
        facts |= {("modes", mode.id, name): getattr(mode, name) for name in _MODE_FIELDS}
    for mode_id, skills in handbook.skills.items():
        for skill in skills:
            facts |= {("skills", mode_id, skill.id, name): getattr(skill, name) for name in _SKILL_FIELDS}
    for playbook in handbook.playbooks.values():
        facts |= {("playbooks", playbook.id, name): getattr(playbook, name) for name in _PLAYBOOK_FIELDS}
    for agent in handbook.agents.values():
        facts |= list_agent_facts(agent)
    return facts


def list_agent_facts(agent: Agent) -> Facts:
    """Return the facts of one agent, under the paths that they have in a handbook."""
    facts: Facts = {("agents", agent.id, name): getattr(agent, name) for name in _AGENT_FIELDS}
    for mode, profile in agent.profiles.items():
        place = ("agents", agent.id, "profiles", mode)
        facts |= {(*place, name): getattr(profile, name) for name in _PROFILE_FIELDS}
        facts |= {(*place, "competence", skill): entry for skill, entry in profile.competence.items()}
    return facts


def build_from_facts(facts: Mapping[Path, Any]) -> Handbook:
    """Return the handbook that has these facts, the inverse of `list_facts`."""
    modes: defaultdict[str, Facts] = defaultdict(dict)
    playbooks: defaultdict[str, Facts] = defaultdict(dict)
    skills: defaultdict[str, defaultdict[str, Facts]] = defaultdict(lambda: defaultdict(dict))
    agents: defaultdict[str, Facts] = defaultdict(dict)
    for path, value in facts.items():
        if path[0] == "modes":
            modes[path[1]][path[2:]] = value
        elif path[0] == "playbooks":
            playbooks[path[1]][path[2:]] = value
        elif path[0] == "skills":
            skills[path[1]][path[2]][path[3:]] = value
        elif path[0] == "agents":
            agents[path[1]][path[2:]] = value
    return Handbook(
        **{name: facts[name,] for name in _ROOT_FIELDS},
        settings=Settings(**{name: facts["settings", name] for name in _SETTINGS_FIELDS}),
        modes={ModeId(mode): Mode(ModeId(mode), **_named(modes[mode])) for mode in sorted(modes)},
        skills={
            ModeId(mode): tuple(Skill(SkillId(skill), **_named(skills[mode][skill])) for skill in sorted(skills[mode]))
            for mode in sorted({*modes, *skills})
        },
        playbooks={
            PlaybookId(name): Playbook(PlaybookId(name), **_named(playbooks[name])) for name in sorted(playbooks)
        },
        agents={AgentId(agent): _build_agent(agent, agents[agent]) for agent in sorted(agents)},
    )


def _named(facts: Facts) -> dict[str, Any]:
    return {path[0]: value for path, value in facts.items()}


def _build_agent(agent: str, facts: Facts) -> Agent:
    own: dict[str, Any] = {}
    profiles: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    competences: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for path, value in facts.items():
        if len(path) == 1:
            own[path[0]] = value
        elif path[2] == "competence":
            competences[path[1]][path[3]] = value
        else:
            profiles[path[1]][path[2]] = value
    return Agent(
        AgentId(agent),
        **own,
        profiles={
            ModeId(mode): Profile(**profiles[mode], competence=_ordered(mode, competences[mode]))
            for mode in sorted(profiles)
        },
    )


def _ordered(mode: str, entries: dict[str, Any]) -> dict[str, Any]:
    return {skill: entries[skill] for skill in sorted(entries, key=lambda skill: (skill != mode, skill))}


def owner_of(path: Path) -> Path:
    """Return the path of the thing that a fact is about: it comes and goes as a whole.

    A mode, a playbook, a skill, an agent, or an agent's profile in one mode; the root, ``()``, always exists.
    """
    if path[0] in {"modes", "playbooks"}:
        return path[:2]
    if path[0] == "skills":
        return path[:3]
    if path[0] != "agents":
        return ()
    return path[:2] if len(path) == _AGENT_DEPTH else path[:4]


def is_competence(path: Path) -> bool:
    """Tell whether a fact is a competence."""
    return len(path) == _COMPETENCE_DEPTH


def is_of_profile(path: Path) -> bool:
    """Tell whether a fact is part of an agent's profile."""
    return path[0] == "agents" and len(path) >= _PROFILE_DEPTH
