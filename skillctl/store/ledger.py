"""The ledger of counted evidence: which logs, how far, and whether what was counted still stands there."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from skillctl.errors import InputError
from skillctl.model.handbook import EvidenceSource
from skillctl.store.byte_stream import STDIN, read_pieces

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

_DIGEST_SIZE = 16
_PREFIX = "blake2b:"


class SourceMeter:
    """Measures a log while it is counted."""

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=_DIGEST_SIZE)
        self.bytes = 0

    def add(self, data: bytes) -> None:
        """Take in the next bytes of the log."""
        self._hash.update(data)
        self.bytes += len(data)

    @property
    def digest(self) -> str:
        """The digest of all bytes so far, as the ledger writes it."""
        return _PREFIX + self._hash.hexdigest()


def source_name(path: str) -> str:
    """Return the name of a log in the ledger: its base name, or ``-`` for standard input."""
    return path if path == STDIN else Path(path).name


def match_sources(paths: Mapping[str, str], ledger: Sequence[EvidenceSource]) -> dict[str, EvidenceSource | None]:
    """Return, for each log, the entry of the ledger that it is or has grown from.

    Args:
        paths: Where to read each log, by its path as the user gave it.
        ledger: What was counted before.

    Raises:
        InputError: If a log has the name of one that was counted, but no longer begins with what was counted.
    """
    matches = {path: _find_entry(place, ledger) for path, place in paths.items()}
    claimed = [entry for entry in matches.values() if entry is not None]
    for path, entry in matches.items():
        if entry is None and path != STDIN:
            _refuse_rewritten(path, [other for other in ledger if other not in claimed])
    return matches


def are_counted(paths: Sequence[str], ledger: Sequence[EvidenceSource]) -> bool:
    """Tell whether all logs were counted to their end, and no others."""
    return {digest_logs([path]) for path in paths} == {entry.digest for entry in ledger}


def find_left_out(before: Iterable[EvidenceSource], after: Sequence[EvidenceSource]) -> list[EvidenceSource]:
    """Return the logs that were counted before and are not any more; one that has grown or was replaced still is."""
    digests = {entry.digest for entry in after}
    names = {_bare_name(entry.name) for entry in after}
    return [entry for entry in before if entry.digest not in digests and _bare_name(entry.name) not in names]


def digest_logs(paths: Sequence[str]) -> str:
    """Return the digest of the decompressed bytes of all logs together."""
    meter = SourceMeter()
    for path in paths:
        for piece in read_pieces(path, _ignore_fault):
            meter.add(piece)
    return meter.digest


def _find_entry(place: str, ledger: Sequence[EvidenceSource]) -> EvidenceSource | None:
    """Return the longest entry with which a log begins."""
    digests = _digest_prefixes(place, {entry.bytes for entry in ledger})
    found = [entry for entry in ledger if digests.get(entry.bytes) == entry.digest]
    return max(found, key=lambda entry: entry.bytes, default=None)


def _digest_prefixes(place: str, lengths: Collection[int]) -> dict[int, str]:
    """Return the digest over the first so many bytes, for each length that the log has."""
    digests: dict[int, str] = {}
    meter = SourceMeter()
    pending = sorted(lengths)
    for piece in read_pieces(place, _ignore_fault) if pending else ():
        start = meter.bytes
        while pending and pending[0] <= start + len(piece):
            length = pending.pop(0)
            meter.add(piece[meter.bytes - start : length - start])
            digests[length] = meter.digest
        if not pending:
            break
        meter.add(piece[meter.bytes - start :])
    return digests


def _ignore_fault(_: str) -> None:
    """Leave the report of damage to the reading that counts."""


def _refuse_rewritten(path: str, unclaimed: Iterable[EvidenceSource]) -> None:
    name = _bare_name(source_name(path))
    for entry in unclaimed:
        if _bare_name(entry.name) == name:
            message = f"a log of this name was counted, but its first {entry.bytes} bytes are not the same any more"
            hint = "recount all logs without --update; or, if this is another log, give it another name"
            raise InputError(message, where=path, hint=hint)


def _bare_name(name: str) -> str:
    """Return the name of a log whether or not it is compressed."""
    return name.removesuffix(".gz")


def update_ledger(
    ledger: Iterable[EvidenceSource], counted: Iterable[tuple[EvidenceSource | None, EvidenceSource]]
) -> tuple[EvidenceSource, ...]:
    """Return the ledger in order of name and digest, with each log once.

    Args:
        ledger: What was counted before.
        counted: For each log that was read now, its entry before (or ``None``) and the part that is new.
    """
    entries = {entry.digest: entry for entry in ledger}
    for before, new in counted:
        if new.digest in entries or not new.bytes:
            continue  # nothing that was not counted before
        if before is not None:
            entries.pop(before.digest, None)
        entries[new.digest] = new if before is None else _grow(before, new)
    return tuple(sorted(entries.values(), key=lambda entry: (entry.name, entry.digest)))


def _grow(before: EvidenceSource, new: EvidenceSource) -> EvidenceSource:
    newest = [time for time in (before.newest_s, new.newest_s) if time is not None]
    return EvidenceSource(
        name=new.name,
        digest=new.digest,
        bytes=new.bytes,
        traces=before.traces + new.traces,
        no_verdict=before.no_verdict + new.no_verdict,
        newest_s=max(newest, default=None),
    )
