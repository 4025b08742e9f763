"""Parts of a trace log for training and validation, by query, so that no query is in both."""

from __future__ import annotations

from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from skillctl.store.jsonl import parse_object, read_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillctl.model.problem import Problem


class TraceParts(NamedTuple):
    """Paths of the parts of each log, in the order of the logs."""

    training: tuple[str, ...]
    validation: tuple[str, ...]


def split_traces(paths: Sequence[str], folder: Path, *, share: float) -> TraceParts:
    """Write the parts of logs into a folder, each under the name of its log.

    A query's text alone decides where its traces go. A line that is no trace goes to the training part, where it is
    reported.

    Args:
        paths: Logs, plain or gzipped.
        folder: Where to write; it exists.
        share: Of the queries for validation, between 0 and 1.
    """
    parts: tuple[list[str], list[str]] = ([], [])
    for number, path in enumerate(paths):
        stem = Path(path).name.removesuffix(".gz")
        targets = [folder / f"{part}-{number}" / stem for part in ("training", "validation")]
        with ExitStack() as stack:
            files = []
            for target in targets:
                target.parent.mkdir()
                files.append(stack.enter_context(target.open("wb")))
            for _, raw in read_lines(path, _ignore):
                files[_belongs_to_validation(raw, share)].write(raw + b"\n")
        for names, target in zip(parts, targets, strict=True):
            names.append(str(target))
    return TraceParts(tuple(parts[0]), tuple(parts[1]))


def _belongs_to_validation(raw: bytes, share: float) -> bool:
    try:
        query = parse_object(raw).get("query")
    except ValueError:
        return False
    digest = blake2b(str(query).encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big") < share * 2**32


def _ignore(_: Problem) -> None:
    """Leave the report of faults to the command that reads the parts."""
