"""A handbook file as lines that people compare: what `git diff` shows instead of raw numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillctl.report.cells import show_count, show_id, show_usd

if TYPE_CHECKING:
    from skillctl.model.handbook import Agent, Competence, Profile


def render_agent_text(agent: Agent, source: str) -> str:
    """Return an agent's file with each competence and cost as people read them; all else stays as it is written.

    Args:
        agent: What the file says.
        source: The text of the file.
    """
    shown = {mode: _profile_lines(profile) for mode, profile in agent.profiles.items()}
    lines = [line for line in source.splitlines() if not _is_number_line(line)]
    for mode, its_lines in shown.items():
        if its_lines:
            lines += [f"# {show_id(mode)}", *its_lines]
    return "\n".join(lines) + "\n"


def _is_number_line(line: str) -> bool:
    """Tell whether a line holds numbers that are said in words below."""
    stripped = line.strip()
    return (
        "{alpha: " in stripped or stripped == "competence:" or stripped.startswith(("cost: {", "runs: "))
    ) and line.startswith("    ")


def _profile_lines(profile: Profile) -> list[str]:
    lines = [f"{show_count(profile.runs)} runs, {show_usd(profile.cost.mean_usd)} a run"] if profile.runs else []
    return lines + [f"{show_id(skill)}: {_say(entry)}" for skill, entry in profile.competence.items()]


def _say(entry: Competence) -> str:
    mean = entry.alpha / (entry.alpha + entry.beta)
    evidence = entry.successes + entry.failures
    return f"{100 * mean:.0f} % on {show_count(evidence)} outcomes" if evidence else f"{100 * mean:.0f} %, prior only"
