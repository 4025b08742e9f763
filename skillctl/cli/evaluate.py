"""``skillctl evaluate``: replay logged outcomes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from skillctl.cli.llm_options import llm_options
from skillctl.cli.options import handbook_argument, output_option, success_at_option
from skillctl.errors import EXIT_NO, EXIT_OK, UsageError

if TYPE_CHECKING:
    from skillctl.cli.llm_options import LlmOptions
    from skillctl.report.evaluation_facts import Report


@click.command("evaluate")
@handbook_argument
@click.option("--traces", "paths", multiple=True, required=True, metavar="FILE", help="Held-out traces; repeatable.")
@click.option(
    "--orchestrator",
    "orchestrators",
    multiple=True,
    default=["embedded"],
    show_default=True,
    metavar="NAME",
    help="Who names the skills: embedded, logged for the weights in the traces, or a language model; repeatable, side "
    "by side.",
)
@click.option("--mode", help="Only traces of this mode.")
@click.option(
    "--lambda",
    "cost_weight",
    type=click.FloatRange(min=0),
    help="Success that a US dollar is worth, not the handbook's.",
)
@click.option(
    "--policy",
    type=click.Choice(["greedy", "thompson", "ucb", "cascade"]),
    default="greedy",
    show_default=True,
    help="cascade: outcomes are verified, and the next agent is asked after a failure.",
)
@click.option(
    "--baseline-traces",
    "training_paths",
    multiple=True,
    metavar="FILE",
    help="What baselines and cascade learn from; without it, other folds of the held-out traces.",
)
@success_at_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of resamples, folds and draws.")
@llm_options
@output_option
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Also write a page with plots.")
@click.option(
    "--fail-under",
    "bounds",
    multiple=True,
    metavar="METRIC=VALUE",
    help="Exit 1 if a metric is lower, or higher where less is better; repeatable.",
)
@click.option(
    "--not-worse-than",
    "other",
    metavar="HANDBOOK|REV",
    help="Exit 1 if accuracy minus lambda times cost is surely lower than another handbook's, or an older revision's.",
)
@click.pass_context
def evaluate_command(
    ctx: click.Context,
    *,
    handbook: Path,
    paths: tuple[str, ...],
    orchestrators: tuple[str, ...],
    mode: str | None,
    cost_weight: float | None,
    policy: str,
    training_paths: tuple[str, ...],
    success_at: float,
    seed: int,
    model_options: LlmOptions,
    output: str,
    html: Path | None,
    bounds: tuple[str, ...],
    other: str | None,
) -> None:
    """Replay logged outcomes: accuracy, cost, curves, calibration and collapse, beside every baseline.

    Intervals are 95 % from paired resamples of the queries. Of a partial log, only logged agents are chosen among,
    and estimates for all queries (ips, snips, dr) stand beside.

    \b
      skillctl evaluate my-handbook --traces held-out.jsonl.gz
      skillctl evaluate my-handbook --traces held-out.jsonl.gz --html report.html --fail-under accuracy=0.7
      skillctl evaluate my-handbook --traces held-out.jsonl.gz --not-worse-than HEAD~1 -o json
    """
    from skillctl.cli.evaluation_run import Request, evaluate_handbook
    from skillctl.cli.named_orchestrators import is_language_model, open_models

    is_quiet = ctx.obj["verbosity"] < 1
    models = open_models(model_options, is_quiet=is_quiet) if any(map(is_language_model, orchestrators)) else None
    request = Request(
        paths=paths,
        training_paths=training_paths,
        orchestrators=tuple(dict.fromkeys(orchestrators)),
        mode=mode,
        cost_weight=cost_weight,
        policy=policy,
        success_at=success_at,
        seed=seed,
        bounds=tuple(_parse_bound(text) for text in bounds),
        other=other,
        is_quiet=is_quiet,
        models=models,
    )
    report = evaluate_handbook(handbook, request)
    if models is not None:
        models.say_result()
    if html is not None:
        _write_page(report, html)
    _print(report, output)
    failed = [gate for gate in report.gates if not gate.passed]
    is_worse = report.comparison is not None and report.comparison.worse
    ctx.exit(EXIT_NO if failed or is_worse or report.bad_lines else EXIT_OK)


def _parse_bound(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        message = f"--fail-under takes METRIC=VALUE, not {text!r}"
        raise UsageError(message, hint="such as accuracy=0.7") from None


def _write_page(report: Report, path: Path) -> None:
    from skillctl.report.evaluation_html import render_page
    from skillctl.store.atomic import write_atomic

    write_atomic(path, render_page(report).encode())


def _print(report: Report, output: str) -> None:
    if output == "json":
        from skillctl.report.evaluation_json import render_evaluation_json

        click.echo(render_evaluation_json(report))
        return
    from skillctl.report.evaluation_text import render_evaluation

    click.echo(render_evaluation(report, markdown=output == "markdown"), nl=False)
