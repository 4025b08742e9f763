"""``skillctl init``: a new handbook."""

from __future__ import annotations

import os
import shlex
from itertools import chain
from typing import TYPE_CHECKING

import click

from skillctl.cli.options import dry_run_option, handbook_argument
from skillctl.core.agents.survey import DEFAULT_MODE, draft_handbook, survey_agents
from skillctl.errors import EXIT_NO, EXIT_OK, InputError
from skillctl.report.problems import count_of
from skillctl.store.handbook_dir import save_handbook
from skillctl.store.handbook_files import is_handbook

if TYPE_CHECKING:
    from pathlib import Path

    from skillctl.model.handbook import Handbook
    from skillctl.model.problem import Problem


@click.command("init")
@handbook_argument
@click.option("--mode", "modes", multiple=True, help=f"A mode; repeatable, the first is the default [{DEFAULT_MODE}].")
@click.option(
    "--agents-from",
    "sources",
    multiple=True,
    metavar="TRACES",
    help="Fill in the agents and modes seen in a trace log (.jsonl, .jsonl.gz, - for stdin); repeatable.",
)
@click.option("--name", help="Name of the handbook [the name of its folder].")
@click.option("--description", default="", help="What the handbook is for.")
@dry_run_option
@click.pass_context
def init_command(
    ctx: click.Context,
    *,
    handbook: Path,
    modes: tuple[str, ...],
    sources: tuple[str, ...],
    name: str | None,
    description: str,
    dry_run: bool,
) -> None:
    """Make a new handbook and print its path.

    \b
      skillctl init my-handbook --agents-from traces.jsonl
      skillctl init my-handbook --mode answer --mode search
    """
    _require_free(handbook)
    problems: list[Problem] = []
    called = _as_unicode(name or handbook.resolve().name or "handbook")
    draft = _survey(sources, tuple(map(_as_unicode, modes)), problems, called, _as_unicode(description))
    if not dry_run:
        save_handbook(draft, handbook)
    click.echo(str(handbook))
    if ctx.obj["verbosity"] > 0:
        click.echo(_summary(draft, handbook, sources, dry_run=dry_run), err=True)
    if problems:
        click.echo(f"{count_of(len(problems), 'bad line')} left out", err=True)
    ctx.exit(EXIT_NO if problems else EXIT_OK)


def _as_unicode(argument: str) -> str:
    """Return what the user typed, also where the locale is not UTF-8 but the terminal is."""
    return os.fsencode(argument).decode("utf-8", "replace")


def _require_free(folder: Path) -> None:
    if is_handbook(folder):
        message = "is a handbook already"
        raise InputError(message, where=str(folder), hint="choose another folder, or edit its YAML files")
    if folder.is_dir() and any(path.name != ".git" for path in folder.iterdir()):
        message = "the folder is not empty"
        raise InputError(message, where=str(folder), hint="choose a new or an empty folder")
    if folder.exists() and not folder.is_dir():
        message = "is a file, but a handbook is a folder"
        raise InputError(message, where=str(folder), hint="choose another name")


def _survey(
    sources: tuple[str, ...],
    modes: tuple[str, ...],
    problems: list[Problem],
    name: str,
    description: str,
) -> Handbook:
    if not sources:
        return draft_handbook(name, description, modes, {})
    from skillctl.store.traces import read_traces

    def report(problem: Problem) -> None:
        problems.append(problem)
        click.echo(str(problem), err=True)

    traces = chain.from_iterable(read_traces(source, on_problem=report) for source in sources)
    return draft_handbook(name, description, modes, survey_agents(traces, modes[0] if modes else DEFAULT_MODE))


def _summary(draft: Handbook, root: Path, sources: tuple[str, ...], *, dry_run: bool) -> str:
    made = f"{count_of(len(draft.modes), 'mode')} and {count_of(len(draft.agents), 'agent')}"
    if dry_run:
        return f"would make {root} with {made}; nothing was written"
    if sources:
        steps = (["skillctl", command, str(root), "--traces", sources[0]] for command in ("discover", "profile"))
        next_step = ", then ".join(map(shlex.join, steps))
    elif draft.agents:
        next_step = shlex.join(["skillctl", "show", str(root)])
    else:
        next_step = f"add agents to {root}/agents, or start from a trace log with --agents-from"
    return f"made {root} with {made}\nnext: {next_step}"
