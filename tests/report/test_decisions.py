from __future__ import annotations

import json

import numpy as np
import pytest
from routing_handbooks import CHEAP, STRONG, make_agent, make_handbook

from skillctl.core.route.batch_routing import RouteOptions, Router, RowError
from skillctl.core.route.routing_table import compile_table
from skillctl.model.handbook import ModeId
from skillctl.model.query import Query
from skillctl.report.decisions import Totals, render_failure, render_group, render_totals, sum_group
from skillctl.store.orchestrators import open_orchestrator

ODD = make_agent('an "odd"\n\\ägent\u2028', {"answer": (1, 1)}, cost=None)


def route(*queries: Query, cost_weight: float = 0.0):  # noqa: ANN201 - a group, which the report takes
    handbook = make_handbook(CHEAP, ODD, STRONG)
    options = RouteOptions(cost_weight=cost_weight)
    router = Router(compile_table(handbook, {}), lambda mode: open_orchestrator(handbook, ModeId(mode)), options)
    (group,) = router.route(queries).groups
    return group


def test_any_id_and_any_name_make_strict_json() -> None:
    ids = [1, "1", None, [1.5, {"ü": True}], 'quote " and \u2028']
    group = route(*(Query(id=i, line=n, text="x", skills={"answer": 1.0}) for n, i in enumerate(ids, 1)))
    decisions = [json.loads(line) for line in render_group(group, explain=True)]
    assert [decision["id"] for decision in decisions] == ids
    assert [candidate["agent"] for candidate in decisions[0]["candidates"]] == [ODD.id, "cheap", "strong"]
    assert all("\n" not in line for line in render_group(group))


def test_explaining_adds_keys_and_changes_none() -> None:
    group = route(Query(id=1, line=1, text="Solve 2x = 4 for x"), Query(id=2, line=2, text="a poem"))
    for short, long in zip(render_group(group), render_group(group, explain=True), strict=True):
        assert long.startswith(short[:-1])
        assert json.loads(short).items() <= json.loads(long).items()


def test_a_line_without_an_agent_is_left_empty() -> None:
    group = route(Query(id=1, line=1, text="x", allow=()), Query(id=2, line=2, text="x"))
    assert [bool(line) for line in render_group(group)] == [False, True]
    assert sum_group(group).sums[:, 0].sum() == 1


def test_a_failure_says_code_message_and_line() -> None:
    line = render_failure("é", RowError("bad_json", "not JSON"), 17)
    assert json.loads(line) == {"id": "é", "error": {"code": "bad_json", "message": "not JSON", "line": 17}}


def test_the_table_of_a_run_sums_up_and_keeps_unknown_costs_unknown() -> None:
    totals = Totals(np.array([[3, 1.5, 3, 0.03], [0, 0, 0, 0], [1, 0.9, 0, 0]], float))
    assert render_totals(totals, ["a", "b", "c"]).splitlines() == [
        "agent  lines   share  success  cost each       cost total",
        "a          3   75.0%    0.500      $0.01            $0.03",
        "c          1   25.0%    0.900    unknown          unknown",
        "all        4  100.0%    0.600      $0.01  $0.03 + unknown",
    ]


@pytest.mark.parametrize("length", [60, 61, 300])
def test_a_very_long_id_is_cut_in_the_middle(length: int) -> None:
    name = "a" * (length - 3) + "end"
    shown = render_totals(Totals(np.ones((1, 4))), [name]).splitlines()[1].split()[0]
    assert len(shown) == 60
    assert shown.endswith("end")
