"""The trace logs of a command: read twice where they must be, standard input included, faults said as they occur."""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skillctl.errors import UsageError
from skillctl.store.byte_stream import STDIN, open_binary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from skillctl.model.problem import Problem

MAX_SHOWN = 20  # faults; the rest is counted


class TraceSources:
    """Logs by the path that the user gave, and the number of faults met in them.

    Attributes:
        places: Where to read each log.
        bad_lines: Faults met so far.
        on_read: Told of bytes that were read, where a progress bar is shown.
    """

    on_read: Callable[[int], object] | None = None

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
        with _show_progress(TraceSources(places, is_quiet=is_quiet), is_quiet=is_quiet) as sources:
            yield sources
        return
    with tempfile.NamedTemporaryFile(prefix="skillctl-") as copy, open_binary(STDIN) as stdin:
        shutil.copyfileobj(stdin, copy)
        copy.flush()
        places[STDIN] = copy.name
        with _show_progress(TraceSources(places, is_quiet=is_quiet), is_quiet=is_quiet) as sources:
            yield sources


@contextmanager
def _show_progress(sources: TraceSources, *, is_quiet: bool) -> Iterator[TraceSources]:
    """Show on a terminal how far the logs were read; nothing where standard error is none."""
    if is_quiet or not sys.stderr.isatty():
        yield sources
        return
    from tqdm import tqdm

    files = [Path(place) for place in sources.places.values()]
    total = sum(file.stat().st_size for file in files) if all(file.is_file() for file in files) else None
    with tqdm(total=total, unit="B", unit_scale=True, file=sys.stderr, leave=False) as bar:
        sources.on_read = bar.update
        yield sources
