"""Each file in tests/data/invalid says in `# expect:` lines what is wrong with it; dropping a file adds a case."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from skillctl.errors import InvalidHandbookError
from skillctl.store.handbook_dir import find_problems, load_handbook

DATA = Path(__file__).resolve().parents[1] / "data"
CASES = sorted(DATA.glob("invalid/*/*.yaml"))
EXPECT = re.compile(r"^# expect: (\d+) (.*)$", re.MULTILINE)


def _place(case: Path, root: Path) -> Path:
    """Put a case into a copy of the basic handbook: an agent comes in addition, other files replace what is there."""
    shutil.copytree(DATA / "valid" / "basic", root, dirs_exist_ok=True)
    folder = case.parent.name
    target = {
        "agents": root / "agents" / "zz-case.yaml",
        "handbook": root / "handbook.yaml",
        "selections": root / "selections" / "zz-case.yaml",
    }.get(folder, root / folder / "answer.yaml")
    target.parent.mkdir(exist_ok=True)
    shutil.copyfile(case, target)
    if folder == "skills":
        # Competences of the skills that the case does not register are not its business.
        (root / "agents" / "gpt-4o.yaml").unlink()
        search = "mode: search\nskills:\n- {id: search.web, description: d}\n"
        (root / "skills" / "search.yaml").write_text(search, encoding="utf-8")
    return target


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_an_invalid_file_fails_where_it_says(case: Path, tmp_path: Path) -> None:
    target = _place(case, tmp_path)
    expected = EXPECT.findall(case.read_text(encoding="utf-8"))
    found = [(str(problem.line), f"{problem.path}: {problem.message}") for problem in find_problems(tmp_path)]
    assert expected
    assert {problem.file for problem in find_problems(tmp_path)} == {str(target)}
    assert len(found) == len(expected), found
    for line, text in expected:
        wanted = text.replace("{root}", str(tmp_path))
        assert any(line == at and message.startswith(wanted) for at, message in found), (text, found)


def test_problems_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    root = Path(shutil.copytree(DATA / "valid" / "basic", tmp_path / "h"))
    (root / "agents" / "bad.yaml").write_text("agent: [", encoding="utf-8")
    (root / "agents" / "worse.yaml").write_text("agent: a\nagent: a\nmodell: m\n", encoding="utf-8")
    (root / "modes" / "list.yaml").write_text("[]", encoding="utf-8")
    with pytest.raises(InvalidHandbookError, match="4 problems") as caught:
        load_handbook(root)
    assert [line.split("::")[0].rpartition("/")[2] for line in caught.value.problems] == [
        "bad.yaml:2",
        "worse.yaml:2",
        "worse.yaml:3",
        "list.yaml:1",
    ]


RAW = {
    "byte-order mark": (b"\xef\xbb\xbfagent: a\n", 1, "starts with a byte-order mark"),
    "not UTF-8": (b"agent: a\nmodel: \xe9\n", 2, "byte 0xe9 is not UTF-8"),
    "UTF-16": ("agent: a\n".encode("utf-16"), 1, "byte 0xff is not UTF-8"),
    "control character": (b"agent: a\n\nmodel: \x07\n", 3, "the character U+0007 may not stand in a file"),
    "empty": (b"", 0, "is empty"),
    "deeply nested": (b"agent: a\nx-a: " + b"[" * 100_000, 2, "is nested more than 50 levels deep"),
    "block nesting": (b"- " * 100_000, 1, "is nested more than 50 levels deep"),
    "cut in an escape": (b'agent: "\\u00', 1, "is not valid YAML"),
    "huge number": (b"agent: a\nprice: {prompt_usd_per_mtok: " + b"9" * 5000 + b"}\n", 2, "the number is too large"),
    "huge count": (b"agent: a\ncapabilities: {context_tokens: " + b"9" * 5000 + b"}\n", 2, "the number is too large"),
    "CRLF": (b"agent: a\r\nmodell: m\r\n", 2, "unknown key: did you mean `model`?"),
}


@pytest.mark.parametrize(("data", "line", "message"), RAW.values(), ids=RAW)
def test_bytes_that_are_no_clean_yaml_are_named(data: bytes, line: int, message: str, tmp_path: Path) -> None:
    root = Path(shutil.copytree(DATA / "valid" / "basic", tmp_path / "h"))
    (root / "agents" / "case.yaml").write_bytes(data)
    (problem,) = find_problems(root)
    assert problem.line == line
    assert problem.message.startswith(message)


def test_an_alias_bomb_is_refused_and_never_expanded(tmp_path: Path) -> None:
    root = Path(shutil.copytree(DATA / "valid" / "basic", tmp_path / "h"))
    levels = ["x-0: &l0 [lol]"] + [f"x-{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 30)]
    (root / "agents" / "bomb.yaml").write_text("\n".join(["agent: bomb", *levels]), encoding="utf-8")
    problems = find_problems(root)
    assert len(problems) == 30 + 290
    assert "write the value out" in problems[5].message


def test_strays_directories_and_unreadable_files_are_problems(tmp_path: Path) -> None:
    root = Path(shutil.copytree(DATA / "valid" / "basic", tmp_path / "h"))
    (root / "agents" / "a.yml").touch()
    (root / "agents" / "b.txt").touch()
    (root / "agents" / ".swp").touch()
    (root / "agents" / "c.yaml").mkdir()
    (root / "agents" / "d.yaml").symlink_to("nowhere")
    (root / "notes").mkdir()
    (root / "selections").touch()
    (root / "README.md").touch()
    found = {Path(problem.file).name: problem.message for problem in find_problems(root)}
    assert found == {
        "selections": "is a file, but must be a folder: move it away",
        "a.yml": "rename it to a.yaml",
        "b.txt": "does not belong here: only .yaml files do, move it out of the folder",
        "c.yaml": "cannot be read: Is a directory",
        "d.yaml": "cannot be read: No such file or directory",
    }


def test_a_folder_without_handbook_yaml_says_so(tmp_path: Path) -> None:
    (problem,) = find_problems(tmp_path)
    assert problem.file == str(tmp_path / "handbook.yaml")
    assert problem.message.startswith("is missing")


def test_a_newer_handbook_blames_no_other_file(tmp_path: Path) -> None:
    root = Path(shutil.copytree(DATA / "valid" / "basic", tmp_path / "h"))
    (root / "handbook.yaml").write_text("schema_version: 7\nname: n\n", encoding="utf-8")
    (root / "agents" / "no.yaml").write_text("agent: no\nnew: 1\n", encoding="utf-8")
    assert [problem.path for problem in find_problems(root)] == ["$.schema_version"]


def test_an_unreadable_skill_file_does_not_make_competences_dangle(tmp_path: Path) -> None:
    root = Path(shutil.copytree(DATA / "valid" / "basic", tmp_path / "h"))
    (root / "skills" / "answer.yaml").write_text("mode: [", encoding="utf-8")
    assert len(find_problems(root)) == 1
