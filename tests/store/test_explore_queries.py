"""Queries to explore: read with their rules, faults reported by line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from skillctl.core.run.grading import Scoring
from skillctl.model.query import Needs
from skillctl.store.explore_queries import read_explore_queries

if TYPE_CHECKING:
    from pathlib import Path

    from skillctl.core.run.exploring import ExploreQuery
    from skillctl.model.problem import Problem


def read(path: Path, *lines: object, **options: bool) -> tuple[list[ExploreQuery], list[Problem]]:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    problems: list[Problem] = []
    return read_explore_queries(str(path), scoring=Scoring(), on_problem=problems.append, **options), problems


def test_a_query_declares_its_rule_or_takes_the_default(tmp_path: Path) -> None:
    queries, problems = read(
        tmp_path / "q.jsonl",
        {"id": 1, "query": "6*7?", "reference": 42, "scoring": {"rule": "numeric", "tolerance": 0.5}, "task": "sums"},
        {"query_id": "1", "query": "Capital?", "reference": "Paris"},
        {"id": 3, "query": "Sing!"},
    )
    assert problems == []
    assert [query.id for query in queries] == [1, "1", 3]
    assert queries[0].scoring == Scoring("numeric", tolerance=0.5)
    assert queries[0].messages == ({"role": "user", "content": "6*7?"},)
    assert (queries[1].scoring, queries[1].has_reference) == (Scoring(), True)
    assert not queries[2].has_reference


def test_a_conversation_is_sent_as_it_is(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "6*7?"}]
    (query,), _ = read(tmp_path / "q.jsonl", {"messages": messages})
    assert query.messages == tuple(messages)
    assert "6*7?" in query.text


def test_a_query_without_an_id_is_named_by_its_content(tmp_path: Path) -> None:
    queries, _ = read(tmp_path / "q.jsonl", {"query": "a"}, {"query": "b"}, {"query": "a"})
    assert len({query.id for query in queries}) == len(queries) == 2


def test_needs_are_part_of_a_query(tmp_path: Path) -> None:
    line = {"id": 1, "query": "What is on it?", "needs": {"modalities": ["image"]}}
    (query,), problems = read(tmp_path / "q.jsonl", line, line, {**line, "needs": None})
    assert query.needs == Needs(modalities=("image",))
    assert ["asks something else" in problem.message for problem in problems] == [True]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"id": 1, "query": "x", "needs": {"wings": 2}}, "needs knows modalities, tools and context_tokens, not wings"),
        ({"id": 1}, "query"),
        ({"id": 1.5, "query": "x"}, "text or an integer"),
        ({"id": True, "query": "x"}, "text or an integer"),
        ({"id": 1, "query": "x", "task": 3}, "task must be text"),
        ({"id": 1, "query": "x", "scoring": "fuzzy"}, "unknown scoring rule"),
        ({"id": 1, "query": "x", "scoring": {"rule": "command"}, "reference": "x"}, "unknown scoring rule"),
        ({"id": 1, "query": "x", "scoring": "numeric", "reference": "none"}, "holds no number"),
        ({"id": 1, "query": "x", "scoring": "regex", "reference": "(a+)+"}, "for ever"),
        ({"id": "good", "query": "another"}, "the id 'good' is that of line 1"),
    ],
)
def test_a_line_that_cannot_be_used_is_reported_and_the_rest_is_read(
    tmp_path: Path, line: object, message: str
) -> None:
    queries, (problem,) = read(tmp_path / "q.jsonl", {"id": "good", "query": "x"}, line, {"id": "last", "query": "y"})
    assert [query.id for query in queries] == ["good", "last"]
    assert problem.line == 2
    assert message in problem.message


def test_a_reference_is_not_checked_where_a_program_judges(tmp_path: Path) -> None:
    queries, problems = read(
        tmp_path / "q.jsonl",
        {"id": 1, "query": "x", "scoring": "numeric", "reference": "none"},
        is_judged_elsewhere=True,
    )
    assert (len(queries), problems) == (1, [])
