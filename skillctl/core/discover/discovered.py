"""What discovery found becomes part of a handbook; what people wrote by hand stays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillctl.core.discover.weighing import number_tree, spread_out
from skillctl.core.profile.pair_layout import ADDED, MERGED, SPLIT
from skillctl.core.profile.skill_tree import build_tree, credit_outcomes, tree_posteriors
from skillctl.core.profile.wording import Wording, replace_made, word_profiles
from skillctl.model.handbook import Agent, AgentId, Handbook, Insight, Mode, ModeId, Profile, find_ancestors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillctl.core.discover.skill_discovery import Discovery
    from skillctl.core.orchestrate.orchestration import SkillWeights
    from skillctl.core.outcomes import Outcomes
    from skillctl.model.handbook import Skill

DISCOVERED = "discovered"
DEFAULT_STRENGTH = 6.0
_REFINED = frozenset({SPLIT, ADDED, MERGED})
_FOUND = _REFINED | {DISCOVERED}


def is_written(skill: Skill) -> bool:
    """Tell whether people had a hand in a skill: it was neither discovered, nor made by refinement of what was."""
    return skill.origin is None or skill.origin.how not in _FOUND


def keep_written(handbook: Handbook, mode: ModeId) -> tuple[Skill, ...]:
    """Return the mode's skills without those that an earlier discovery made, or refinement of these.

    What refinement made of a skill that people wrote stays with it.
    """
    skills = handbook.skills.get(mode, ())
    ancestors = find_ancestors(skills)
    written = {skill.id for skill in skills if is_written(skill)}
    kept = set(written)
    for skill in skills:
        is_part = skill.origin is not None and skill.origin.how in _REFINED
        if is_part and not written.isdisjoint(ancestors[skill.id]):
            kept.add(skill.id)
    # What is above a skill that stays does, too.
    kept.update(above for skill in tuple(kept) for above in ancestors[skill])
    return tuple(skill for skill in skills if skill.id in kept)


def replace_skills(handbook: Handbook, found: Mapping[ModeId, Discovery]) -> Handbook:
    """Return the handbook with the skills found in each mode in the place of those found before.

    A mode in which nothing was found keeps its skills: a log may be too small to tell. Competence in skills that are
    gone goes with them; settings take the numbers of the mode with the largest gain.
    """
    skills = dict(handbook.skills)
    for mode, discovery in ((mode, discovery) for mode, discovery in found.items() if discovery.skills):
        both = (*keep_written(handbook, mode), *discovery.skills)
        skills[mode] = tuple(sorted(both, key=lambda skill: skill.id))
    after = replace(handbook, skills={mode: skills[mode] for mode in sorted(skills)})
    after = replace(after, agents={agent: _drop_competence(after, value) for agent, value in after.agents.items()})
    calibrations = [discovery.calibration for discovery in found.values() if discovery.skills]
    if not calibrations:
        return after
    best = max(filter(None, calibrations), key=lambda calibration: calibration.gain)
    numbers = replace(after.settings.orchestrator, temperature=best.temperature)
    return replace(after, settings=replace(after.settings, orchestrator=numbers, prior_strength=best.kappa))


def add_insights(handbook: Handbook, insights: Mapping[ModeId, tuple[Insight, ...]]) -> Handbook:
    """Return the handbook with these insights in the place of those with support; modes that it lacks are added."""
    modes = dict(handbook.modes)
    for mode, old in handbook.modes.items():
        written = tuple(insight for insight in old.insights if insight.support is None)
        modes[mode] = replace(old, insights=(*written, *insights.get(mode, ())))
    for mode in insights:
        modes.setdefault(mode, Mode(mode, insights=insights[mode]))
    skills = {mode: handbook.skills.get(mode, ()) for mode in sorted(modes)}
    return replace(handbook, modes={mode: modes[mode] for mode in sorted(modes)}, skills=skills)


def word_agents(handbook: Handbook, mode: ModeId, outcomes: Outcomes, weights: SkillWeights) -> Handbook:
    """Return the handbook with each agent's strengths, weaknesses and signals in a mode, as the outcomes say.

    Args:
        handbook: With its skills as they will be.
        mode: The mode.
        outcomes: Of the mode.
        weights: Of its skills for each query.
    """
    skills = handbook.skills[mode]
    tree = build_tree(number_tree(skills))
    wins, losses = credit_outcomes(tree, outcomes.success, spread_out(weights, len(skills)))
    strength = handbook.settings.prior_strength or DEFAULT_STRENGTH
    alpha, beta = tree_posteriors(tree, wins, losses, strength)
    names = [skill.id for skill in skills]
    words = word_profiles(outcomes.agents, names, alpha[:, 1:], beta[:, 1:], (wins + losses)[:, 1:])
    agents = {
        name: _with_words(agent, mode, words[name]) if name in words else agent
        for name, agent in handbook.agents.items()
    }
    return replace(handbook, agents=agents)


def _with_words(agent: Agent, mode: ModeId, words: Wording) -> Agent:
    old = agent.profiles.get(mode, Profile())
    new = replace(
        old,
        signals=replace_made(old.signals, words.signals),
        strengths=replace_made(old.strengths, words.strengths),
        weaknesses=replace_made(old.weaknesses, words.weaknesses),
    )
    profiles = {**agent.profiles, mode: new} if new != Profile() else agent.profiles
    return replace(agent, profiles={key: profiles[key] for key in sorted(profiles)})


def _drop_competence(handbook: Handbook, agent: Agent) -> Agent:
    profiles = {}
    for mode, profile in agent.profiles.items():
        names = {str(mode), *(str(skill.id) for skill in handbook.skills.get(mode, ()))}
        kept = {key: value for key, value in profile.competence.items() if key in names}
        profiles[mode] = replace(profile, competence=kept) if len(kept) < len(profile.competence) else profile
    return replace(agent, profiles=profiles)


def known_agents(handbook: Handbook, mode: ModeId) -> frozenset[AgentId]:
    """Return the agents that work in a mode."""
    return frozenset(agent.id for agent in handbook.agents.values() if mode in agent.modes)
