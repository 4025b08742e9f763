from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from skillctl.model.handbook import Agent, Handbook, Mode, Skill
from skillctl.store.handbook_dir import find_problems, load_handbook, save_handbook

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run

AGENTS = ("a", "b")
FOLDER = "my händbook"


def git(repo: Path, *args: str, code: int = 0) -> str:
    done = subprocess.run(["git", *args], cwd=repo, check=False, capture_output=True)
    assert done.returncode == code, done.stderr
    return done.stdout.decode("utf-8", "replace")


def write_log(path: Path, first: int, agents: tuple[str, ...] = AGENTS) -> Path:
    lines = [
        {
            "query_id": n,
            "query": f"question {n}",
            "agent": agent,
            "success": (n * 7 + len(agent) * column) % 3 > 0,
            "cost_usd": 0.001 * (n % 5),
            "skills": {"answer.math" if n % 2 else "answer.words": 1.0},
        }
        for n in range(first, first + 20)
        for column, agent in enumerate(agents)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def root(git_repo: Path, run: Run) -> Path:
    root = git_repo / FOLDER
    skills = (Skill("answer.math", "Computes."), Skill("answer.words", "Writes."))  # type: ignore[arg-type]
    agents = {name: Agent(name, modes=("answer",)) for name in AGENTS}  # type: ignore[arg-type]
    save_handbook(Handbook("h", modes={"answer": Mode("answer")}, skills={"answer": skills}, agents=agents), root)  # type: ignore[dict-item, arg-type]
    assert run("git", "install", root).exit_code == 0
    git(git_repo, "add", ".")
    git(git_repo, "commit", "-q", "-m", "first")
    return root


def _profile_on(branch: str, repo: Path, run: Run, *logs: Path) -> None:
    git(repo, "checkout", "-q", "-B", branch, "main")
    assert run("profile", repo / FOLDER, *(part for log in logs for part in ("--traces", log))).exit_code == 0
    git(repo, "commit", "-q", "-am", branch)


@pytest.mark.parametrize("agents", [(AGENTS, AGENTS), (("a",), ("b",))], ids=["same agents", "an agent each"])
def test_two_branches_that_profile_different_traces_merge_to_profiling_both(
    agents: tuple[tuple[str, ...], tuple[str, ...]], root: Path, git_repo: Path, tmp_path: Path, run: Run
) -> None:
    one, two = (write_log(tmp_path / f"{n}.jsonl", 100 * n, names) for n, names in enumerate(agents))
    _profile_on("one", git_repo, run, one)
    _profile_on("two", git_repo, run, two)
    git(git_repo, "merge", "-q", "-m", "both", "one")
    assert git(git_repo, "status", "--porcelain", "-uno") == ""
    assert git(git_repo, "log", "-1", "--format=%s %an").strip() == "both Test"
    assert len(git(git_repo, "log", "-1", "--format=%P").split()) == 2
    merged = load_handbook(root)
    _profile_on("three", git_repo, run, one, two)
    assert merged == load_handbook(root)


def test_a_log_that_both_branches_counted_is_a_conflict(root: Path, git_repo: Path, tmp_path: Path, run: Run) -> None:
    both, more = write_log(tmp_path / "both.jsonl", 0), write_log(tmp_path / "more.jsonl", 50)
    _profile_on("one", git_repo, run, both)
    _profile_on("two", git_repo, run, both, more)
    git(git_repo, "merge", "-q", "one", code=1)
    text = (root / "agents" / "a.yaml").read_text(encoding="utf-8")
    assert "<<<<<<< ours" in text
    assert ">>>>>>> theirs" in text


def test_descriptions_that_both_reworded_conflict_in_that_place_alone(root: Path, git_repo: Path) -> None:
    file = root / "skills" / "answer.yaml"
    before = file.read_text(encoding="utf-8")
    for branch, words in (("one", "Calculates."), ("two", "Does sums.")):
        git(git_repo, "checkout", "-q", "-B", branch, "main")
        text = before.replace("Computes.", words)
        text = text.replace("Writes.", "Writes well.") if branch == "one" else f"{text}# a note\n"
        file.write_text(text, encoding="utf-8")
        git(git_repo, "commit", "-q", "-am", branch)
    git(git_repo, "merge", "-q", "one", code=1)
    merged = file.read_text(encoding="utf-8")
    conflict = merged[merged.index("<<<<<<< ours") : merged.index(">>>>>>> theirs")]
    assert conflict == "<<<<<<< ours\n  description: Does sums.\n=======\n  description: Calculates.\n"
    assert "Writes well." in merged
    assert "# a note" in merged


def test_skills_that_both_added_are_both_kept(root: Path, git_repo: Path) -> None:
    file = root / "skills" / "answer.yaml"
    before = file.read_text(encoding="utf-8")
    for branch in ("one", "two"):
        git(git_repo, "checkout", "-q", "-B", branch, "main")
        file.write_text(f"{before}- id: answer.z{branch}\n  description: New in {branch}.\n", encoding="utf-8")
        git(git_repo, "commit", "-q", "-am", branch)
    git(git_repo, "merge", "-q", "-m", "both", "one")
    assert find_problems(root) == []
    assert [skill.id for skill in load_handbook(root).skills["answer"]][2:] == ["answer.zone", "answer.ztwo"]  # type: ignore[index]


def test_a_broken_file_is_merged_as_text(root: Path, git_repo: Path) -> None:
    file = root / "agents" / "a.yaml"
    before = file.read_text(encoding="utf-8")
    for branch, text in (("one", f"{before}tools: [x\n"), ("two", f"# note\n{before}")):
        git(git_repo, "checkout", "-q", "-B", branch, "main")
        file.write_text(text, encoding="utf-8")
        git(git_repo, "commit", "-q", "-am", branch)
    git(git_repo, "merge", "-q", "-m", "both", "one")
    assert file.read_text(encoding="utf-8") == f"# note\n{before}tools: [x\n"


def test_a_fast_forward_changes_no_commit(root: Path, git_repo: Path, tmp_path: Path, run: Run) -> None:
    _profile_on("one", git_repo, run, write_log(tmp_path / "1.jsonl", 0))
    head = git(git_repo, "rev-parse", "HEAD")
    git(git_repo, "checkout", "-q", "main")
    git(git_repo, "merge", "-q", "--ff-only", "one")
    assert git(git_repo, "rev-parse", "HEAD") == head
    assert root.is_dir()


def test_settling_a_profiled_handbook_changes_nothing(root: Path, tmp_path: Path, run: Run) -> None:
    run("profile", root, "--traces", write_log(tmp_path / "1.jsonl", 0))
    before = {path: path.read_bytes() for path in sorted(root.rglob("*.yaml"))}
    assert "already" in run("git", "settle", root).stderr
    assert {path: path.read_bytes() for path in sorted(root.rglob("*.yaml"))} == before


# --- diffs ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def changed(root: Path, git_repo: Path, tmp_path: Path, run: Run) -> Path:
    """A history with changes, additions, removals, a rename, a broken file and a mended one."""
    run("profile", root, "--traces", write_log(tmp_path / "1.jsonl", 0))
    git(git_repo, "commit", "-q", "-am", "profile")
    (root / "agents" / "b.yaml").rename(root / "agents" / "renämed b.yaml")
    (root / "agents" / "new one.yaml").write_text("agent: new\n", encoding="utf-8")
    git(git_repo, "add", "-A")
    git(git_repo, "commit", "-q", "-m", "rename and add")
    (root / "agents" / "a.yaml").write_bytes(b"agent: [broken\n\xff\n")
    git(git_repo, "commit", "-q", "-am", "break")
    (root / "agents" / "a.yaml").unlink()
    git(git_repo, "commit", "-q", "-am", "remove")
    return root


@pytest.mark.parametrize("external", [False, True], ids=["textconv", "external"])
def test_git_never_dies_whatever_the_files_hold(external: bool, changed: Path, git_repo: Path, run: Run) -> None:  # noqa: FBT001
    run("git", "install", changed, *(["--external-diff"] if external else []))
    git(git_repo, "log", "-p")
    git(git_repo, "log", "-p", "--ext-diff", "-M")
    git(git_repo, "show", "HEAD~1")
    git(git_repo, "diff", "-M", "HEAD~4", "HEAD")
    git(git_repo, "diff", "--cached", "HEAD~4")
    (changed / "agents" / "new one.yaml").write_text("{ no yaml", encoding="utf-8")
    git(git_repo, "diff")
    git(git_repo, "diff", "--no-index", "--", "/dev/null", str(changed / "handbook.yaml"), code=1)


def test_textconv_shows_numbers_in_words(changed: Path, git_repo: Path) -> None:
    shown = git(git_repo, "show", "HEAD~3", "--", str(changed / "agents" / "a.yaml"))
    assert "+answer.math: " in shown
    assert "% on 10 outcomes" in shown
    assert "alpha" not in shown


def test_the_external_diff_says_what_changed_and_what_is_renamed(changed: Path, git_repo: Path, run: Run) -> None:
    run("git", "install", changed, "--external-diff")
    shown = git(git_repo, "diff", "HEAD~4", "HEAD~3")
    assert "- a in answer is rated for the first time on 20 runs" in shown
    shown = git(git_repo, "-c", "core.quotePath=false", "diff", "-M", "HEAD~3", "HEAD~2")
    assert f"renamed from {FOLDER}/agents/b.yaml to {FOLDER}/agents/renämed b.yaml" in shown
    assert "- agent new was added" in shown
    assert "-agent: [broken" in git(git_repo, "diff", "HEAD~1", "HEAD")


@pytest.mark.parametrize("count", [0, 1, 7, 9])
def test_the_external_diff_takes_any_number_of_arguments(count: int, changed: Path, run: Run) -> None:
    file = str(changed / "handbook.yaml")
    arguments = ["x/handbook.yaml", "/dev/null", ".", ".", file, "0" * 40, "100644", "y/handbook.yaml", "renamed"]
    result = run("git", "external-diff", *arguments[:count])
    assert result.exit_code == 0


def test_a_driver_that_is_gone_does_not_stop_git(root: Path, git_repo: Path) -> None:
    config = git_repo / ".git" / "config"
    config.write_text(config.read_text(encoding="utf-8").replace(sys.executable, "/nowhere/python"), encoding="utf-8")
    file = root / "agents" / "a.yaml"
    before = file.read_text(encoding="utf-8")
    file.write_text(f"{before}tools: [x]\n", encoding="utf-8")
    assert "+tools: [x]" in git(git_repo, "diff")
    git(git_repo, "commit", "-q", "-am", "one")
    git(git_repo, "checkout", "-q", "-b", "two", "HEAD~1")
    file.write_text(f"# note\n{before}", encoding="utf-8")
    git(git_repo, "commit", "-q", "-am", "two")
    git(git_repo, "merge", "-q", "-m", "both", "main")
    assert file.read_text(encoding="utf-8") == f"# note\n{before}tools: [x]\n"


# --- setting up -----------------------------------------------------------------------------------------------------


def _state(repo: Path) -> dict[str, bytes]:
    paths = [repo / ".gitattributes", repo / ".git" / "config", repo / ".git" / "hooks" / "post-merge"]
    return {str(path): path.read_bytes() for path in paths if path.exists()}


def test_installing_twice_changes_nothing_and_uninstalling_undoes_it(git_repo: Path, run: Run) -> None:
    save_handbook(Handbook("h"), git_repo / "h")
    (git_repo / ".gitattributes").write_text("*.bin binary", encoding="utf-8")
    hook = git_repo / ".git" / "hooks" / "post-merge"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho mine\n", encoding="utf-8")
    start = _state(git_repo)
    assert "set up" in run("git", "install", git_repo / "h").stderr
    once = _state(git_repo)
    assert run("git", "install", git_repo / "h").stderr == "is set up already\n"
    assert _state(git_repo) == once
    assert "undone" in run("git", "uninstall", git_repo / "h").stderr
    after = _state(git_repo)
    assert {name: data.rstrip(b"\n") for name, data in after.items()} == {n: d.rstrip(b"\n") for n, d in start.items()}
    assert run("git", "uninstall", git_repo / "h").stderr == "was not set up\n"


def test_two_handbooks_of_a_repository_are_set_up_side_by_side(git_repo: Path, run: Run) -> None:
    for name in ("x", "y"):
        save_handbook(Handbook(name), git_repo / name)
        run("git", "install", git_repo / name)
    run("git", "uninstall", git_repo / "x")
    assert "merge: skillctl" in git(git_repo, "check-attr", "merge", "y/agents/a.yaml")
    assert "merge: unspecified" in git(git_repo, "check-attr", "merge", "x/agents/a.yaml")
    assert git(git_repo, "config", "merge.skillctl.driver")


def test_attributes_match_paths_with_spaces_and_any_letters(root: Path, git_repo: Path) -> None:
    assert "merge: skillctl" in git(git_repo, "check-attr", "merge", f"{root.name}/agents/x y.yaml")
    assert "merge: unspecified" in git(git_repo, "check-attr", "merge", f"other/{root.name}/agents/a.yaml")


def test_a_handbook_that_is_no_folder_of_a_repository_is_refused(tmp_path: Path, run: Run) -> None:
    assert run("git", "install", tmp_path / "none").exit_code == 3
    save_handbook(Handbook("h"), tmp_path / "h")
    result = run("git", "install", tmp_path / "h")
    assert result.exit_code == 3
    assert "git init" in result.stderr


def test_merging_works_in_a_worktree(root: Path, git_repo: Path, tmp_path: Path, run: Run) -> None:
    one, two = write_log(tmp_path / "1.jsonl", 0), write_log(tmp_path / "2.jsonl", 100)
    _profile_on("one", git_repo, run, one)
    _profile_on("two", git_repo, run, two)
    git(git_repo, "checkout", "-q", "main")
    tree = tmp_path / "tree"
    git(git_repo, "worktree", "add", "-q", str(tree), "two")
    git(tree, "merge", "-q", "-m", "both", "one")
    assert len(load_handbook(tree / root.name).evidence) == 2
    assert git(tree, "status", "--porcelain", "-uno") == ""
    shutil.rmtree(tree)
