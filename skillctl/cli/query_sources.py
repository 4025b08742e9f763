"""Reads the queries of `explore` and `run`, and says what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import click

from skillctl.core.run.grading import parse_scoring
from skillctl.store.explore_queries import read_explore_queries

if TYPE_CHECKING:
    from skillctl.core.run.exploring import ExploreQuery
    from skillctl.model.problem import Problem


class QueryOptions(Protocol):
    """Where queries come from, how many are wanted and how answers are judged."""

    @property
    def queries(self) -> str:
        """Path of the queries."""

    @property
    def limit(self) -> int | None:
        """Only the first so many."""

    @property
    def scoring(self) -> str:
        """Rule of queries that name none."""

    @property
    def scoring_command(self) -> tuple[str, ...]:
        """Program that judges instead."""


def read_queries(options: QueryOptions) -> tuple[list[ExploreQuery], int]:
    """Return the queries, and the number of faulty lines, each said on stderr."""
    problems: list[Problem] = []

    def report(problem: Problem) -> None:
        problems.append(problem)
        click.echo(problem, err=True)

    queries = read_explore_queries(
        options.queries,
        scoring=parse_scoring(options.scoring),
        on_problem=report,
        is_judged_elsewhere=bool(options.scoring_command),
    )
    return queries[: options.limit], len(problems)
