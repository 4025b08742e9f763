"""``skillctl blame``: which commits and traces made a skill or a competence what it is."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - click looks it up at run time
from typing import TYPE_CHECKING

import click

from skillctl.cli.options import handbook_argument, output_option
from skillctl.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillctl.core.diff.competence_changes import CompetenceChange, FirstEvidence
    from skillctl.core.diff.handbook_comparison import Comparison, CostChange, Finding


@click.command("blame")
@handbook_argument
@click.argument("revision", default="HEAD", metavar="[REV]")
@click.option("--skill", help="Id of a skill, or of a mode for all of it.")
@click.option("--agent", help="Id of an agent; with --skill its competence there.")
@output_option
def blame_command(handbook: Path, revision: str, skill: str | None, agent: str | None, output: str) -> None:
    """Show the commits, and the trace logs they counted, that made a skill or a competence what it is.

    Moves within noise are told too: they are what the competence consists of.

    \b
      skillctl blame my-handbook --skill answer.math
      skillctl blame my-handbook --agent gpt-4o --skill answer.math
    """
    from skillctl.cli.history import read_step
    from skillctl.report.history_text import render_steps, render_steps_json
    from skillctl.store.git import open_repository
    from skillctl.store.history import find_edge, list_commits

    if skill is None and agent is None:
        message = "say what to look for"
        raise UsageError(message, hint="give --skill, --agent or both")
    repository = open_repository(handbook)
    commits = list_commits(repository, handbook, revision=revision)
    keep = _keep_about(skill, agent)
    steps = [step for commit in commits if (step := read_step(repository, handbook, commit, keep, None)).findings]
    if not steps:
        message = f"no commit is about {' and '.join(name for name in (agent, skill) if name)}"
        raise InputError(message, where=str(handbook), hint="`skillctl show` lists the ids; is it committed?")
    if output == "json":
        click.echo(render_steps_json(steps))
    else:
        click.echo(render_steps(steps, markdown=output == "markdown"), nl=False)
    edge = find_edge(repository, commits)
    if edge:
        click.echo(edge, err=True)


def _keep_about(skill: str | None, agent: str | None) -> Callable[[Comparison], list[Finding]]:
    def keep(comparison: Comparison) -> list[Finding]:
        everything: tuple[Finding, ...] = (*comparison.findings, *comparison.noise)
        return [finding for finding in everything if _is_about(finding, skill, agent)]

    return keep


def _is_about(finding: Finding, skill: str | None, agent: str | None) -> bool:
    from skillctl.core.diff.handbook_comparison import FieldChange, OwnerChange, SelectionChange
    from skillctl.core.diff.skill_changes import SkillChange

    if isinstance(finding, SkillChange):
        return agent is None and skill in {*finding.skills, *finding.sources}
    if isinstance(finding, OwnerChange):
        return finding.id == (skill if agent is None else agent)
    if isinstance(finding, FieldChange):
        return finding.id == (skill if agent is None else agent) and (skill is None or agent is None)
    return not isinstance(finding, SelectionChange) and finding.agent == agent and _is_in(finding, skill)


def _is_in(finding: CompetenceChange | FirstEvidence | CostChange, skill: str | None) -> bool:
    """Tell whether a finding of an agent is about a skill; a cost is about none."""
    from skillctl.core.diff.competence_changes import CompetenceChange, FirstEvidence

    if skill is None:
        return True
    if isinstance(finding, CompetenceChange):
        return finding.skill == skill
    return isinstance(finding, FirstEvidence) and skill in {*finding.skills, finding.mode}
