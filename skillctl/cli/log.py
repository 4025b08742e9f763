"""``skillctl log``: what was learned, commit by commit."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - click looks it up at run time

import click

from skillctl.cli.options import handbook_argument, output_option

_SHOWN = 3


@click.command("log")
@handbook_argument
@click.argument("revision", default="HEAD", metavar="[REV]")
@click.option("-n", "--max-count", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many.")
@output_option
def log_command(handbook: Path, revision: str, max_count: int, output: str) -> None:
    """Show the history of a handbook: per commit what was learned, from which evidence, and the main effect.

    \b
      skillctl log my-handbook
      skillctl log my-handbook origin/main -n 5 -o markdown
    """
    from skillctl.cli.history import read_step
    from skillctl.report.history_text import render_steps, render_steps_json
    from skillctl.store.git import open_repository
    from skillctl.store.history import find_edge, list_commits

    repository = open_repository(handbook)
    commits = list_commits(repository, handbook, revision=revision, limit=max_count)
    steps = [
        read_step(repository, handbook, commit, lambda comparison: list(comparison.findings), _SHOWN)
        for commit in commits
    ]
    if output == "json":
        click.echo(render_steps_json(steps))
    else:
        click.echo(render_steps(steps, markdown=output == "markdown"), nl=False)
    edge = find_edge(repository, commits) if len(commits) < max_count else ""
    if edge or not commits:
        click.echo(edge or "no commit holds this handbook yet", err=True)
