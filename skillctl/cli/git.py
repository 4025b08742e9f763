"""``skillctl git``: readable diffs, and merges that add evidence, within git itself."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from skillctl.cli.options import handbook_argument
from skillctl.errors import EXIT_NO, EXIT_OK, SkillctlError

_NULL = "/dev/null"
_PLAIN_ARGUMENTS = 7  # of an external diff: path, and file, id and mode of both sides; a rename adds two


@click.group("git")
def git_command() -> None:
    """Set up git for a handbook: readable diffs, and merges that add the evidence of both sides.

    \b
      skillctl git install my-handbook
      skillctl git uninstall my-handbook
    """


@git_command.command("install")
@handbook_argument
@click.option("--external-diff", is_flag=True, help="Let `git diff` say what changed in meaning, in sentences.")
def install_command(handbook: Path, *, external_diff: bool) -> None:
    """Set up diff and merge drivers for a handbook: .gitattributes, git config and a post-merge hook.

    The settings are of this clone; .gitattributes is committed and does no harm where they are missing. To do it
    twice changes nothing.

    \b
      skillctl git install my-handbook
    """
    from skillctl.store.git import open_repository
    from skillctl.store.git_setup import install
    from skillctl.store.handbook_files import require_folder

    require_folder(handbook)
    repository = open_repository(handbook)
    _say(install(repository, repository.path_of(handbook), external_diff=external_diff), "set up", "is set up already")


@git_command.command("uninstall")
@handbook_argument
def uninstall_command(handbook: Path) -> None:
    """Undo `install`.

    \b
      skillctl git uninstall my-handbook
    """
    from skillctl.store.git import open_repository
    from skillctl.store.git_setup import uninstall

    repository = open_repository(handbook)
    _say(uninstall(repository, repository.path_of(handbook)), "undone", "was not set up")


@git_command.command("settle")
@handbook_argument
def settle_command(handbook: Path) -> None:
    """Fit the posteriors anew to the evidence, as after a merge, a rebase or a cherry-pick of profiles.

    The prior of every competence is fitted over all agents and skills, so it moves when evidence comes together.

    \b
      skillctl git settle my-handbook
    """
    from skillctl.core.diff.handbook_merge import recount_posteriors
    from skillctl.store.handbook_dir import handbook_lock, load_handbook, save_handbook

    with handbook_lock(handbook):
        changed = save_handbook(recount_posteriors(load_handbook(handbook)), handbook)
    _say([str(path) for path in changed], "fitted", "the posteriors follow from the evidence already")


def _say(items: list[str], done: str, nothing: str) -> None:
    for item in items:
        click.echo(f"{done}: {item}", err=True)
    if not items:
        click.echo(nothing, err=True)


@git_command.command("after-merge", hidden=True)
@click.argument("folder")
@click.argument("is_squash", default="0")
def after_merge_command(folder: str, is_squash: str) -> None:
    """Run by the post-merge hook: bring the posteriors of a clean merge to what both sides' evidence gives."""
    from skillctl.cli.settled_merge import settle_merge
    from skillctl.store.git import open_repository
    from skillctl.store.handbook_files import is_handbook

    if is_squash == "0":
        repository = open_repository(Path.cwd())
        if not is_handbook(repository.root / folder):
            return  # hooks may be shared by repositories, and branches may lack the handbook
        said = settle_merge(repository, repository.root / folder)
        if said:
            click.echo(said, err=True)


@git_command.command("textconv", hidden=True)
@click.argument("path", type=click.Path(path_type=Path))
def textconv_command(path: Path) -> None:
    """Run by git: print a file for people; whatever cannot be read is printed as it is."""
    data = path.read_bytes()
    sys.stdout.buffer.write(_readable(data))
    sys.stdout.buffer.flush()


def _readable(data: bytes) -> bytes:
    """Return an agent's file with its numbers in words; git gives no name to tell the kind by."""
    if b"{alpha: " not in data:
        return data
    from skillctl.report.file_text import render_agent_text
    from skillctl.store.handbook_file import decode_part, kind_of_path, read_part

    kind = kind_of_path("agents/any.yaml")
    try:
        agents = decode_part(read_part(data, kind)).agents if kind else {}
    except SkillctlError:
        return data
    return "".join(render_agent_text(agent, data.decode()) for agent in agents.values()).encode() or data


@git_command.command("external-diff", hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def external_diff_command(arguments: tuple[str, ...]) -> None:
    """Run by git with a path, and file, id and mode of both sides; a rename adds the new name and a message."""
    if not arguments:
        return
    path = arguments[0]
    if len(arguments) < _PLAIN_ARGUMENTS:
        click.echo(f"* unmerged path {path}")
        return
    new_path = arguments[_PLAIN_ARGUMENTS] if len(arguments) > _PLAIN_ARGUMENTS else path
    old, new = (_read_side(side) for side in (arguments[1], arguments[4]))
    click.echo(f"diff --skillctl a/{path} b/{new_path}")
    if new_path != path:
        click.echo(f"renamed from {path} to {new_path}")
    click.echo(_explain(path, (old, new)) or _compare_lines((path, new_path), old, new), nl=False)


def _read_side(path: str) -> bytes:
    """Return one side's content; a file that is not there is empty, as is a submodule's folder."""
    place = Path(path)
    return place.read_bytes() if path != _NULL and place.is_file() else b""


def _explain(path: str, sides: tuple[bytes, bytes]) -> str:
    """Return what changed in meaning, or nothing where the text must speak."""
    from skillctl.core.diff.handbook_comparison import compare_handbooks
    from skillctl.report.diff_text import render_findings
    from skillctl.store.handbook_file import decode_part, kind_of_path, read_part

    kind = kind_of_path(path)
    try:
        before, after = (decode_part(read_part(side, kind) if side.strip() and kind else None) for side in sides)
    except SkillctlError:
        return ""
    return render_findings(compare_handbooks(before, after)) if kind else ""


def _compare_lines(names: tuple[str, str], old: bytes, new: bytes) -> str:
    from difflib import unified_diff

    if b"\0" in old or b"\0" in new:
        return "binary files differ\n"
    before, after = (side.decode("utf-8", "replace").splitlines(keepends=True) for side in (old, new))
    lines = unified_diff(before, after, f"a/{names[0]}", f"b/{names[1]}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


@git_command.command("merge-driver", hidden=True)
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("ours", type=click.Path(path_type=Path))
@click.argument("theirs", type=click.Path(path_type=Path))
@click.argument("marker_size", type=int)
@click.argument("path")
@click.pass_context
def merge_driver_command(
    ctx: click.Context, *, base: Path, ours: Path, theirs: Path, marker_size: int, path: str
) -> None:
    """Run by git: merge a file, write the result over OURS, exit with 1 on conflicts."""
    from skillctl.store.git import GitError, open_repository
    from skillctl.store.merge_driver import Sides, merge_file

    try:
        repository = open_repository(Path.cwd())
    except GitError:
        repository = None
    merged = merge_file(Sides(*(side.read_bytes() for side in (base, ours, theirs))), path, repository, marker_size)
    ours.write_bytes(merged.data)
    ctx.exit(EXIT_NO if merged.has_conflicts else EXIT_OK)
