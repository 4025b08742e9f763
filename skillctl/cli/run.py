"""``skillctl run``: the orchestration loop with real agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from skillctl.cli.explore import RULES, split_command
from skillctl.cli.options import handbook_argument

if TYPE_CHECKING:
    from pathlib import Path


@click.command("run")
@handbook_argument
@click.option("--queries", required=True, help="JSON lines with id, query, reference, scoring; `-` is stdin.")
@click.option("--out", required=True, help="Trace log to append to (.jsonl); `-` is stdout.")
@click.option("--agent", "agents", multiple=True, help="Only this agent; repeatable.")
@click.option("--mode", "modes", multiple=True, help="Only this mode; repeatable.")
@click.option("--path", metavar="MODES", help="Take these modes in order, such as search,answer.")
@click.option("--fix", "fixes", multiple=True, metavar="MODE=AGENT", help="In this mode, only this agent; repeatable.")
@click.option(
    "--policy",
    type=click.Choice(["handbook", "random", "cheapest", "strongest", "thompson", "ucb"]),
    default="handbook",
    show_default=True,
    help="How modes and agents are chosen.",
)
@click.option(
    "--orchestrator",
    default="embedded",
    show_default=True,
    metavar="NAME",
    help="Who names the skills of each state: embedded, or a language model as litellm names it, or an agent that "
    "has one.",
)
@click.option("--api-base", metavar="URL", help="Endpoint of the language model of --orchestrator.")
@click.option("--mode-chooser", metavar="AGENT", help="Agent, a language model, that names the mode of each turn.")
@click.option("--lambda", "cost_weight", type=click.FloatRange(min=0), help="Success that a US dollar is worth.")
@click.option("--limit", type=click.IntRange(min=0), help="Only the first N queries.")
@click.option("--max-turns", type=click.IntRange(min=1), default=6, show_default=True, help="Turns of a conversation.")
@click.option("--max-query-cost", type=click.FloatRange(min=0), help="US dollars from which on none is begun.")
@click.option("--max-cost", type=click.FloatRange(min=0), help="Stop before this run would spend more US dollars.")
@click.option("--checker", help="Program that verifies answers without the reference, such as 'python check.py'.")
@click.option("--scoring", type=click.Choice(RULES), default="exact", show_default=True, help="Where none is given.")
@click.option("--scoring-command", help="Program that judges instead of all rules, such as 'python judge.py'.")
@click.option("--concurrency", type=click.IntRange(min=1), default=4, show_default=True, help="Conversations at once.")
@click.option(
    "--agent-concurrency", type=click.IntRange(min=1), default=4, show_default=True, help="Calls of one agent."
)
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=120, show_default=True, help="Seconds.")
@click.option("--retries", type=click.IntRange(min=0), default=2, show_default=True, help="Repeats of a failed call.")
@click.option("--retry-errors", is_flag=True, help="Run again what an earlier run logged as an error.")
@click.option("--unsafe-sandbox", is_flag=True, help="Run code even where it cannot be contained.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of random choices.")
@click.option("--dry-run", is_flag=True, help="Print the expected turns and cost, and call nothing.")
@click.pass_context
def run_command(
    ctx: click.Context,
    /,
    *,
    handbook: Path,
    path: str | None,
    fixes: tuple[str, ...],
    checker: str | None,
    scoring_command: str | None,
    **options: Any,  # noqa: ANN401 - click passes one value an option
) -> None:
    """Work on each query over several turns: choose mode, skills and agent, act, observe, until answered.

    What a mode does stands in its file: it answers, runs Python in a sandbox, searches a corpus or calls a program.
    One trace a query is appended to --out, with its steps, costs and outcome, so that profile --update learns from
    it. A run that was stopped goes on where it was, and pays for nothing twice. With --agent, --mode and --policy
    the same loop runs baselines.

    \b
      skillctl run my-handbook --queries queries.jsonl --out run.jsonl --dry-run
      skillctl run my-handbook --queries queries.jsonl --out run.jsonl --max-cost 0.50
      skillctl run my-handbook --queries queries.jsonl --out fixed.jsonl --agent gpt-4o --mode answer
      skillctl profile my-handbook --traces run.jsonl --update
    """
    from skillctl.cli.run_batch import run_batch
    from skillctl.cli.run_parts import RunOptions

    parsed = RunOptions(
        handbook=handbook,
        path=split_path(path),
        fixed=split_fixes(fixes),
        checker=split_command(checker, "--checker"),
        scoring_command=split_command(scoring_command, "--scoring-command"),
        **options,
    )
    ctx.exit(run_batch(parsed, verbosity=ctx.obj["verbosity"]))


def split_path(path: str | None) -> tuple[str, ...]:
    """Return the modes of a path."""
    return tuple(name.strip() for name in path.split(",")) if path else ()


def split_fixes(fixes: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return modes with their agents."""
    pairs = [fix.partition("=") for fix in fixes]
    bad = next((fix for fix, (mode, _, agent) in zip(fixes, pairs, strict=True) if not mode or not agent), None)
    if bad is not None:
        message = f"{bad!r} is not MODE=AGENT"
        raise click.BadParameter(message, param_hint="--fix")
    return tuple((mode, agent) for mode, _, agent in pairs)
