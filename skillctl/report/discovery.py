"""What ``discover`` found, as text, Markdown and JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillctl.core.discover.discovery import MIN_QUERIES
from skillctl.core.discover.granularity import MIN_Z, Granularity
from skillctl.core.discover.skill_writing import MOST_QUERIES
from skillctl.report.problems import count_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillctl.model.handbook import Skill


@dataclass(frozen=True, slots=True)
class ModeReport:
    """What was found in one mode.

    Attributes:
        mode: The mode.
        queries: Distinct queries.
        agents: Agents that tried them.
        skills: Discovered skills, in order of id.
        added: How many skills the handbook did not have before.
        removed: How many it has no more.
        gain: Reduction of the squared error per held-out query, ``None`` where nothing was found to try.
        standard_error: Of the gain.
        z: Standard errors by which foreseen and observed deviations go together.
        granularity: Which of the skills that were found stay.
        evidence: Log Bayes factor that holds the two least alike of those apart that are supported one by one.
        temperature: Chosen on held-out queries.
        prior_strength: Chosen on held-out queries.
        remark: What became of a model's proposals, or empty.
    """

    mode: str
    queries: int
    agents: int
    skills: tuple[Skill, ...]
    added: int
    removed: int
    gain: float | None
    standard_error: float | None
    z: float | None
    granularity: Granularity
    evidence: float
    temperature: float | None
    prior_strength: float | None
    remark: str = ""

    def say_gain(self) -> str:
        """Return what held-out queries said."""
        if self.gain is None and self.queries < MIN_QUERIES:
            return f"too few queries to find skills: {MIN_QUERIES} is the least"
        if self.gain is None:
            return "no skills: the agents fare alike on all groups of queries"
        return f"{self._say_verdict()} (gain {self.gain:.4f} ± {self.standard_error:.4f} a query, z {self.z:.1f})"

    def _say_verdict(self) -> str:
        if not self.skills:
            return "no skills foresee held-out outcomes"
        if self.granularity is Granularity.FINE:
            return "fine skills foresee held-out outcomes no worse than those that outcomes hold apart one by one"
        if self.z is not None and self.z >= MIN_Z:
            return "skills foresee held-out outcomes better"
        return f"outcomes hold the skills clearly apart (log Bayes factor {self.evidence:.1f}), if they foresee little"


@dataclass(frozen=True, slots=True)
class DiscoveryReport:
    """What was found, and what happened to the lines."""

    modes: tuple[ModeReport, ...]
    traces: int
    duplicates: int
    bad_lines: int
    unknown: Mapping[str, int]
    insights: int

    def subject(self) -> str:
        """Return what was learned, in one imperative line."""
        skills = sum(len(mode.skills) for mode in self.modes)
        queries = sum(mode.queries for mode in self.modes)
        return f"Discover {count_of(skills, 'skill')} from {_queries(queries)}"

    def remarks(self) -> list[str]:
        """Return the sentences for stderr."""
        lines = [f"read {count_of(self.traces, 'trace')}"]
        if self.duplicates:
            lines.append(f"{count_of(self.duplicates, 'trace')} seen before, not used again")
        if self.bad_lines:
            lines.append(f"{count_of(self.bad_lines, 'bad line')}")
        for agent, count in self.unknown.items():
            lines.append(f"the handbook has no agent {agent!r} in that mode: {count_of(count, 'trace')} not used")
        if self.unknown:
            lines.append("add agents with `skillctl profile --add-agents` or `skillctl agents add`")
        lines += [f"{mode.mode}: {mode.say_gain()}" for mode in self.modes]
        lines += [f"{mode.mode}: {mode.remark}" for mode in self.modes if mode.remark]
        if any(mode.added or mode.removed for mode in self.modes):
            lines.append("count the evidence for the new skills with `skillctl profile`")
        return lines


def _queries(number: int) -> str:
    return "1 query" if number == 1 else f"{number} queries"


def _count_origin(skill: Skill) -> str:
    """Return how many queries a skill is known to come from; an origin names the first ones only."""
    known = len(skill.origin.queries) if skill.origin else 0
    return f"{known}+" if known >= MOST_QUERIES else str(known)


def render_discovery(report: DiscoveryReport, *, markdown: bool) -> str:
    """Return the skills as a table."""
    from tabulate import tabulate

    rows = [[skill.id, _count_origin(skill), skill.description] for mode in report.modes for skill in mode.skills]
    if not rows:
        return "no skills found"
    return tabulate(
        rows,
        ["skill", "queries", "description"],
        tablefmt="github" if markdown else "simple",
        colalign=("left", "right", "left"),
    )


def render_discovery_json(report: DiscoveryReport) -> str:
    """Return the report in the shape of ``discovery.schema.json``."""
    return json.dumps(
        {
            "modes": [
                {
                    "mode": mode.mode,
                    "queries": mode.queries,
                    "agents": mode.agents,
                    "added": mode.added,
                    "removed": mode.removed,
                    "gain": mode.gain,
                    "standard_error": mode.standard_error,
                    "z": mode.z,
                    "granularity": mode.granularity.value,
                    "evidence": mode.evidence,
                    "temperature": mode.temperature,
                    "prior_strength": mode.prior_strength,
                    "skills": [
                        {
                            "id": skill.id,
                            "parent": skill.parent,
                            "description": skill.description,
                            "queries": list(skill.origin.queries) if skill.origin else [],
                        }
                        for skill in mode.skills
                    ],
                }
                for mode in report.modes
            ],
            "traces": report.traces,
            "duplicates": report.duplicates,
            "bad_lines": report.bad_lines,
            "unknown_agents": dict(report.unknown),
            "insights": report.insights,
        },
        ensure_ascii=False,
        indent=2,
    )
