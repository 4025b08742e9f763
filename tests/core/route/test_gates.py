from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from routing_handbooks import ANSWER, make_agent, make_handbook

from skillctl.core.route.gates import REASONS, find_gates, gate_unknown_costs
from skillctl.core.route.routing_table import compile_table
from skillctl.model.handbook import Capabilities
from skillctl.model.query import Needs, Query

ABLE = make_agent(
    "able", {"answer": (1, 1)}, tools=("python", "search"), capabilities=Capabilities(("text", "image"), 1000)
)
PLAIN = make_agent("plain", {"answer": (1, 1)})
ELSEWHERE = make_agent("elsewhere", modes=())


def gates(*queries: dict[str, Any]) -> list[dict[str, str]]:
    table = compile_table(make_handbook(ABLE, PLAIN, ELSEWHERE), {})
    made = [Query(id=None, line=1, **{"text": "x", **fields}) for fields in queries]
    found = find_gates(made, table.agents, table.modes[ANSWER])
    names = [agent.id for agent in table.agents]
    return [{name: REASONS[gate] for name, gate in zip(names, row, strict=True) if gate} for row in found.tolist()]


@pytest.mark.parametrize(
    ("fields", "shut"),
    [
        ({}, {}),
        ({"allow": ("plain", "plain", "unknown")}, {"able": "allow"}),
        ({"allow": ()}, {"able": "allow", "plain": "allow"}),
        ({"deny": ("able",)}, {"able": "deny"}),
        ({"allow": ("able",), "deny": ("able",)}, {"able": "deny", "plain": "allow"}),
        ({"needs": Needs(modalities=("text",))}, {}),
        ({"needs": Needs(modalities=("text", "image"))}, {"plain": "modalities"}),
        ({"needs": Needs(modalities=("audio",))}, {"able": "modalities", "plain": "modalities"}),
        ({"needs": Needs(tools=("search",))}, {"plain": "tools"}),
        ({"needs": Needs(context_tokens=1000)}, {"plain": "context_tokens"}),
        ({"needs": Needs(context_tokens=1001)}, {"able": "context_tokens", "plain": "context_tokens"}),
        ({"text": "y" * 4004}, {"able": "context_tokens"}),
    ],
)
def test_the_first_gate_that_keeps_an_agent_out_is_its_reason(fields: dict[str, Any], shut: dict[str, str]) -> None:
    (found,) = gates(fields)
    assert found == {"elsewhere": "mode", **shut}


def test_lines_that_ask_alike_are_gated_alike() -> None:
    first, other, again = gates({"deny": ("able",)}, {}, {"deny": ("able",)})
    assert first == again != other


def test_unknown_costs_are_gated_only_where_cost_matters() -> None:
    shut = np.array([[0, 0], [0, 0], [2, 3]], np.int8)
    gate_unknown_costs(shut, np.array([np.nan, 1.0]), np.array([True, False, True]))
    assert shut.tolist() == [[7, 0], [0, 0], [2, 3]]
