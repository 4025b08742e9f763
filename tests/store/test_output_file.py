from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from skillctl.store.output_file import open_output


def test_a_file_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o640)
    with open_output(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def write_half(path: Path) -> None:
    with open_output(path) as file:
        file.write(b"half")
        message = "half"
        raise ValueError(message)


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(ValueError, match="half"):
        write_half(path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_a_symbolic_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with open_output(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_a_new_file_follows_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        with open_output(tmp_path / "out") as file:
            file.write(b"new")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o640


def test_a_device_is_written_to_directly() -> None:
    with open_output(Path(os.devnull)) as file:
        file.write(b"gone")
    assert not Path(os.devnull).is_file()


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none"), open_output(tmp_path / "none" / "out"):
        pass
