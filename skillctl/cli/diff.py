"""``skillctl diff``: what changed in a handbook, how sure it is, and which traffic moves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from skillctl.cli.options import handbook_argument, output_option
from skillctl.errors import EXIT_NO, EXIT_OK, UsageError

if TYPE_CHECKING:
    from skillctl.core.diff.change_effect import Effect
    from skillctl.core.diff.handbook_comparison import Comparison
    from skillctl.store.git import Repository
    from skillctl.store.handbook_revision import Pair, Snapshot

_MOST_REVISIONS = 2


@click.command("diff")
@handbook_argument
@click.argument("revisions", metavar="[REV [REV]]", nargs=-1)
@click.option("--queries", "path", metavar="FILE", help="Queries or traces (JSONL): say which of them move.")
@click.option("--lambda", "cost_weight", type=click.FloatRange(min=0), help="Success that a US dollar is worth.")
@click.option("--mode", help="Mode of queries that name none, instead of the handbook's default.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if anything changed.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the bootstrap.")
@output_option
@click.pass_context
def diff_command(
    ctx: click.Context,
    *,
    handbook: Path,
    revisions: tuple[str, ...],
    path: str | None,
    cost_weight: float | None,
    mode: str | None,
    exit_code: bool,
    seed: int,
    output: str,
) -> None:
    """Say what changed in a handbook, how sure it is, and with --queries which traffic moves.

    Without a revision the folder is compared with HEAD, with one the folder with that revision, with two (or A..B, or
    A...B from their common ancestor) the second with the first. A second folder in place of a revision compares the
    two folders, without git. Nothing is printed when nothing changed.

    \b
      skillctl diff my-handbook
      skillctl diff my-handbook main...HEAD --queries traces.jsonl.gz -o markdown
      skillctl diff old-handbook new-handbook --exit-code
    """
    from skillctl.cli.diff_effect import EffectOptions, find_effect
    from skillctl.core.diff.handbook_comparison import compare_handbooks
    from skillctl.store.handbook_revision import load_pair

    before, after = open_sides(handbook, revisions)
    pair = load_pair(before, after, is_whole=path is not None)
    comparison = compare_handbooks(*pair)
    effect = None
    if path is not None and not comparison.is_empty:
        effect = find_effect(pair, EffectOptions(path, cost_weight, mode, seed))
    shown = _render(comparison, effect, pair, (before.label, after.label), output)
    click.echo(shown, nl=False)
    ctx.exit(EXIT_NO if exit_code and not comparison.is_empty else EXIT_OK)


def open_sides(handbook: Path, revisions: tuple[str, ...]) -> tuple[Snapshot, Snapshot]:
    """Return the older and the newer handbook that the arguments name.

    Raises:
        UsageError: If they name too many.
        InputError: If one of them is not there.
    """
    from skillctl.store.git import open_repository
    from skillctl.store.handbook_files import is_handbook
    from skillctl.store.handbook_revision import snapshot_folder, snapshot_revision

    if len(revisions) == 1 and is_handbook(Path(revisions[0])):
        return snapshot_folder(handbook), snapshot_folder(Path(revisions[0]))
    repository = open_repository(handbook, instead="name two folders to compare")
    ends = _split_revisions(repository, revisions)
    older = snapshot_revision(repository, handbook, ends[0]) if repository.has_commits() or revisions else None
    newer = snapshot_revision(repository, handbook, ends[1]) if len(ends) > 1 else snapshot_folder(handbook)
    return _fill_missing(older, newer)


def _split_revisions(repository: Repository, revisions: tuple[str, ...]) -> list[str]:
    if len(revisions) > _MOST_REVISIONS:
        message = f"at most two revisions can be compared, not {len(revisions)}"
        raise UsageError(message)
    if len(revisions) != 1 or ".." not in revisions[0]:
        return list(revisions) or ["HEAD"]
    one, dots, other = revisions[0].partition("..." if "..." in revisions[0] else "..")
    one, other = one or "HEAD", other or "HEAD"
    if dots == "...":
        one = repository.merge_base(repository.resolve(one), repository.resolve(other))
    return [one, other]


def _fill_missing(older: Snapshot | None, newer: Snapshot) -> tuple[Snapshot, Snapshot]:
    """Compare a handbook that was not there on one side with an empty one of its name."""
    from skillctl.store.handbook_revision import Snapshot, empty_like

    if older is None or older.is_missing:
        label = "nothing" if older is None else f"{older.label} (no handbook)"
        return Snapshot(label, empty_like(newer)), newer
    if newer.is_missing:
        return older, Snapshot(f"{newer.label} (no handbook)", empty_like(older))
    return older, newer


def _render(comparison: Comparison, effect: Effect | None, pair: Pair, labels: tuple[str, str], output: str) -> str:
    from skillctl.report.diff_json import render_diff_json
    from skillctl.report.diff_text import render_diff, render_diff_markdown

    if comparison.is_empty:
        return ""
    if output == "json":
        return render_diff_json(comparison, effect, labels=labels) + "\n"
    if output == "markdown":
        return render_diff_markdown(comparison, effect, labels=labels, name=pair.after.name)
    return render_diff(comparison, effect, labels=labels)
