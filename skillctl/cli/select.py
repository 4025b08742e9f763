"""``skillctl select``: choose the granularity that serves an orchestrator best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skillctl.cli.commits import Lesson, begin_commit, commit_learning, commit_options
from skillctl.cli.llm_options import llm_options
from skillctl.cli.options import dry_run_option, handbook_argument, output_option, success_at_option
from skillctl.errors import EXIT_NO, EXIT_OK, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from skillctl.cli.llm_options import LlmOptions
    from skillctl.cli.selection_run import Selected
    from skillctl.core.select.selecting import Rule


@click.command("select")
@handbook_argument
@click.option("--validation", "paths", multiple=True, required=True, metavar="FILE", help="Traces; repeatable.")
@click.option("--orchestrator", required=True, metavar="NAME", help="Whom to select for: embedded, logged, or a model.")
@click.option(
    "--lambda",
    "cost_weight",
    type=click.FloatRange(min=0),
    help="Success that a US dollar is worth, not the handbook's.",
)
@click.option(
    "--rule",
    type=click.Choice(["lambda", "one-se", "ceiling"]),
    help="lambda: best accuracy minus lambda times cost; one-se: the simplest within one standard error of it; "
    "ceiling: most accurate within --max-cost-per-query.  [default: lambda]",
)
@click.option("--max-cost-per-query", type=click.FloatRange(min=0), metavar="USD", help="For --rule ceiling.")
@click.option(
    "--live", is_flag=True, help="Ask the orchestrator anew with each candidate, which sees its skills alone."
)
@success_at_option
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Candidates at a time; same result."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resamples.")
@llm_options
@output_option
@dry_run_option
@commit_options
@click.pass_context
def select_command(
    ctx: click.Context,
    *,
    handbook: Path,
    paths: tuple[str, ...],
    orchestrator: str,
    cost_weight: float | None,
    rule: Rule | None,
    max_cost_per_query: float | None,
    live: bool,
    success_at: float,
    jobs: int,
    seed: int,
    model_options: LlmOptions,
    output: str,
    dry_run: bool,
    commit: bool,
    branch: str | None,
) -> None:
    """Choose which skills an orchestrator should see, by replay of validation outcomes.

    Finer is not always better: who cannot tell fine skills apart is served better by coarse ones. Candidates are cuts
    of the skill trees. The choice, and the Pareto front that it comes from, go to selections/NAME.yaml, and `route`
    and `evaluate` use it from then on.

    \b
      skillctl select my-handbook --validation validation.jsonl.gz --orchestrator embedded
      skillctl select my-handbook --validation validation.jsonl.gz --orchestrator embedded --rule one-se --dry-run
    """
    from skillctl.cli.named_orchestrators import is_language_model, open_models
    from skillctl.cli.selection_run import Wanted, select_skills
    from skillctl.report.selection_text import render_selection
    from skillctl.store.selections import encode_selection, save_selection

    if rule is None:
        rule = "lambda" if max_cost_per_query is None else "ceiling"
    if (rule == "ceiling") != (max_cost_per_query is not None):
        message = "--max-cost-per-query and --rule ceiling belong together"
        raise UsageError(message)
    is_quiet = ctx.obj["verbosity"] < 1
    models = open_models(model_options, is_quiet=is_quiet) if is_language_model(orchestrator) else None
    wanted = Wanted(paths, orchestrator, cost_weight, rule, max_cost_per_query, live, success_at, jobs, seed, models)
    learning = begin_commit(handbook, commit=commit, branch=branch, dry_run=dry_run)
    selected = select_skills(handbook, wanted, is_quiet=is_quiet)
    if models is not None:
        models.say_result()
    selection = selected.selection
    if not dry_run:
        save_selection(selection, handbook)
    commit_learning(learning, _tell(selected))
    if output == "json":
        import json

        click.echo(json.dumps(encode_selection(selection), ensure_ascii=False, indent=2))
    else:
        click.echo(render_selection(selection, markdown=output == "markdown"), nl=False)
    ctx.exit(EXIT_NO if selected.bad_lines else EXIT_OK)


def _tell(selected: Selected) -> Lesson:
    """Say in a commit what was selected, from what and how well it does."""
    from skillctl.report.selection_text import summarise_selection

    selection = selected.selection
    return Lesson(
        "select",
        f"Select {len(selection.choice.skills)} skills for {selection.orchestrator}",
        selected.handbook,
        selected.handbook,
        validation=f"{selection.queries} queries, {selection.digest}",
        details=(f"- {summarise_selection(selection)}",),
    )
