from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from mixtures import ALIKE, OPPOSED, describe_kind, make_book, make_mixture, read_book, write_lines

from skillctl.store.handbook_dir import find_problems, load_handbook
from skillctl.store.schema import load_schema

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run

MIXED = describe_kind("answer.words", "sums", "rhymes")
TWINS = describe_kind("answer.sums", "sums") + describe_kind("answer.rhymes", "rhymes")


def git(repo: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=repo, check=True, capture_output=True, text=True).stdout


def test_a_planted_mixed_skill_is_split(tmp_path: Path, run: Run) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED)
    result = run("refine", book, *logs, "-o", "json")
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    Draft202012Validator(load_schema("refinement")).validate(data)
    first = data["proposals"][0]
    assert (first["kind"], first["skills"], first["applied"]) == ("split", ["answer.words"], True)
    assert first["log10_bayes_factor"] > 10
    assert [len(part["queries"]) for part in first["parts"]] == [60, 60]
    assert data["changed"]
    after = load_handbook(book)
    assert find_problems(book) == []
    children = [skill for skill in after.skills["answer"] if skill.parent == "answer.words"]
    assert sorted(skill.id for skill in children) == sorted(first["made"])
    assert {skill.origin.how for skill in children if skill.origin} == {"split"}
    rates = [after.agents["adder"].profiles["answer"].competence[skill.id] for skill in children]
    assert max(one.alpha / (one.alpha + one.beta) for one in rates) > 0.8
    assert min(one.alpha / (one.alpha + one.beta) for one in rates) < 0.3


def test_a_second_run_and_a_new_profile_change_nothing(tmp_path: Path, run: Run) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED)
    run("refine", book, *logs)
    before = read_book(book)
    again = json.loads(run("refine", book, *logs, "-o", "json").stdout)
    assert again["proposals"] == []
    assert again["is_known"]
    assert not again["changed"]
    assert run("-q", "profile", book, *logs[:2]).exit_code == 0
    assert read_book(book) == before


def test_a_dry_run_shows_the_same_proposals_and_writes_nothing(tmp_path: Path, run: Run) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED)
    before = read_book(book)
    dry = run("refine", book, *logs, "--dry-run", "-o", "json")
    assert read_book(book) == before
    table = run("refine", book, *logs)
    assert "applied" in table.stdout
    assert "answer.words →" in table.stdout
    assert "log10 BF" in table.stdout
    proposals = json.loads(dry.stdout)["proposals"]
    assert all(name in table.stdout for one in proposals for name in one["made"])


def test_twins_with_a_hundred_queries_each_are_merged_and_stay_so_without_the_note(tmp_path: Path, run: Run) -> None:
    book, logs = make_book(tmp_path, run, TWINS, {**ALIKE, "fourth": (0.45, 0.45)}, count=200)
    (proposal,) = json.loads(run("refine", book, *logs, "-o", "json").stdout)["proposals"]
    assert (proposal["kind"], proposal["applied"]) == ("merge", True)
    text = (book / "handbook.yaml").read_text(encoding="utf-8")
    assert "\nrefined:\n" in text
    (book / "handbook.yaml").write_text(text.partition("\nrefined:\n")[0] + "\n", encoding="utf-8")
    again = json.loads(run("refine", book, *logs, "-o", "json").stdout)
    assert not again["is_known"]
    assert again["proposals"] == []


def test_planted_twins_are_merged_and_their_counts_add_up(tmp_path: Path, run: Run) -> None:
    book, logs = make_book(tmp_path, run, TWINS, ALIKE, count=400)
    old = load_handbook(book).agents["adder"].profiles["answer"].competence
    result = run("refine", book, *logs, "-o", "json")
    (proposal,) = json.loads(result.stdout)["proposals"]
    assert (proposal["kind"], proposal["skills"]) == ("merge", ["answer.rhymes", "answer.sums"])
    assert proposal["applied"]
    after = load_handbook(book)
    (kept,) = after.skills["answer"]
    assert [kept.id] == proposal["made"]
    assert kept.origin
    assert (kept.origin.how, kept.origin.source_skills) == (
        "merged from hand-written",
        ("answer.rhymes", "answer.sums"),
    )
    pooled = after.agents["adder"].profiles["answer"].competence[kept.id]
    assert pooled.successes == pytest.approx(old["answer.sums"].successes + old["answer.rhymes"].successes, abs=3)
    assert find_problems(book) == []


def test_children_of_a_merged_skill_get_a_new_parent(tmp_path: Path, run: Run) -> None:
    finer = describe_kind("answer.rhymes.moon", "rhymes", parent="answer.rhymes")
    book, logs = make_book(tmp_path, run, TWINS + finer, ALIKE, count=400)
    run("refine", book, *logs)
    skills = load_handbook(book).skills["answer"]
    kept = next(skill for skill in skills if skill.parent is None)
    assert {skill.id: skill.parent for skill in skills}.get("answer.rhymes.moon") == kept.id


def test_a_never_tried_pair_is_not_merged(tmp_path: Path, run: Run) -> None:
    never = describe_kind("answer.cities", "cities") + describe_kind("answer.code", "code")
    book, logs = make_book(tmp_path, run, never, ALIKE, count=40)
    assert all(
        one["kind"] != "merge" for one in json.loads(run("refine", book, *logs, "-o", "json").stdout)["proposals"]
    )


def test_a_run_that_proposes_nothing_changes_and_commits_nothing(git_repo: Path, run: Run) -> None:
    apart = {"adder": (0.95, 0.1), "poet": (0.1, 0.95), "both": (0.6, 0.6)}
    book, logs = make_book(git_repo, run, TWINS, apart)
    git(git_repo, "add", ".")
    git(git_repo, "commit", "-q", "-m", "first")
    result = run("refine", book, *logs, "--commit", "-o", "json")
    data = json.loads(result.stdout)
    assert (result.exit_code, data["proposals"], data["changed"]) == (0, [], False)
    assert git(git_repo, "log", "--format=%s") == "first\n"
    assert git(git_repo, "status", "--porcelain") == ""


def test_rejected_proposals_are_noted_and_not_made_again(git_repo: Path, run: Run) -> None:
    book, logs = make_book(git_repo, run, MIXED, OPPOSED)
    turned = {agent: rates[::-1] for agent, rates in OPPOSED.items()}
    write_lines(logs[3], make_mixture(("sums", "rhymes"), turned, 80, 2, first=1000))
    git(git_repo, "add", ".")
    git(git_repo, "commit", "-q", "-m", "first")
    data = json.loads(run("refine", book, *logs, "--commit", "-o", "json").stdout)
    assert {one["applied"] for one in data["proposals"]} == {False}
    assert data["changed"]
    assert git(git_repo, "log", "-1", "--format=%s").startswith("Note that 1 rejected proposal need")
    again = json.loads(run("refine", book, *logs, "--commit", "-o", "json").stdout)
    assert (again["is_known"], again["proposals"], again["changed"]) == (True, [], False)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_only_harder_for_everybody_is_left_alone(tmp_path: Path, run: Run, seed: int) -> None:
    harder = {"adder": (0.95, 0.7), "poet": (0.7, 0.3), "both": (0.8, 0.4)}
    book, logs = make_book(tmp_path, run, MIXED, harder)
    proposals = json.loads(run("refine", book, *logs, "--seed", seed, "-o", "json").stdout)["proposals"]
    assert proposals == []


def test_each_edit_is_one_commit_that_a_revert_takes_back(git_repo: Path, run: Run) -> None:
    book, logs = make_book(git_repo, run, MIXED, OPPOSED)
    git(git_repo, "add", ".")
    git(git_repo, "commit", "-q", "-m", "first")
    before = read_book(book)
    result = run("refine", book, *logs, "--commit", "-o", "json")
    applied = [one for one in json.loads(result.stdout)["proposals"] if one["applied"]]
    subjects = git(git_repo, "log", "--format=%s").splitlines()[:-1]
    assert len(subjects) == len(applied)
    assert subjects[-1].startswith("Split answer.words into ")
    message = git(git_repo, "log", "-1", "--format=%B")
    assert "log10 Bayes factor" in message
    assert "Skillctl-Command: refine" in message
    assert "Skillctl-Validation: +" in message
    git(git_repo, "revert", "--no-edit", f"HEAD~{len(subjects)}..HEAD")
    assert read_book(book) == before


@pytest.mark.parametrize("changed", [{"query_id": "q1"}, {"query": None}])
def test_a_query_in_both_logs_is_an_error(tmp_path: Path, run: Run, changed: dict[str, Any]) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED, count=40)
    line = json.loads(logs[1].read_text(encoding="utf-8").splitlines()[0])
    other = {**line, "query": "something else", "query_id": "x"} | changed
    with logs[3].open("a", encoding="utf-8") as log:
        log.write(json.dumps({**other, "query": other["query"] or line["query"]}) + "\n")
    before = read_book(book)
    result = run("refine", book, *logs)
    assert result.exit_code == 3
    assert "1 queries (by id or text) that are in the training traces too" in result.stderr
    assert read_book(book) == before


@pytest.mark.parametrize("left", [{"success": None}, {"agent": "stranger"}, None])
def test_validation_without_a_verdict_is_an_error_that_says_what_to_do(
    tmp_path: Path, run: Run, left: dict[str, Any] | None
) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED, count=40)
    lines = [json.loads(line) for line in logs[3].read_text(encoding="utf-8").splitlines()]
    write_lines(logs[3], [] if left is None else [line | left for line in lines])
    before = read_book(book)
    result = run("refine", book, *logs)
    assert result.exit_code == 3
    assert "and no verdict on an agent of the handbook" in result.stderr
    assert "give traces of other queries with `success` or `score`" in result.stderr
    assert read_book(book) == before


def test_evidence_of_a_log_that_is_not_given_is_not_lost(tmp_path: Path, run: Run) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED, count=40)
    more = write_lines(tmp_path / "more.jsonl", make_mixture(("sums",), {"adder": (0.9,)}, 5, 3, first=5000))
    run("-q", "profile", book, "--traces", more, "--update")
    result = run("refine", book, *logs)
    assert result.exit_code == 3
    assert "its evidence is also from more.jsonl" in result.stderr


def test_bad_lines_are_said_and_the_exit_code_tells(tmp_path: Path, run: Run) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED, count=40)
    with logs[3].open("a", encoding="utf-8") as log:
        log.write("{torn\n")
    result = run("refine", book, *logs, "--dry-run")
    assert result.exit_code == 1
    assert "validation.jsonl:241" in result.stderr


def test_modes_are_refined_each_by_its_own_traces(tmp_path: Path, run: Run) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED)
    for path in (logs[1], logs[3]):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for line in lines[: len(lines) // 2]:
            line["mode"] = "draft"
        write_lines(path, lines)
    result = run("-q", "profile", book, "--traces", logs[1], "--add-agents")
    assert result.exit_code == 0
    proposals = json.loads(run("refine", book, *logs, "-o", "json").stdout)["proposals"]
    assert {one["mode"] for one in proposals if one["applied"]} == {"answer", "draft"}
    assert find_problems(book) == []


def test_traces_that_name_a_merged_skill_still_count_for_it(tmp_path: Path, run: Run) -> None:
    book, logs = make_book(tmp_path, run, TWINS, ALIKE, count=400)
    lines = [json.loads(line) for line in logs[1].read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line["skills"] = {"answer.sums" if "sum of" in line["query"] else "answer.rhymes": 1.0}
    write_lines(logs[1], lines)
    run("-q", "profile", book, *logs[:2])
    run("refine", book, *logs)
    after = load_handbook(book)
    (kept,) = after.skills["answer"]
    pooled = after.agents["adder"].profiles["answer"].competence[kept.id]
    assert pooled.successes + pooled.failures == 400


def test_traces_that_name_a_split_skill_count_for_the_half_that_their_text_is_of(tmp_path: Path, run: Run) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED)
    lines = [json.loads(line) for line in logs[1].read_text(encoding="utf-8").splitlines()]
    write_lines(logs[1], [line | {"skills": {"answer.words": 1.0}} for line in lines])
    run("-q", "profile", book, *logs[:2])
    data = json.loads(run("refine", book, *logs, "-o", "json").stdout)
    first = data["proposals"][0]
    assert first["applied"]
    assert first["gain"]["value"] > 0.2
    competence = load_handbook(book).agents["adder"].profiles["answer"].competence
    halves = [competence[name] for name in first["made"]]
    assert sum(one.successes + one.failures for one in halves) == pytest.approx(120)
    rates = sorted(one.successes / (one.successes + one.failures) for one in halves)
    assert rates[0] < 0.3
    assert rates[1] > 0.7
    before = read_book(book)
    assert run("-q", "profile", book, *logs[:2]).exit_code == 0
    assert read_book(book) == before


def test_steps_that_name_a_split_skill_are_shared_out_too(tmp_path: Path, run: Run) -> None:
    book, logs = make_book(tmp_path, run, MIXED, OPPOSED)
    lines = [json.loads(line) for line in logs[1].read_text(encoding="utf-8").splitlines()]
    poet = {line["query_id"]: line["success"] for line in lines if line["agent"] == "poet"}
    step = {"agent": "poet", "mode": "answer", "skills": {"answer.words": 1.0}}
    steps = {query: {"steps": [step | {"success": success}]} for query, success in poet.items()}
    others = [line for line in lines if line["agent"] != "poet"]
    write_lines(logs[1], [line | (steps[line["query_id"]] if line["agent"] == "adder" else {}) for line in others])
    run("-q", "profile", book, *logs[:2])
    first = json.loads(run("refine", book, *logs, "-o", "json").stdout)["proposals"][0]
    assert first["applied"]
    competence = load_handbook(book).agents["poet"].profiles["answer"].competence
    halves = [competence[name] for name in first["made"]]
    assert sum(one.successes + one.failures for one in halves) == pytest.approx(120)
    rates = sorted(one.successes / (one.successes + one.failures) for one in halves)
    assert rates[0] < 0.3
    assert rates[1] > 0.7
