"""``skillctl learn``: discover, profile, refine and select in one go."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import click

from skillctl.cli.commits import begin_commit, commit_options
from skillctl.cli.llm_options import SHARED_BUDGET, llm_options
from skillctl.cli.named_orchestrators import EMBEDDED, is_language_model
from skillctl.cli.options import dry_run_option, handbook_argument
from skillctl.cli.profile import IS_STEP, say_left_out
from skillctl.core.profile.pricing import Budget
from skillctl.errors import EXIT_NO, EXIT_OK, InvalidHandbookError, SkillctlError, UsageError
from skillctl.store.trace_split import TraceParts, split_traces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillctl.cli.llm_options import LlmOptions

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
    "--orchestrator",
    default=EMBEDDED,
    show_default=True,
    metavar="NAME",
    help="Who names the skills, and for whom they are selected: embedded, logged, or a language model.",
)
@click.option(
    "--labels/--no-labels", default=True, help="Whether `task` labels are candidate skills.  [default: labels]"
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all random draws.")
@llm_options
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
    model_options: LlmOptions,
    commit: bool,
    branch: str | None,
    dry_run: bool,
) -> None:
    """Discover skills, profile agents, refine the skills and select their granularity, one commit each with --commit.

    At the end all traces are counted as evidence, those kept aside as well. With --dry-run all of it happens to a
    copy, and the difference is shown. Where all traces were counted before, a copy tells first whether anything would
    change; if not, nothing is written or committed. Skills that were refined with the same traces are not discovered
    anew. A language model as orchestrator names the skills to profile, refine and select by, and --max-cost holds for
    all of that together.

    \b
      skillctl learn my-handbook --traces traces.jsonl.gz --dry-run
      skillctl learn my-handbook --traces traces.jsonl.gz --commit --branch learn-june
    """
    if "-" in (*paths, *validation):
        message = "learn reads each log several times, so it cannot read standard input"
        raise UsageError(message, hint="write the traces to a file")
    begin_commit(handbook, commit=commit, branch=branch, dry_run=dry_run)
    ctx.meta[SHARED_BUDGET] = Budget(model_options.max_cost)
    with tempfile.TemporaryDirectory(prefix="skillctl-learn-") as folder:
        parts = TraceParts(paths, validation) if validation else _keep_aside(paths, Path(folder))
        steps = _plan(parts, paths, _Orchestrator(orchestrator, model_options), labels=labels, seed=seed)
        if _has_refined(handbook, parts, orchestrator):
            _say(
                ctx,
                "discover is left out: its skills were refined with these traces since, and it would bring them back",
            )
            steps = steps[1:]
        if dry_run:
            code: int | None = _show_difference(ctx, handbook, steps, Path(folder))
        else:
            code = None if validation else _learn_again(ctx, handbook, paths, steps, Path(folder))
        if code is None:
            code = _run_steps(ctx, handbook, steps, shared=("--commit",) if commit else ())
    ctx.exit(code)


def _has_refined(handbook: Path, parts: TraceParts, orchestrator: str) -> bool:
    """Tell whether refinement came to its end with these traces and the skills as they are."""
    from skillctl.core.refine.refining import is_refined
    from skillctl.store.handbook_dir import load_handbook
    from skillctl.store.ledger import digest_logs

    noted = orchestrator if is_language_model(orchestrator) else None
    return is_refined(load_handbook(handbook), digest_logs(parts.training), digest_logs(parts.validation), noted)


def _show_difference(ctx: click.Context, handbook: Path, steps: list[_Step], folder: Path) -> int:
    """Run the steps on a copy, say what they make of it, and return the exit code."""
    with _open_copy(handbook, folder) as copy:
        code = _run_steps(ctx, copy, steps)
        if code <= EXIT_NO:
            click.echo(_tell_difference(handbook, copy), nl=False)
    return code


def _learn_again(
    ctx: click.Context, handbook: Path, paths: tuple[str, ...], steps: list[_Step], folder: Path
) -> int | None:
    """Run the steps on a copy of a handbook that has counted all these logs; ``None`` if they have to be run on itself.

    They count a part of the traces first and all of them at the end: two commits that take each other back where
    nothing is left to learn.
    """
    from skillctl.store.handbook_dir import load_handbook
    from skillctl.store.handbook_revision import snapshot_folder
    from skillctl.store.ledger import are_counted

    if not are_counted(paths, load_handbook(handbook).evidence):
        return None
    _say(ctx, "these traces were counted before; trying on a copy whether anything is left to learn")
    with _open_copy(handbook, folder) as copy, redirect_stdout(StringIO()) as results:
        code = _run_steps(ctx, copy, steps)
    if code <= EXIT_NO and snapshot_folder(copy).files != snapshot_folder(handbook).files:
        return None
    click.echo(results.getvalue(), nl=False)
    _say(ctx, "nothing is left to learn, so nothing changed" if code <= EXIT_NO else "nothing changed")
    return code


@contextmanager
def _open_copy(handbook: Path, folder: Path) -> Iterator[Path]:
    """Copy a handbook into a folder; errors name the handbook of the user."""
    copy = Path(shutil.copytree(handbook, folder / handbook.resolve().name))
    with _naming(copy, handbook):
        yield copy


def _say(ctx: click.Context, sentence: str) -> None:
    if ctx.obj["verbosity"] >= 1:
        click.echo(sentence, err=True)


def _tell_difference(handbook: Path, learned: Path) -> str:
    from skillctl.core.diff.handbook_comparison import compare_handbooks
    from skillctl.report.diff_text import render_diff
    from skillctl.store.handbook_revision import load_pair, snapshot_folder

    comparison = compare_handbooks(*load_pair(snapshot_folder(handbook), snapshot_folder(learned), is_whole=False))
    return "" if comparison.is_empty else render_diff(comparison, None, labels=(str(handbook), "what was learned"))


class _Orchestrator(NamedTuple):
    """Who names the skills, as options of the steps."""

    name: str
    options: LlmOptions

    def for_selecting(self) -> tuple[str, ...]:
        asked = self.options.to_words() if is_language_model(self.name) else ()
        return ("--orchestrator", self.name, *asked)

    def for_naming(self) -> tuple[str, ...]:
        """Where traces name the skills, whoever is embedded names those of the others."""
        return self.for_selecting() if is_language_model(self.name) else ()


@contextmanager
def _naming(copy: Path, handbook: Path) -> Iterator[None]:
    """Let errors name the handbook of the user where it is a copy that they are about."""

    def rename(text: str) -> str:
        return text.replace(str(copy), str(handbook))

    try:
        yield
    except SkillctlError as error:
        error.message, error.where, error.hint = rename(error.message), rename(error.where), rename(error.hint)
        if isinstance(error, InvalidHandbookError):
            error.problems = tuple(map(rename, error.problems))
        raise


def _keep_aside(paths: tuple[str, ...], folder: Path) -> TraceParts:
    target = folder / "parts"
    target.mkdir()
    return split_traces(paths, target, share=VALIDATION_SHARE)


def _plan(
    parts: TraceParts, paths: tuple[str, ...], orchestrator: _Orchestrator, *, labels: bool, seed: int
) -> list[_Step]:
    training = _repeat("--traces", parts.training)
    held_out = _repeat("--validation", parts.validation)
    seeded, named = ("--seed", str(seed)), orchestrator.for_naming()
    steps = [
        _Step("discover", (*training, *seeded, "--labels" if labels else "--no-labels")),
        _Step("profile", (*training, *named)),
        _Step("refine", (*training, *held_out, *seeded, *named)),
        _Step("select", (*held_out, *seeded, *orchestrator.for_selecting())),
    ]
    return steps if parts.training == paths else [*steps, _Step("profile", (*_repeat("--traces", paths), *named))]


def _repeat(option: str, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for value in values for word in (option, value))


def _run_steps(ctx: click.Context, root: Path, steps: list[_Step], *, shared: tuple[str, ...] = ()) -> int:
    """Run the steps in order until one breaks, and return the exit code."""
    from skillctl.store.handbook_dir import load_handbook

    ctx.meta[IS_STEP] = True
    before = load_handbook(root)
    worst = EXIT_OK
    for step in steps:
        _say(ctx, f"== {step.command}")
        code = _run(ctx, step.command, (str(root), *step.arguments, *shared))
        worst = max(worst, code)
        if code > EXIT_NO:
            return code
    if ctx.obj["verbosity"] >= 1:
        say_left_out(before, load_handbook(root))
    return worst


def _run(ctx: click.Context, name: str, words: tuple[str, ...]) -> int:
    """Run one command in this process and return its exit code; an error ends all of them."""
    root = ctx.find_root()
    command = cast("click.Command", cast("click.Group", root.command).get_command(root, name))
    with command.make_context(name, list(words), parent=root) as own:
        try:
            command.invoke(own)
        except click.exceptions.Exit as end:
            return end.exit_code
    return EXIT_OK
