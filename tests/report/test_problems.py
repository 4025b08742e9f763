from __future__ import annotations

import json
from pathlib import Path

from skillctl.model.problem import Problem
from skillctl.report.problems import count_of, render_problems, render_problems_json

PROBLEMS = [Problem("a.yaml", 3, "$.b", "is wrong"), Problem("c.yaml", 0, "$", "é")]


def test_each_problem_is_one_line() -> None:
    assert render_problems(PROBLEMS) == "a.yaml:3::$.b: is wrong\nc.yaml::$: é\n"


def test_a_problem_without_a_line_has_null_in_json() -> None:
    found = json.loads(render_problems_json([Path("h")], PROBLEMS))
    assert found["handbooks"] == ["h"]
    assert [problem["line"] for problem in found["problems"]] == [3, None]


def test_nouns_agree_with_their_number() -> None:
    assert [count_of(number, "problem") for number in (0, 1, 2)] == ["0 problems", "1 problem", "2 problems"]
