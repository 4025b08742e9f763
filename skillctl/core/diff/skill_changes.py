"""What happened to the skills of a mode: added, removed, moved, reworded, split, merged."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from skillctl.model.handbook import Handbook, ModeId, Skill

SkillEvent = Literal["split", "merged", "added", "removed", "moved", "reworded"]
_WORDING = ("description", "indicators", "examples")


class SkillChange(NamedTuple):
    """One change in the tree of skills.

    Attributes:
        event: What happened.
        mode: Id of the mode.
        skills: Ids of the skills that it is about: what a skill was split into, what skills were merged into.
        sources: What they came from: the skill that was split, the skills that were merged.
        before: The old parent of a moved skill, the old description of a reworded one.
        after: The new one; the description of an added skill.
        fields: What was reworded, of description, indicators and examples.
    """

    event: SkillEvent
    mode: str
    skills: tuple[str, ...]
    sources: tuple[str, ...] = ()
    before: str | None = None
    after: str | None = None
    fields: tuple[str, ...] = ()


def find_skill_changes(before: Handbook, after: Handbook) -> list[SkillChange]:
    """Return the changes in the skills of all modes that both handbooks have or one of them has."""
    modes = sorted(before.skills.keys() | after.skills.keys())
    return [
        change
        for mode in modes
        for change in _find_in_mode(mode, before.skills.get(mode, ()), after.skills.get(mode, ()))
    ]


def _find_in_mode(mode: ModeId, before: Sequence[Skill], after: Sequence[Skill]) -> Iterable[SkillChange]:
    old: dict[str, Skill] = {skill.id: skill for skill in before}
    new: dict[str, Skill] = {skill.id: skill for skill in after}
    added = {name: new[name] for name in sorted(new.keys() - old.keys())}
    removed = sorted(old.keys() - new.keys())
    explained: set[str] = set()
    for change in (*_find_merges(mode, added, removed), *_find_splits(mode, added, old)):
        if not explained & set(change.skills):
            explained |= {*change.skills, *change.sources}
            yield change
    for name, skill in added.items():
        if name not in explained:
            sources = skill.origin.source_skills if skill.origin else ()
            yield SkillChange("added", mode, (name,), sources=sources, after=skill.description)
    for name in removed:
        if name not in explained:
            yield SkillChange("removed", mode, (name,), before=old[name].description)
    for name in sorted(old.keys() & new.keys()):
        yield from _compare(mode, old[name], new[name])


def _find_merges(mode: str, added: Mapping[str, Skill], removed: Sequence[str]) -> Iterable[SkillChange]:
    """A new skill that names two or more sources of which at least one is gone is a merger."""
    for name, skill in added.items():
        sources = skill.origin.source_skills if skill.origin else ()
        if len(sources) > 1 and set(sources) & set(removed):
            yield SkillChange("merged", mode, (name,), sources=tuple(sorted(sources)), after=skill.description)


def _find_splits(mode: str, added: Mapping[str, Skill], old: Mapping[str, Skill]) -> Iterable[SkillChange]:
    """New skills that name one and the same old skill as their only source are its parts."""
    parts: defaultdict[str, list[str]] = defaultdict(list)
    for name, skill in added.items():
        sources = skill.origin.source_skills if skill.origin else ()
        if len(sources) == 1 and sources[0] in old:
            parts[sources[0]].append(name)
    for source, names in sorted(parts.items()):
        origins = [added[name].origin for name in names]
        if len(names) > 1 or any(origin and origin.how.startswith("split") for origin in origins):
            yield SkillChange("split", mode, tuple(names), sources=(source,))


def _compare(mode: str, old: Skill, new: Skill) -> Iterable[SkillChange]:
    if old.parent != new.parent:
        yield SkillChange("moved", mode, (new.id,), before=old.parent, after=new.parent)
    fields = tuple(name for name in _WORDING if getattr(old, name) != getattr(new, name))
    if fields:
        yield SkillChange("reworded", mode, (new.id,), before=old.description, after=new.description, fields=fields)
