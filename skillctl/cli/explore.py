"""``skillctl explore``: run agents on queries and log traces."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from skillctl.cli.options import handbook_argument

if TYPE_CHECKING:
    from pathlib import Path

RULES = ("exact", "normalized", "numeric", "choice", "contains", "regex", "json")


@click.command("explore")
@handbook_argument
@click.option("--queries", required=True, help="JSON lines with id, query, reference, scoring; `-` is stdin.")
@click.option("--out", required=True, help="Trace log to append to (.jsonl); `-` is stdout.")
@click.option("--agent", "agents", multiple=True, help="Only this agent; repeatable.")
@click.option("--mode", help="Mode to log under; the handbook's default without it.")
@click.option("--limit", type=click.IntRange(min=0), help="Only the first N queries.")
@click.option("--path", metavar="MODES", help="Vary the agent of --mode in conversations of these modes.")
@click.option("--fix", "fixes", multiple=True, metavar="MODE=AGENT", help="With --path: who works in another mode.")
@click.option("--plan", type=click.IntRange(min=1), help="Only the N queries that tell most about one --agent.")
@click.option(
    "--scoring", type=click.Choice(RULES), default="exact", show_default=True, help="Rule where none is given."
)
@click.option("--scoring-command", help="Program that judges instead of all rules, such as 'python judge.py'.")
@click.option("--concurrency", type=click.IntRange(min=1), default=8, show_default=True, help="Calls at once.")
@click.option(
    "--agent-concurrency", type=click.IntRange(min=1), default=4, show_default=True, help="Calls at once of one agent."
)
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=120, show_default=True, help="Seconds.")
@click.option("--retries", type=click.IntRange(min=0), default=4, show_default=True, help="Repeats of a failed call.")
@click.option("--retry-errors", is_flag=True, help="Run again what an earlier run logged as an error.")
@click.option("--max-cost", type=click.FloatRange(min=0), help="Stop before this run would spend more US dollars.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the jitter between retries.")
@click.option("--dry-run", is_flag=True, help="Print the expected calls and cost, and call nothing.")
@click.pass_context
def explore_command(
    ctx: click.Context,
    /,
    handbook: Path,
    scoring_command: str | None,
    path: str | None,
    fixes: tuple[str, ...],
    **options: Any,  # noqa: ANN401 - click passes one value an option
) -> None:
    """Run the agents of a handbook or pool file on queries, and append one trace a line to --out.

    Each query is a line such as {"id": 1, "query": "What is 6 * 7?", "reference": "42", "scoring": "numeric"}.
    Replies are cached by content and traces are kept, so a run that was stopped goes on where it was when it is
    started again, and pays for nothing twice. An outside failure is logged as an error and is no failure of the
    agent; exit code 4 tells of it.

    With --path, each query is a conversation of these modes. The agents of --mode take turns in it, while the others
    stay as --fix says, or as the handbook chooses them: that shows what the agent of this mode makes of the outcome.

    \b
      skillctl explore my-handbook --queries queries.jsonl --out traces.jsonl --dry-run
      skillctl explore my-handbook --queries queries.jsonl --out traces.jsonl --max-cost 0.50
      skillctl explore my-handbook --queries queries.jsonl --out new.jsonl --agent mini --plan 20
      skillctl explore my-handbook --queries queries.jsonl --out t.jsonl --path search,answer --mode search
      skillctl explore pool.yaml --queries queries.jsonl --out traces.jsonl --agent gpt-4o
    """
    from skillctl.cli.explore_run import ExploreOptions, run_explore

    command = split_command(scoring_command, "--scoring-command")
    if path is not None:
        from skillctl.cli.explore_paths import explore_path

        given = {"handbook": handbook, "scoring_command": command, **options}
        ctx.exit(explore_path(given, path, fixes, verbosity=ctx.obj["verbosity"]))
    parsed = ExploreOptions(handbook=handbook, scoring_command=command, **options)
    ctx.exit(run_explore(parsed, verbosity=ctx.obj["verbosity"]))


def split_command(command: str | None, option: str) -> tuple[str, ...]:
    """Return the program and its arguments, ``()`` for none."""
    if command is None:
        return ()
    try:
        parts = tuple(shlex.split(command))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from error
    if not parts:
        message = "is empty"
        raise click.BadParameter(message, param_hint=option)
    return parts
