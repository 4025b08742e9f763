"""``skillctl validate``: all problems of handbooks at once."""

from __future__ import annotations

from pathlib import Path

import click

from skillctl.errors import EXIT_NO, InputError, UsageError
from skillctl.model.problem import Problem
from skillctl.report.problems import count_of, render_problems, render_problems_json
from skillctl.store.handbook_dir import find_problems
from skillctl.store.handbook_files import FOLDER_KINDS, HANDBOOK_FILE, is_handbook


@click.command("validate")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Form of the result.",
)
@click.option(
    "--traces", multiple=True, metavar="FILE", help="Also check the conversations of a trace log; repeatable."
)
@click.option("--max-turns", type=click.IntRange(min=1), help="With --traces: so many steps are allowed.")
@click.pass_context
def validate_command(
    ctx: click.Context, paths: tuple[Path, ...], output: str, traces: tuple[str, ...], max_turns: int | None
) -> None:
    """Check the schema and the cross-references of handbooks.

    PATH is a handbook, a folder with handbooks in it, or a file of a handbook, as pre-commit passes them. Every
    problem is listed with file, line and JSON path; the exit code is 1 if there is one. With --traces, a conversation
    must name modes, agents and skills of the handbook, and have one final answer at its end.

    \b
      skillctl validate handbooks
      skillctl validate my-handbook -o json
      skillctl validate my-handbook --traces run.jsonl --max-turns 6
    """
    handbooks = list({root.resolve(): root for path in paths for root in _find_handbooks(path)}.values())
    problems = [problem for root in handbooks for problem in find_problems(root)]
    if traces and not problems:
        problems = _check_traces(handbooks, traces, max_turns)
    if output == "json":
        click.echo(render_problems_json(handbooks, problems))
    else:
        click.echo(render_problems(problems), nl=False)
    if ctx.obj["verbosity"] > 0:
        click.echo(f"{count_of(len(handbooks), 'handbook')}, {count_of(len(problems), 'problem')}", err=True)
    ctx.exit(EXIT_NO if problems else 0)


def _check_traces(handbooks: list[Path], sources: tuple[str, ...], max_turns: int | None) -> list[Problem]:
    from skillctl.core.run.protocol import ProtocolChecker
    from skillctl.store.handbook_dir import load_handbook
    from skillctl.store.jsonl import parse_object, read_lines
    from skillctl.store.traces import TraceError, parse_trace

    if len(handbooks) != 1:
        message = "--traces are checked against one handbook"
        raise UsageError(message, hint="name one handbook")
    checker = ProtocolChecker(load_handbook(handbooks[0]), max_turns=max_turns)
    problems: list[Problem] = []
    for source in sources:
        for line, raw in read_lines(source, problems.append):
            try:
                breaches = checker.find_breaches(parse_trace(parse_object(raw)))
            except TraceError as error:
                problems.append(Problem(source, line, error.path, str(error)))
            except ValueError as error:
                problems.append(Problem(source, line, "$", str(error)))
            else:
                problems += [Problem(source, line, breach.path, breach.message) for breach in breaches]
    return problems


def _find_handbooks(path: Path) -> list[Path]:
    if not path.exists():
        message = "does not exist"
        raise InputError(message, where=str(path), hint=f"make a handbook with `skillctl init {path}`")
    above = [folder for folder in (path, path.parent, path.parent.parent) if is_handbook(folder)]
    if above:
        return above[:1]
    below = sorted(file.parent for file in path.rglob(HANDBOOK_FILE)) if path.is_dir() else []
    if below:
        return below
    folder = path if path.is_dir() else path.parent
    for candidate in (folder, folder.parent):
        if any((candidate / kind.folder).is_dir() for kind in FOLDER_KINDS):
            return [candidate]  # a handbook that lacks its handbook.yaml, which is its first problem
    message = f"neither is nor holds a handbook: there is no {HANDBOOK_FILE}"
    raise InputError(message, where=str(path), hint="name the folder of a handbook")
