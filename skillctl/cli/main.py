"""The command group: commands are imported when they run, errors become exit codes in one place."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

from skillctl import __version__
from skillctl.errors import (
    EXIT_BUG,
    EXIT_INPUT,
    EXIT_INTERRUPTED,
    EXIT_OK,
    InvalidHandbookError,
    SkillctlError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

# In the order of use; the one-line helps stand here so that `--help` imports no command.
COMMANDS = {
    "init": "Make a new handbook.",
    "validate": "Check handbooks: schema and cross-references.",
    "show": "Show modes, skills, agents and competences as tables.",
    "agents": "Add, remove and replace agents.",
    "explore": "Run agents on queries and log traces.",
    "run": "Work on queries over several turns: choose mode and agent, act, observe.",
    "discover": "Find skills by contrasting outcomes on the same queries.",
    "profile": "Count outcomes in traces into posteriors and costs.",
    "refine": "Split, merge and add skills by evidence, gated by validation.",
    "route": "Choose an agent for each query or state.",
    "select": "Choose the skills that serve an orchestrator best.",
    "learn": "Discover, profile, refine and select in one go.",
    "evaluate": "Replay logged outcomes: accuracy, cost, curves, calibration.",
    "diff": "Say what changed, how sure it is and which traffic moves.",
    "log": "Show what was learned, commit by commit.",
    "blame": "Find the commits and traces behind a skill or a competence.",
    "git": "Set up git: readable diffs, and merges that add evidence.",
}


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - signature of click
        """Return the commands in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return one command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"skillctl.cli.{cmd_name}"), f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the table of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> None:
        """Run the command and turn every error into a message and an exit code."""
        try:
            super().invoke(ctx)
        except (click.exceptions.Exit, click.ClickException):
            raise
        except BrokenPipeError:
            _silence_stdout()
            ctx.exit(EXIT_OK)
        except (Exception, KeyboardInterrupt) as error:
            if ctx.obj and ctx.obj.get("debug") and not _is_interrupt(error):
                raise
            ctx.exit(_report(error))


def _report(error: BaseException) -> int:
    """Say what went wrong, and return the exit code."""
    if _is_interrupt(error):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    if isinstance(error, SkillctlError):
        _print_error(error)
        return error.exit_code
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        click.echo(f"error: {place}{error.strerror or error}", err=True)
        return EXIT_INPUT
    click.echo(
        f"error: a bug in skillctl: {type(error).__name__}: {error}\n"
        "       run it again with `skillctl --debug ...` and report what it prints",
        err=True,
    )
    return EXIT_BUG


def _is_interrupt(error: BaseException) -> bool:
    """Tell whether Ctrl-C is behind an error: Python wraps one that comes while a class is being made."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt | click.Abort):
            return True
        cause = cause.__cause__
    return False


def _print_error(error: SkillctlError) -> None:
    if isinstance(error, InvalidHandbookError):
        for problem in error.problems:
            click.echo(problem, err=True)
    click.echo(f"error: {error}", err=True)


def _silence_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush does not complain about the closed pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "SKILLCTL"},
)
@click.version_option(__version__, prog_name="skillctl")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.option("-v", "--verbose", count=True, help="Say more on stderr; repeatable.")
@click.option("-q", "--quiet", count=True, help="Say less on stderr; repeatable.")
@click.pass_context
def group(ctx: click.Context, *, debug: bool, verbose: int, quiet: int) -> None:
    """Learn which agent is good at what, keep it as reviewable YAML, and route by it.

    A handbook is a folder of YAML files. Start with one of these:

    \b
      skillctl init my-handbook --agents-from traces.jsonl
      skillctl profile my-handbook --traces traces.jsonl
      skillctl route my-handbook --in queries.jsonl
    """
    ctx.obj = {"debug": debug, "verbosity": 1 + verbose - quiet}


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line."""
    group(args=args)
