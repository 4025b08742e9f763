"""An edit in the words of a language model: other ids, descriptions and indicators, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillctl.core.discover.proposals import keep_telling_indicators
from skillctl.core.discover.skill_writing import MOST_INDICATORS, choose_id
from skillctl.model.handbook import Indicator

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from skillctl.core.discover.proposals import Proposal
    from skillctl.core.refine.refinement import Proposal as Edit
    from skillctl.model.handbook import Skill, SkillId


def reword_edit(
    edit: Edit, words: Sequence[Proposal | None], texts: Sequence[str], taken: Collection[str]
) -> Edit | None:
    """Return the edit with these words for the skills that it makes, or ``None`` where nothing is said of them.

    Args:
        edit: The edit.
        words: For each skill that it makes; what has none keeps its own.
        texts: All queries of the mode: an indicator must stand in some and not in most.
        taken: Ids that must not be used again.
    """
    made = {skill.id: skill for skill in edit.edited if skill.id in edit.made}
    pairs = [(name, said) for name, said in zip(edit.made, words, strict=False) if said is not None]
    if not pairs:
        return None
    telling = keep_telling_indicators([said for _, said in pairs], texts)
    used = {edit.mode, *taken, *(skill.id for skill in edit.edited)}
    reworded: dict[SkillId, Skill] = {}
    for (name, _), said in zip(pairs, telling, strict=True):
        reworded[name] = _reword(made[name], said, choose_id(made[name].parent or edit.mode, said.name, used))
        used.add(reworded[name].id)
    return _put(edit, reworded)


def _reword(skill: Skill, said: Proposal, name: SkillId) -> Skill:
    indicators = dict.fromkeys((*map(Indicator, said.indicators), *skill.indicators))
    return replace(skill, id=name, description=said.description, indicators=tuple(indicators)[:MOST_INDICATORS])


def _put(edit: Edit, reworded: dict[SkillId, Skill]) -> Edit:
    """Return the edit with some of its skills in other words, wherever their ids stand."""
    ids = {name: skill.id for name, skill in reworded.items()}
    skills = [reworded.get(skill.id, skill) for skill in edit.edited]
    moved = [
        skill if skill.parent is None else replace(skill, parent=ids.get(skill.parent, skill.parent))
        for skill in skills
    ]
    return replace(
        edit,
        edited=tuple(sorted(moved, key=lambda skill: skill.id)),
        made=tuple(ids.get(name, name) for name in edit.made),
        adopted={child: ids.get(half, half) for child, half in edit.adopted.items()},
        parts=tuple(replace(part, skill=ids.get(part.skill, part.skill)) for part in edit.parts),
    )
