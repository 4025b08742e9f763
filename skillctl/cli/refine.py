"""``skillctl refine``: split, merge and add skills by evidence, each edit through the gate of validation."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING

import click

from skillctl.cli.commits import begin_commit, commit_options
from skillctl.cli.llm_options import llm_option, llm_options
from skillctl.cli.options import dry_run_option, handbook_argument, output_option, success_at_option
from skillctl.errors import EXIT_NO, EXIT_OK, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from skillctl.cli.language_models import LanguageModels
    from skillctl.cli.llm_options import LlmOptions
    from skillctl.cli.refine_run import RefinePlan, RefineResult


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
@llm_option
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
    llm: str | None,
    model_options: LlmOptions,
    commit: bool,
    branch: str | None,
    output: str,
    dry_run: bool,
) -> None:
    """Split, merge and add skills where the evidence asks for it.

    A skill is split when agents do differently well on two parts of its queries, siblings are merged when no agent
    tells them apart, and a skill is added where routing failed although some agent succeeded, for what no skill
    explains yet. An edit is made only if routing of the validation queries does not get worse by it, an addition only
    if it gets better. Counts are taken anew from the traces; one that
    names a skill which was split counts for the part that its text is of. A skill with finer ones is split when its
    queries differ beyond what these explain, and they go below the halves.

    A run that proposes nothing changes nothing. One that ends with edits or rejected proposals notes in handbook.yaml
    (`refined`) that nothing is left with these data and skills, so that another run need not try again.

    With --llm, a language model names what the edits make and gives a second opinion on each, in at most two calls a
    proposal. It changes no verdict: a name is used only if routing is as good with it. With --dry-run too it is asked,
    as its replies are kept.

    \b
      skillctl refine my-handbook --traces train.jsonl.gz --validation validation.jsonl.gz --dry-run
      skillctl refine my-handbook --traces train.jsonl.gz --validation validation.jsonl.gz --commit
      skillctl refine my-handbook --traces train.jsonl.gz --validation validation.jsonl.gz --llm openai/gpt-4o-mini
    """
    from skillctl.cli.refine_run import RefinePlan, refine_handbook
    from skillctl.cli.trace_sources import open_sources
    from skillctl.store.handbook_dir import handbook_lock, load_handbook

    is_quiet = ctx.obj["verbosity"] < 1
    models = _open_models(llm, orchestrator, model_options, is_quiet=is_quiet)
    learning = begin_commit(handbook, commit=commit, branch=branch, dry_run=dry_run)
    with nullcontext() if dry_run else handbook_lock(handbook), ExitStack() as stack:
        if models is not None:
            stack.callback(models.say_result)
        before = load_handbook(handbook)
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
                llm=llm,
            )
            result = refine_handbook(before, handbook, plan, learning)
    click.echo(_render(result, output, plan), nl=output == "json")
    ctx.exit(EXIT_NO if result.counts.bad_lines else EXIT_OK)


def _open_models(llm: str | None, orchestrator: str, options: LlmOptions, *, is_quiet: bool) -> LanguageModels | None:
    """Return what opens language models where one is named."""
    from skillctl.cli.named_orchestrators import LOGGED, is_language_model, open_models

    if orchestrator == LOGGED:
        message = "an edit makes skills that no trace names, so logged weights cannot say which queries need them"
        raise UsageError(message, where="--orchestrator", hint="name embedded, or a language model")
    is_asking = llm is not None or is_language_model(orchestrator)
    return open_models(options, is_quiet=is_quiet) if is_asking else None


def _render(result: RefineResult, output: str, plan: RefinePlan) -> str:
    from skillctl.report.refinement import render_refinement, render_refinement_json

    if output == "json":
        return render_refinement_json(
            result.verdicts,
            result.counts,
            seed=plan.seed,
            changed=result.changed,
            llm=plan.llm,
            orchestrator=plan.orchestrator,
        )
    return render_refinement(result.verdicts, result.counts, markdown=output == "markdown")
