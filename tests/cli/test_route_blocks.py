from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from skillctl.cli.route_blocks import BLOCK_BYTES, BLOCK_LINES, read_blocks

if TYPE_CHECKING:
    from pathlib import Path

    from skillctl.cli.route_blocks import Block
    from skillctl.model.problem import Problem


def read(path: Path, data: bytes) -> list[Block]:
    path.write_bytes(data)
    problems: list[Problem] = []
    blocks = list(read_blocks(str(path), problems.append))
    assert not problems
    return blocks


def test_blocks_have_the_same_number_of_lines_wherever_pieces_of_the_file_end(tmp_path: Path) -> None:
    lines = [b"x" * (n % 300) + b"y" for n in range(3 * BLOCK_LINES)]
    blocks = read(tmp_path / "in", b"\n\n".join(lines))
    assert [len(block.raw) for block in blocks] == [BLOCK_LINES] * 3
    assert [block.number for block in blocks] == [0, 1, 2]
    assert list(chain.from_iterable(block.raw for block in blocks)) == lines
    assert list(chain.from_iterable(block.lines for block in blocks)) == list(range(1, 2 * len(lines), 2))


def test_a_block_ends_with_the_line_that_makes_it_too_large(tmp_path: Path) -> None:
    line = b"x" * (BLOCK_BYTES // 4 + 1)
    assert [len(block.raw) for block in read(tmp_path / "in", b"\n".join([line] * 9))] == [4, 4, 1]
