"""``skillctl route --policy cascade`` through the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from planted import make_handbook

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run

QUERIES = "".join(
    json.dumps({"id": number, "query": "x", "skills": {skill: 1.0}}) + "\n"
    for number, skill in enumerate(["words.add", "words.rhyme"])
)


@pytest.fixture
def book(tmp_path: Path, run: Run) -> Path:
    return make_handbook(tmp_path, run)


def _route(run: Run, book: Path, tmp_path: Path, *args: str) -> list[dict[str, Any]]:
    result = run("-q", "route", book, "--policy", "cascade", "--traces", tmp_path / "train.jsonl", *args, stdin=QUERIES)
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_the_fallbacks_are_whom_to_ask_next_by_success_per_dollar(run: Run, book: Path, tmp_path: Path) -> None:
    # A sum: the adder is likeliest and cheapest, and all three are worth a try where nothing counts but success.
    decisions = _route(run, book, tmp_path)
    assert [decision["agent"] for decision in decisions] == ["adder", "poet"]
    assert all(len(decision["fallbacks"]) == 2 for decision in decisions)


def test_a_plan_stops_where_nobody_is_worth_the_cost(run: Run, book: Path, tmp_path: Path) -> None:
    assert _route(run, book, tmp_path, "--lambda", "30")[0]["fallbacks"] == []
    nobody = _route(run, book, tmp_path, "--lambda", "5000")
    assert [(decision["agent"], decision["fallbacks"]) for decision in nobody] == [("adder", []), ("adder", [])]


def test_the_number_of_jobs_changes_nothing(run: Run, book: Path, tmp_path: Path) -> None:
    assert _route(run, book, tmp_path) == _route(run, book, tmp_path, "--jobs", "2")


@pytest.mark.parametrize("args", [("--policy", "cascade"), ("--traces", "x.jsonl"),
                                  ("--policy", "cascade", "--traces", "x.jsonl", "--budget", "1")])  # fmt: skip
def test_options_that_do_not_fit_together_are_wrong_usage(run: Run, book: Path, args: tuple[str, ...]) -> None:
    assert run("route", book, *args, stdin=QUERIES).exit_code == 2
