"""The trace logs of a command: read twice where they must be, standard input included, faults said as they occur."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from skillctl.errors import UsageError
from skillctl.store.byte_stream import STDIN, open_binary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillctl.model.problem import Problem

MAX_SHOWN = 20  # faults; the rest is counted


class TraceSources:
    """Logs by the path that the user gave, and the number of faults met in them.

    Attributes:
        places: Where to read each log.
        bad_lines: Faults met so far.
    """

    def __init__(self, places: dict[str, str], *, is_quiet: bool) -> None:
        self.places = places
        self.bad_lines = 0
        self._is_quiet = is_quiet
        self._paths = {place: path for path, place in places.items()}

    def report(self, problem: Problem) -> None:
        """Count a fault, and say it unless many were said."""
        self.bad_lines += 1
        if self._is_quiet:
            return
        if self.bad_lines <= MAX_SHOWN:
            click.echo(str(replace(problem, file=self._paths.get(problem.file, problem.file))), err=True)
        elif self.bad_lines == MAX_SHOWN + 1:
            click.echo("more bad lines are counted and not listed", err=True)


@contextmanager
def open_sources(paths: Sequence[str], *, is_quiet: bool, is_read_twice: bool) -> Iterator[TraceSources]:
    """Give access to logs; standard input is kept in a temporary file where it is read twice."""
    if paths.count(STDIN) > 1:
        message = "standard input can be read only once"
        raise UsageError(message, hint="give - once")
    places = {path: path for path in paths}
    if not (is_read_twice and STDIN in places):
        yield TraceSources(places, is_quiet=is_quiet)
        return
    with tempfile.NamedTemporaryFile(prefix="skillctl-") as copy, open_binary(STDIN) as stdin:
        shutil.copyfileobj(stdin, copy)
        copy.flush()
        yield TraceSources({**places, STDIN: copy.name}, is_quiet=is_quiet)
