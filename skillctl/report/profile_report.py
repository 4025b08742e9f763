"""What profiling counted, for people and for scripts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from skillctl.core.profile.beliefs import interval, mean
from skillctl.report.cells import show_count, show_id, show_table, show_usd

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skillctl.model.handbook import EvidenceSource, Handbook, ModeId, Profile

_HEADERS = ("mode", "agent", "runs", "success", "90 %", "cost", "skills")


class Counts(NamedTuple):
    """What happened to the lines of the logs.

    Attributes:
        lines: Lines that hold a trace.
        traces: Traces counted now.
        no_verdict: How many of them had no verdict.
        duplicates: Traces seen before in this run.
        conflicts: Duplicates with another verdict than the first.
        bad_lines: Lines that were not used.
        unknown: Traces of agents and modes that the handbook does not have, by reason.
        dropped_skills: Traces that name a skill that is not registered, by skill.
    """

    lines: int
    traces: int
    no_verdict: int
    duplicates: int
    conflicts: int
    bad_lines: int
    unknown: Mapping[str, int]
    dropped_skills: Mapping[str, int]


def render_profile(handbook: Handbook, *, markdown: bool) -> str:
    """Return a table with a row for each agent and mode that has runs."""
    rows = [_row(mode, agent, profile) for mode, agent, profile in _list_profiles(handbook)]
    return show_table(_HEADERS, rows, markdown=markdown)


def render_profile_json(handbook: Handbook, counts: Counts, *, changed: bool) -> str:
    """Return the result in the shape of ``profile_report.schema.json``."""
    result = {
        **counts._asdict(),
        "unknown": dict(counts.unknown),
        "dropped_skills": dict(counts.dropped_skills),
        "changed": changed,
        "profiles": [_describe(mode, agent, profile) for mode, agent, profile in _list_profiles(handbook)],
    }
    return json.dumps(result, ensure_ascii=False, indent=2)


def render_counts(counts: Counts) -> list[str]:
    """Return what people should know of the lines, one sentence each."""
    said = [f"read {counts.lines:,} traces, counted {counts.traces:,}"]
    if counts.no_verdict:
        said.append(f"{counts.no_verdict:,} of them have no verdict and are no evidence")
    if counts.duplicates:
        said.append(f"{counts.duplicates:,} traces occur twice and were counted once")
    if counts.conflicts:
        said.append(f"{counts.conflicts:,} of these contradict the first in their verdict; the first counts")
    if counts.bad_lines:
        said.append(f"{counts.bad_lines:,} bad lines were left out")
    said += [f"{reason}: {number:,} traces were not counted" for reason, number in counts.unknown.items()]
    said += [
        f"skill {show_id(skill)} is not registered: its weight was dropped in {number:,} traces"
        for skill, number in counts.dropped_skills.items()
    ]
    return said


def render_left_out(logs: Iterable[EvidenceSource]) -> list[str]:
    """Return a sentence for each log whose evidence is gone."""
    return [
        f"{show_id(log.name)} was counted before and is not among these logs: its {log.traces:,} traces are no evidence"
        " any more (to keep them, give that log too)"
        for log in logs
    ]


def _list_profiles(handbook: Handbook) -> list[tuple[ModeId, str, Profile]]:
    return [
        (mode, agent.id, agent.profiles[mode])
        for mode in sorted(handbook.modes)
        for agent in handbook.agents.values()
        if mode in agent.profiles
    ]


def _row(mode: ModeId, agent: str, profile: Profile) -> list[str]:
    facts = _describe(mode, agent, profile)
    chance, span = facts["expected_success"], facts["interval"]
    return [
        show_id(mode),
        show_id(agent),
        show_count(profile.runs),
        "no verdict" if chance is None else f"{chance:.3f}",
        "" if span is None else f"{span[0]:.3f} to {span[1]:.3f}",
        show_usd(profile.cost.mean_usd),
        str(facts["skills"]),
    ]


def _describe(mode: ModeId, agent: str, profile: Profile) -> dict[str, Any]:
    root = profile.competence.get(mode)
    span = None if root is None else [round(float(end), 4) for end in interval(root.alpha, root.beta)]
    return {
        "mode": mode,
        "agent": agent,
        "runs": profile.runs,
        "expected_success": None if root is None else round(float(mean(root.alpha, root.beta)), 4),
        "interval": span,
        "expected_cost_usd": profile.cost.mean_usd,
        "runs_with_cost": profile.cost.runs,
        "skills": max(len(profile.competence) - 1, 0),
    }
