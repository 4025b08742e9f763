"""``skillctl profile``: outcomes become posteriors and costs."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from skillctl.cli.commits import Lesson, begin_commit, commit_learning, commit_options
from skillctl.cli.llm_options import llm_options
from skillctl.cli.named_orchestrators import is_language_model, open_models
from skillctl.cli.options import dry_run_option, handbook_argument, output_option, success_at_option
from skillctl.cli.profile_logs import Plan, profile_logs
from skillctl.cli.trace_sources import open_sources
from skillctl.core.profile.half_life import HalfLife, parse_half_life
from skillctl.errors import EXIT_NO, EXIT_OK, InputError, UsageError
from skillctl.store.handbook_dir import handbook_lock, load_handbook, save_handbook

if TYPE_CHECKING:
    from pathlib import Path

    from skillctl.cli.llm_options import LlmOptions
    from skillctl.cli.trace_sources import TraceSources
    from skillctl.model.handbook import Handbook
    from skillctl.report.profile_report import Counts

IS_STEP = "skillctl.is_step"  # what is counted in between is not what is counted in the end
_NO_HALF_LIFE = "none"


@click.command("profile")
@handbook_argument
@click.option(
    "--traces",
    "paths",
    multiple=True,
    required=True,
    metavar="FILE",
    help="A trace log (.jsonl, .jsonl.gz, - for stdin); repeatable.",
)
@click.option("--update", is_flag=True, help="Keep the evidence and add what the ledger does not have.")
@click.option(
    "--half-life",
    metavar="AGE",
    help="Evidence counts half at this age: runs (500) or time (12h, 30d, 2w); none keeps all. It is saved.",
)
@success_at_option
@click.option(
    "--calibrate",
    "is_calibrated",
    is_flag=True,
    help="First choose the orchestrator's temperature and the prior's strength on held-out queries; they are saved.",
)
@click.option("--add-agents", is_flag=True, help="Add agents and modes that the traces have and the handbook has not.")
@click.option(
    "--orchestrator",
    default="embedded",
    show_default=True,
    metavar="NAME",
    help="Who names the skills of traces that name none: embedded, or a language model.",
)
@llm_options
@commit_options
@output_option
@dry_run_option
@click.pass_context
def profile_command(
    ctx: click.Context,
    *,
    handbook: Path,
    paths: tuple[str, ...],
    update: bool,
    half_life: str | None,
    success_at: float,
    is_calibrated: bool,
    add_agents: bool,
    orchestrator: str,
    model_options: LlmOptions,
    commit: bool,
    branch: str | None,
    output: str,
    dry_run: bool,
) -> None:
    """Count outcomes in traces into posteriors and costs.

    Without --update all evidence is recounted from the logs given. Skills that a trace does not name are inferred
    from its query. A trace without a verdict, or that an outside error ended, is no evidence.

    \b
      skillctl profile my-handbook --traces traces.jsonl.gz
      skillctl profile my-handbook --traces traces.jsonl.gz --traces new.jsonl --update
    """
    is_quiet = ctx.obj["verbosity"] < 1
    if is_calibrated and update:
        message = "--calibrate recounts all evidence, --update keeps it"
        raise UsageError(message, hint="calibrate with all logs and without --update")
    models = open_models(model_options, is_quiet=is_quiet) if is_language_model(orchestrator) else None
    learning = begin_commit(handbook, commit=commit, branch=branch, dry_run=dry_run)
    with nullcontext() if dry_run else handbook_lock(handbook):
        original = load_handbook(handbook)
        before = _with_half_life(original, half_life, update=update, root=handbook)
        plan = Plan(
            update=update,
            success_at=success_at,
            half_life=_parse_setting(before, handbook),
            adds=add_agents,
            orchestrator=orchestrator,
            models=models,
        )
        twice = is_calibrated or plan.reads_twice(before)
        with open_sources(paths, is_quiet=is_quiet, is_read_twice=twice) as sources:
            if is_calibrated:
                before = _calibrate(before, sources, success_at)
            after, counts = profile_logs(before, sources, plan)
        if models is not None:
            models.say_result()
        changed = after != original
        if changed and not dry_run:
            save_handbook(after, handbook)
        commit_learning(learning, Lesson("profile", _say_subject(original, after), original, after))
    _report(after, counts, output, changed=changed, is_quiet=is_quiet)
    if not is_quiet and not ctx.meta.get(IS_STEP):
        say_left_out(original, after)
    ctx.exit(EXIT_NO if counts.bad_lines or counts.unknown else EXIT_OK)


def say_left_out(before: Handbook, after: Handbook) -> None:
    """Say on stderr whose evidence is gone, as the logs were counted without it."""
    from skillctl.report.profile_report import render_left_out
    from skillctl.store.ledger import find_left_out

    for sentence in render_left_out(find_left_out(before.evidence, after.evidence)):
        click.echo(sentence, err=True)


def _say_subject(before: Handbook, after: Handbook) -> str:
    from skillctl.report.problems import count_of
    from skillctl.store.learning_commits import describe_evidence

    evidence = describe_evidence(before, after)
    agents = count_of(sum(bool(agent.profiles) for agent in after.agents.values()), "agent")
    return f"Rate {agents} on {evidence}" if evidence else f"Rate {agents} anew on the same logs"


def _calibrate(handbook: Handbook, sources: TraceSources, success_at: float) -> Handbook:
    from skillctl.cli.calibration import calibrate_handbook

    return calibrate_handbook(handbook, sources, success_at=success_at, seed=0)


def _with_half_life(handbook: Handbook, text: str | None, *, update: bool, root: Path) -> Handbook:
    """Return the handbook with the half-life asked for in its settings."""
    if text is None:
        return handbook
    saved = handbook.settings.half_life
    wanted = None if text == _NO_HALF_LIFE else text
    if wanted is not None:
        try:
            parse_half_life(wanted)
        except ValueError as error:
            raise UsageError(str(error), where="--half-life") from error
    if update and handbook.evidence and wanted != saved:
        message = f"the evidence was counted with half-life {saved or _NO_HALF_LIFE}, not {text}"
        raise UsageError(message, where=str(root), hint="recount all logs without --update to change it")
    return replace(handbook, settings=replace(handbook.settings, half_life=wanted))


def _parse_setting(handbook: Handbook, root: Path) -> HalfLife | None:
    text = handbook.settings.half_life
    try:
        return None if text is None else parse_half_life(text)
    except ValueError as error:
        raise InputError(str(error), where=f"{root / 'handbook.yaml'}::$.settings.half_life") from error


def _report(after: Handbook, counts: Counts, output: str, *, changed: bool, is_quiet: bool) -> None:
    from skillctl.report.profile_report import render_counts, render_profile, render_profile_json

    if output == "json":
        click.echo(render_profile_json(after, counts, changed=changed))
    else:
        click.echo(render_profile(after, markdown=output == "markdown"))
    if not is_quiet:
        for sentence in render_counts(counts):
            click.echo(sentence, err=True)
    if counts.unknown:
        click.echo("add agents and modes with --add-agents, and recount without --update", err=True)
