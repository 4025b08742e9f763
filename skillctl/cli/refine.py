"""``skillctl refine``: split, merge and add skills by evidence, each edit through the gate of validation."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from skillctl.cli.commits import begin_commit, commit_options
from skillctl.cli.llm_options import llm_options
from skillctl.cli.options import dry_run_option, handbook_argument, output_option, success_at_option
from skillctl.errors import EXIT_NO, EXIT_OK, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from skillctl.cli.llm_options import LlmOptions
    from skillctl.cli.refine_run import RefineResult


@click.command("refine")
@handbook_argument
@click.option(
    "--traces", "paths", multiple=True, required=True, metavar="FILE", help="The logs that are evidence; repeatable."
)
@click.option(
    "--validation", multiple=True, required=True, metavar="FILE", help="Traces of other queries, the gate; repeatable."
)
@success_at_option
@click.option(
    "--orchestrator",
    default="embedded",
    show_default=True,
    metavar="NAME",
    help="Who names the skills of queries: embedded, or a language model, which is asked anew for each edit.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of partitions and resamples.")
@llm_options
@commit_options
@output_option
@dry_run_option
@click.pass_context
def refine_command(
    ctx: click.Context,
    *,
    handbook: Path,
    paths: tuple[str, ...],
    validation: tuple[str, ...],
    success_at: float,
    orchestrator: str,
    seed: int,
    model_options: LlmOptions,
    commit: bool,
    branch: str | None,
    output: str,
    dry_run: bool,
) -> None:
    """Split, merge and add skills where the evidence asks for it.

    A skill is split when agents do differently well on two parts of its queries, siblings are merged when no agent
    tells them apart, and a skill is added where routing failed although some agent succeeded. An edit is made only
    if routing of the validation queries does not get worse by it. Counts are taken anew from the traces.

    \b
      skillctl refine my-handbook --traces train.jsonl.gz --validation validation.jsonl.gz --dry-run
      skillctl refine my-handbook --traces train.jsonl.gz --validation validation.jsonl.gz --commit
    """
    from skillctl.cli.named_orchestrators import LOGGED, is_language_model, open_models
    from skillctl.cli.refine_run import RefinePlan, refine_handbook
    from skillctl.cli.trace_sources import open_sources
    from skillctl.store.handbook_dir import handbook_lock, load_handbook

    is_quiet = ctx.obj["verbosity"] < 1
    if orchestrator == LOGGED:
        message = "an edit makes skills that no trace names, so logged weights cannot say which queries need them"
        raise UsageError(message, where="--orchestrator", hint="name embedded, or a language model")
    models = open_models(model_options, is_quiet=is_quiet) if is_language_model(orchestrator) else None
    learning = begin_commit(handbook, commit=commit, branch=branch, dry_run=dry_run)
    with nullcontext() if dry_run else handbook_lock(handbook):
        before = load_handbook(handbook)
        if models is not None and is_language_model(orchestrator):
            models.find_endpoint(orchestrator, before)
        with open_sources(paths, is_quiet=True, is_read_twice=True) as sources:
            plan = RefinePlan(
                sources.places,
                validation,
                success_at,
                seed,
                dry_run,
                is_quiet,
                orchestrator=orchestrator,
                models=models,
            )
            try:
                result = refine_handbook(before, handbook, plan, learning)
            finally:
                if models is not None:
                    models.say_result()
    click.echo(_render(result, output, seed), nl=output == "json")
    ctx.exit(EXIT_NO if result.counts.bad_lines else EXIT_OK)


def _render(result: RefineResult, output: str, seed: int) -> str:
    from skillctl.report.refinement import render_refinement, render_refinement_json

    if output == "json":
        return render_refinement_json(result.verdicts, result.counts, seed=seed, changed=result.changed)
    return render_refinement(result.verdicts, result.counts, markdown=output == "markdown")
