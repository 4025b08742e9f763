"""``skillctl discover``: outcomes become skills."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from skillctl.cli.commits import Lesson, begin_commit, commit_learning, commit_options
from skillctl.cli.discover_run import DiscoverOptions, discover_from_logs
from skillctl.cli.llm_options import llm_option, llm_options
from skillctl.cli.options import dry_run_option, handbook_argument, output_option, success_at_option
from skillctl.cli.trace_sources import open_sources
from skillctl.errors import EXIT_NO, EXIT_OK
from skillctl.store.handbook_dir import handbook_lock, load_handbook, save_handbook

if TYPE_CHECKING:
    from pathlib import Path

    from skillctl.cli.llm_options import LlmOptions


@click.command("discover")
@handbook_argument
@click.option(
    "--traces",
    "paths",
    multiple=True,
    required=True,
    metavar="FILE",
    help="A trace log in which several agents tried the same queries; repeatable.",
)
@click.option("--mode", "modes", multiple=True, metavar="MODE", help="Only in this mode; repeatable.")
@click.option(
    "--labels/--no-labels", default=True, help="Whether `task` labels are candidate skills.  [default: labels]"
)
@success_at_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all random draws.")
@llm_option
@llm_options
@commit_options
@output_option
@dry_run_option
@click.pass_context
def discover_command(
    ctx: click.Context,
    *,
    handbook: Path,
    paths: tuple[str, ...],
    modes: tuple[str, ...],
    labels: bool,
    success_at: float,
    seed: int,
    llm: str | None,
    model_options: LlmOptions,
    commit: bool,
    branch: str | None,
    output: str,
    dry_run: bool,
) -> None:
    """Find skills, mode insights, strengths and weaknesses in logged outcomes.

    Queries are grouped by their texts and by how agents fare on them, on several granularities; the groups stay when
    they foresee the outcomes of queries that were kept from them. Skills written by hand stay as they are.
    That takes no model and no network. With --llm, a language model is shown successes beside failures on the same
    queries and proposes skills, in at most 12 calls a mode; they stay by the same test. With --dry-run too it is asked,
    as its replies are kept. Count the evidence for the new skills afterwards:

    \b
      skillctl discover my-handbook --traces traces.jsonl.gz
      skillctl discover my-handbook --traces traces.jsonl.gz --llm openai/gpt-4o-mini --max-cost 0.10
      skillctl profile my-handbook --traces traces.jsonl.gz
    """
    is_quiet = ctx.obj["verbosity"] < 1
    options = DiscoverOptions(modes=modes, uses_labels=labels, success_at=success_at, seed=seed)
    learning = begin_commit(handbook, commit=commit, branch=branch, dry_run=dry_run)
    with nullcontext() if dry_run else handbook_lock(handbook):
        before = load_handbook(handbook)
        with open_sources(paths, is_quiet=is_quiet, is_read_twice=llm is not None) as sources:
            propose = None
            if llm is not None:
                from skillctl.cli.discover_llm import open_proposer

                propose = open_proposer(llm, before, sources, options, model_options, is_quiet=is_quiet)
            after, report = discover_from_logs(before, sources, options, propose=propose)
        if after != before and not dry_run:
            save_handbook(after, handbook)
        validation = "; ".join(f"{mode.mode}: {mode.say_gain()}" for mode in report.modes)
        commit_learning(learning, Lesson("discover", report.subject(), before, after, model=llm, validation=validation))
    from skillctl.report.discovery import render_discovery, render_discovery_json

    click.echo(
        render_discovery_json(report) if output == "json" else render_discovery(report, markdown=output == "markdown")
    )
    if not is_quiet:
        for sentence in report.remarks():
            click.echo(sentence, err=True)
    ctx.exit(EXIT_NO if report.bad_lines or report.unknown else EXIT_OK)
