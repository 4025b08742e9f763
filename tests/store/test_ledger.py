from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from skillctl.errors import InputError
from skillctl.model.handbook import EvidenceSource
from skillctl.store.ledger import SourceMeter, are_counted, match_sources, source_name, update_ledger

if TYPE_CHECKING:
    from pathlib import Path


def _entry(content: bytes, name: str = "t.jsonl", traces: int = 1) -> EvidenceSource:
    meter = SourceMeter()
    meter.add(content)
    return EvidenceSource(name, meter.digest, meter.bytes, traces)


def _match(path: Path, *ledger: EvidenceSource) -> EvidenceSource | None:
    return match_sources({str(path): str(path)}, ledger)[str(path)]


def _write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("content", [b"one\n", b"one\ntwo\n"])
def test_a_log_is_recognised_by_how_it_begins(tmp_path: Path, content: bytes) -> None:
    entry = _entry(b"one\n")
    assert _match(_write(tmp_path / "t.jsonl", content), entry) == entry
    assert _match(_write(tmp_path / "other.gz", gzip.compress(content)), entry) == entry


def test_of_several_entries_the_longest_is_taken(tmp_path: Path) -> None:
    entries = [_entry(b"one\n"), _entry(b"one\ntwo\n"), _entry(b"one\nsix\n"), _entry(b"x" * 99, "u")]
    assert _match(_write(tmp_path / "new", b"one\ntwo\nthree\n"), *entries) == entries[1]


def test_a_long_log_is_digested_in_pieces(tmp_path: Path) -> None:
    content = bytes(range(256)) * 20_000
    entries = [_entry(content[:end]) for end in (5, 1 << 20, (1 << 20) + 1, len(content) - 3)]
    for entry in entries:
        assert _match(_write(tmp_path / "big", content), entry) == entry


@pytest.mark.parametrize("content", [b"two\n", b"on", b""])
def test_a_log_of_the_same_name_that_begins_otherwise_is_an_error(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match="not the same any more"):
        _match(_write(tmp_path / "t.jsonl", content), _entry(b"one\n", "t.jsonl.gz"))


def test_a_new_log_may_have_the_name_of_one_that_is_given_too(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    old, new = _write(tmp_path / "t.jsonl", b"one\n"), _write(tmp_path / "a" / "t.jsonl", b"two\n")
    entry = _entry(b"one\n")
    assert match_sources({str(path): str(path) for path in (old, new)}, [entry]) == {str(old): entry, str(new): None}


def test_the_ledger_is_in_order_of_name_and_has_each_log_once() -> None:
    one, two, grown = _entry(b"one\n", "z"), _entry(b"two\n", "a", 2), _entry(b"one\ntwo\n", "z2", 5)
    assert update_ledger([one], [(None, two)]) == (two, one)
    assert update_ledger([one], [(None, one), (one, one), (None, _entry(b""))]) == (one,)
    (entry,) = update_ledger([one], [(one, grown)])
    assert (entry.name, entry.digest, entry.bytes, entry.traces) == ("z2", grown.digest, 8, 6)


def test_logs_are_counted_where_the_ledger_has_all_of_them_to_the_end_and_nothing_else(tmp_path: Path) -> None:
    entry, other = _entry(b"one\n"), _entry(b"two\n", "u")
    path = str(_write(tmp_path / "t.gz", gzip.compress(b"one\n")))
    assert are_counted([path], [entry])
    assert not are_counted([path], [entry, other])
    assert not are_counted([path], [])
    assert not are_counted([str(_write(tmp_path / "grown", b"one\ntwo\n"))], [entry])


def test_standard_input_keeps_its_name() -> None:
    assert [source_name(path) for path in ("-", "a/b.jsonl", "./x.gz")] == ["-", "b.jsonl", "x.gz"]
