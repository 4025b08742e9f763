"""A handbook as tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillctl.core.profile.standing import Scope, find_playbooks
from skillctl.report.cells import (
    UNKNOWN,
    show_count,
    show_heading,
    show_id,
    show_ids,
    show_list,
    show_table,
    show_text,
    show_usd,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillctl.core.profile.standing import Belief
    from skillctl.model.handbook import Action, Agent, Handbook, Price, Skill

_PRIOR_ONLY = "prior only"
_PLAYBOOK = "playbook"


def render_handbook(handbook: Handbook, beliefs: Sequence[Belief], scope: Scope, *, markdown: bool) -> str:
    """Return the tables of the part of a handbook that is in scope."""
    sections = [
        _title(handbook, markdown=markdown),
        _modes(handbook, scope, markdown=markdown),
        *_skill_trees(handbook, scope, markdown=markdown),
        _agents(handbook, scope, markdown=markdown),
        _playbooks(handbook, scope, markdown=markdown),
        *_competences(beliefs, markdown=markdown),
        *_mode_details(handbook, scope, markdown=markdown),
        *_skill_details(handbook, scope, markdown=markdown),
        *_agent_details(handbook, scope, markdown=markdown),
        *_playbook_details(handbook, scope, markdown=markdown),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _title(handbook: Handbook, *, markdown: bool) -> str:
    name = f"# {show_id(handbook.name)}" if markdown else show_id(handbook.name)
    about = show_text(handbook.description, width=200)
    mode = show_id(handbook.default_mode()) if handbook.modes else "none"
    settings = f"default mode {mode}, lambda {handbook.settings.cost_weight:g}"
    return "\n\n".join([name, *([about] if about else []), settings])


def _modes(handbook: Handbook, scope: Scope, *, markdown: bool) -> str:
    rows = [
        [
            show_id(mode.id),
            describe_action(mode.action),
            show_id(mode.playbook or ""),
            str(len(handbook.skills.get(mode.id, ()))),
            str(sum(mode.id in agent.modes for agent in handbook.agents.values())),
            str(len(mode.insights)),
            show_text(mode.description),
        ]
        for mode in handbook.modes.values()
        if scope.has_mode(mode.id)
    ]
    headers = ["mode", "action", _PLAYBOOK, "skills", "agents", "insights", "description"]
    return _section("Modes", headers, rows, markdown=markdown)


def describe_action(action: Action | None) -> str:
    """Return what a mode is bound to in a few words; without an action it answers."""
    if action is None or action.kind == "answer":
        return "answer" if action is None or action.ends else "answer, not final"
    target = action.corpus or action.url or " ".join(action.command)
    limits = [
        f"{action.results} results" if action.results is not None else "",
        f"{action.timeout_s:g} s" if action.timeout_s is not None else "",
        f"{action.memory_mb} MB" if action.memory_mb is not None else "",
    ]
    parts = [f"{action.kind} {show_id(target)}".rstrip(), "final" if action.ends else "", *limits]
    return ", ".join(filter(None, parts))


def _skill_trees(handbook: Handbook, scope: Scope, *, markdown: bool) -> Iterator[str]:
    for mode, skills in handbook.skills.items():
        rows = [
            ["· " * depth + show_id(skill.id), show_id(skill.playbook or ""), show_text(skill.description)]
            for depth, skill in walk_tree(skills)
            if scope.has_skill(skill.id)
        ]
        if scope.has_mode(mode):
            yield _section(f"Skills of {show_id(mode)}", ["skill", _PLAYBOOK, "description"], rows, markdown=markdown)


def walk_tree(skills: Sequence[Skill]) -> Iterator[tuple[int, Skill]]:
    """Yield the skills of a mode parents first, each with its depth below the mode."""
    children: dict[str | None, list[Skill]] = {}
    for skill in skills:
        children.setdefault(skill.parent, []).append(skill)
    waiting = [(0, skill) for skill in reversed(children.get(None, []))]
    while waiting:
        depth, skill = waiting.pop()
        yield depth, skill
        waiting += [(depth + 1, child) for child in reversed(children.get(skill.id, []))]


def _agents(handbook: Handbook, scope: Scope, *, markdown: bool) -> str:
    rows = [row for agent in scope.agents_of(handbook) for row in _agent_rows(agent, scope)]
    headers = ["agent", "model", _PLAYBOOK, "mode", "price in/out per Mtok", "runs", "mean cost"]
    return _section("Agents", headers, rows, markdown=markdown)


def _agent_rows(agent: Agent, scope: Scope) -> Iterator[list[str]]:
    head = [show_id(agent.id), show_id(agent.model or " ".join(agent.command) or "-"), show_id(agent.playbook or "")]
    for mode in sorted({*agent.modes, *agent.profiles}):
        if not scope.has_mode(mode):
            continue
        profile = agent.profiles.get(mode)
        runs, cost = (profile.runs, profile.cost.mean_usd) if profile else (0, None)
        yield [*head, show_id(mode), _show_price(agent.price), str(runs), show_usd(cost)]
    if not agent.modes and not agent.profiles and scope.mode is None:
        yield [*head, "-", _show_price(agent.price), "0", UNKNOWN]


def _playbooks(handbook: Handbook, scope: Scope, *, markdown: bool) -> str:
    named = find_playbooks(handbook, scope)
    rows = [[show_id(one.id), show_ids(one.tools), show_text(one.description or one.instructions)] for one in named]
    return _section("Playbooks", [_PLAYBOOK, "tools", "description"], rows, markdown=markdown)


def _show_price(price: Price | None) -> str:
    if price is None or (price.prompt_usd_per_mtok is None and price.completion_usd_per_mtok is None):
        return UNKNOWN
    return f"{show_usd(price.prompt_usd_per_mtok)} / {show_usd(price.completion_usd_per_mtok)}"


def _competences(beliefs: Sequence[Belief], *, markdown: bool) -> Iterator[str]:
    for mode in dict.fromkeys(belief.mode for belief in beliefs):
        rows = [
            [
                show_id(belief.skill),
                show_id(belief.agent),
                f"{belief.mean:.2f}",
                f"[{belief.low:.2f}, {belief.high:.2f}]",
                show_count(belief.evidence) if belief.evidence else _PRIOR_ONLY,
            ]
            for belief in beliefs
            if belief.mode == mode
        ]
        headers = ["skill", "agent", "mean", "90 % interval", "evidence"]
        yield _section(f"Competence in {show_id(mode)}", headers, rows, markdown=markdown)


def _mode_details(handbook: Handbook, scope: Scope, *, markdown: bool) -> Iterator[str]:
    for mode in handbook.modes.values():
        if scope.mode == mode.id:
            insights = [f"after {one.after}: {one.text}" if one.after else one.text for one in mode.insights]
            yield show_list(f"Insights of {show_id(mode.id)}", insights, markdown=markdown)


def _skill_details(handbook: Handbook, scope: Scope, *, markdown: bool) -> Iterator[str]:
    for skill in (skill for skills in handbook.skills.values() for skill in skills):
        if scope.skill != skill.id:
            continue
        yield show_heading(f"Skill {show_id(skill.id)}", markdown=markdown) + "\n" + show_id(skill.description)
        signs = [f"regex {sign.text}" if sign.is_regex else sign.text for sign in skill.indicators]
        yield show_list("Indicators", signs, markdown=markdown)
        yield show_list("Examples", [show_text(example, width=1000) for example in skill.examples], markdown=markdown)
        yield show_list("Origin", _origin_lines(skill), markdown=markdown)


def _origin_lines(skill: Skill) -> list[str]:
    if skill.origin is None:
        return []
    lines = [skill.origin.how]
    if skill.origin.source_skills:
        lines.append(f"from {show_ids(skill.origin.source_skills)}")
    if skill.origin.queries:
        lines.append(f"queries {show_ids(skill.origin.queries)}")
    return lines


def _agent_details(handbook: Handbook, scope: Scope, *, markdown: bool) -> Iterator[str]:
    if scope.agent is None:
        return
    for agent in scope.agents_of(handbook):
        yield show_list("Tools", agent.tools, markdown=markdown)
        for mode, profile in agent.profiles.items():
            if scope.has_mode(mode):
                where = f"in {show_id(mode)}"
                yield show_list(f"Signals {where}", profile.signals, markdown=markdown)
                yield show_list(f"Strengths {where}", profile.strengths, markdown=markdown)
                yield show_list(f"Weaknesses {where}", profile.weaknesses, markdown=markdown)


def _playbook_details(handbook: Handbook, scope: Scope, *, markdown: bool) -> Iterator[str]:
    if scope == Scope():
        return
    for playbook in find_playbooks(handbook, scope):
        texts = {"told": playbook.instructions, "given": playbook.input}
        lines = [f"{what}: {' '.join(text.split())}" for what, text in texts.items() if text]
        yield show_list(f"Playbook {show_id(playbook.id)}", lines, markdown=markdown)


def _section(title: str, headers: list[str], rows: list[list[str]], *, markdown: bool) -> str:
    if not rows:
        return ""
    if _PLAYBOOK in headers and not any(row[headers.index(_PLAYBOOK)] for row in rows):
        place = headers.index(_PLAYBOOK)  # few handbooks have playbooks
        headers, *rows = [[*row[:place], *row[place + 1 :]] for row in [headers, *rows]]
    return show_heading(title, markdown=markdown) + "\n" + show_table(headers, rows, markdown=markdown)
