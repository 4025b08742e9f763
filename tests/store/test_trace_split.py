"""A query is in one part of a split log, never in both."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

from skillctl.store.trace_split import split_traces

if TYPE_CHECKING:
    from pathlib import Path


def _queries(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - a path as text
        return [json.loads(line)["query"] for line in file if line.startswith('{"')]


def test_the_text_of_a_query_decides_its_part_whatever_the_log(tmp_path: Path) -> None:
    lines = [json.dumps({"query": f"q{number % 200}", "agent": f"a{number}"}) for number in range(400)]
    plain, packed = tmp_path / "one.jsonl", tmp_path / "two.jsonl.gz"
    plain.write_text("\n".join([*lines[:200], "{broken"]), encoding="utf-8")
    packed.write_bytes(gzip.compress("\n".join(lines[200:]).encode()))
    (tmp_path / "parts").mkdir()
    parts = split_traces([str(plain), str(packed)], tmp_path / "parts", share=0.3)
    training, validation = ({query for path in paths for query in _queries(path)} for paths in parts)
    assert not training & validation
    assert len(training | validation) == 200
    assert 40 <= len(validation) <= 80
    assert [path.rsplit("/", 1)[1] for path in parts.training] == ["one.jsonl", "two.jsonl"]
    with open(parts.training[0], encoding="utf-8") as file:  # noqa: PTH123
        assert "{broken" in file.read()
