"""``skillctl learn``: discover, profile, refine and select in one go."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import click

from skillctl.cli.commits import begin_commit, commit_options
from skillctl.cli.options import dry_run_option, handbook_argument
from skillctl.errors import EXIT_NO, EXIT_OK, UsageError
from skillctl.store.trace_split import TraceParts, split_traces

VALIDATION_SHARE = 0.3


class _Step(NamedTuple):
    """One command, and what it is for."""

    command: str
    arguments: tuple[str, ...]


@click.command("learn")
@handbook_argument
@click.option("--traces", "paths", multiple=True, required=True, metavar="FILE", help="Trace logs; repeatable.")
@click.option(
    "--validation",
    multiple=True,
    metavar="FILE",
    help="Traces of other queries that gate every edit; without it three tenths of the queries are kept aside.",
)
@click.option(
    "--orchestrator", default="embedded", show_default=True, metavar="NAME", help="For whom skills are selected."
)
@click.option(
    "--labels/--no-labels", default=True, help="Whether `task` labels are candidate skills.  [default: labels]"
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all random draws.")
@commit_options
@dry_run_option
@click.pass_context
def learn_command(
    ctx: click.Context,
    *,
    handbook: Path,
    paths: tuple[str, ...],
    validation: tuple[str, ...],
    orchestrator: str,
    labels: bool,
    seed: int,
    commit: bool,
    branch: str | None,
    dry_run: bool,
) -> None:
    """Discover skills, profile agents, refine the skills and select their granularity, one commit each with --commit.

    At the end all traces are counted as evidence, those kept aside as well. With --dry-run all of it happens to a
    copy, and the difference is shown.

    \b
      skillctl learn my-handbook --traces traces.jsonl.gz --dry-run
      skillctl learn my-handbook --traces traces.jsonl.gz --commit --branch learn-june
    """
    if "-" in (*paths, *validation):
        message = "learn reads each log several times, so it cannot read standard input"
        raise UsageError(message, hint="write the traces to a file")
    begin_commit(handbook, commit=commit, branch=branch, dry_run=dry_run)
    with tempfile.TemporaryDirectory(prefix="skillctl-learn-") as folder:
        root = Path(shutil.copytree(handbook, Path(folder) / handbook.resolve().name)) if dry_run else handbook
        parts = TraceParts(paths, validation) if validation else _keep_aside(paths, Path(folder))
        steps = _plan(parts, paths, orchestrator=orchestrator, labels=labels, seed=seed)
        code = _run_steps(ctx, root, steps, shared=("--commit",) if commit and not dry_run else ())
        if dry_run and code <= EXIT_NO:
            _run(ctx, ["diff", str(handbook), str(root)])
    ctx.exit(code)


def _keep_aside(paths: tuple[str, ...], folder: Path) -> TraceParts:
    target = folder / "parts"
    target.mkdir()
    return split_traces(paths, target, share=VALIDATION_SHARE)


def _plan(parts: TraceParts, paths: tuple[str, ...], *, orchestrator: str, labels: bool, seed: int) -> list[_Step]:
    training = _repeat("--traces", parts.training)
    held_out = _repeat("--validation", parts.validation)
    seeded = ("--seed", str(seed))
    steps = [
        _Step("discover", (*training, *seeded, "--labels" if labels else "--no-labels")),
        _Step("profile", training),
        _Step("refine", (*training, *held_out, *seeded)),
        _Step("select", (*held_out, *seeded, "--orchestrator", orchestrator)),
    ]
    return steps if parts.training == paths else [*steps, _Step("profile", _repeat("--traces", paths))]


def _repeat(option: str, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for value in values for word in (option, value))


def _run_steps(ctx: click.Context, root: Path, steps: list[_Step], *, shared: tuple[str, ...]) -> int:
    """Run the steps in order until one breaks, and return the exit code."""
    worst = EXIT_OK
    for step in steps:
        if ctx.obj["verbosity"] >= 1:
            click.echo(f"== {step.command}", err=True)
        code = _run(ctx, [step.command, str(root), *step.arguments, *shared])
        worst = max(worst, code)
        if code > EXIT_NO:
            break
    return worst


def _run(ctx: click.Context, words: list[str]) -> int:
    """Run one command in this process, as the shell would, and return its exit code."""
    verbosity = ctx.obj["verbosity"]
    flags = ["-q"] * (1 - verbosity) + ["-v"] * (verbosity - 1) + (["--debug"] if ctx.obj["debug"] else [])
    code = ctx.find_root().command.main([*flags, *words], prog_name="skillctl", standalone_mode=False)
    return code if isinstance(code, int) else EXIT_OK
