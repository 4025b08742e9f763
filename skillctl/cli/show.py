"""``skillctl show``: a handbook as tables."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from skillctl.cli.options import handbook_argument, output_option
from skillctl.core.profile.standing import Scope, list_beliefs
from skillctl.errors import InputError
from skillctl.store.handbook_dir import load_handbook

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from skillctl.model.handbook import Handbook


@click.command("show")
@handbook_argument
@click.option("--mode", help="Only this mode, with its insights.")
@click.option("--skill", help="Only this skill, with its indicators, examples and origin.")
@click.option("--agent", help="Only this agent, with its signals, strengths and weaknesses.")
@output_option
def show_command(handbook: Path, mode: str | None, skill: str | None, agent: str | None, output: str) -> None:
    """Show modes, skills, agents and competences as tables.

    Evidence counts outcomes; the prior is never part of it.

    \b
      skillctl show my-handbook
      skillctl show my-handbook --agent gpt-4o -o markdown
    """
    loaded = load_handbook(handbook)
    scope = Scope(mode, skill, agent)
    _require_known(loaded, scope, handbook)
    beliefs = list_beliefs(loaded, scope)
    if output == "json":
        from skillctl.report.handbook_json import render_handbook_json

        click.echo(render_handbook_json(loaded, beliefs, scope))
        return
    from skillctl.report.handbook_tables import render_handbook

    click.echo(render_handbook(loaded, beliefs, scope, markdown=output == "markdown"), nl=False)
    if scope == Scope():
        _show_selections(handbook, markdown=output == "markdown")


def _show_selections(root: Path, *, markdown: bool) -> None:
    from skillctl.report.selection_text import render_selection
    from skillctl.store.selections import list_selections

    for selection in list_selections(root):
        click.echo("\n" + render_selection(selection, markdown=markdown), nl=False)


def _require_known(handbook: Handbook, scope: Scope, root: Path) -> None:
    skills = {skill.id for skills in handbook.skills.values() for skill in skills}
    _require("mode", scope.mode, handbook.modes, root)
    # The mode's own id names the root of its skills, and competences are kept for it too.
    _require("skill", scope.skill, skills | set(handbook.modes), root)
    _require("agent", scope.agent, handbook.agents, root)


def _require(noun: str, name: str | None, known: Collection[str], root: Path) -> None:
    if name is None or name in known:
        return
    close = get_close_matches(name, sorted(known), n=3)
    hint = f"did you mean {', '.join(close)}?" if close else f"known are {', '.join(sorted(known)[:10]) or 'none'}"
    message = f"there is no {noun} {name!r}"
    raise InputError(message, where=str(root), hint=hint)
