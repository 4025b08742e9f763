"""Small boards of outcomes, made without files."""

from __future__ import annotations

import numpy as np

from skillctl.core.evaluate.replay import Board


def make_board(success: object, **columns: object) -> Board:
    """Return a board over agents a, b, c, ...; expectations are 0.5 and costs unknown unless given."""
    outcomes = np.array(success, dtype=float)
    count, agents = outcomes.shape
    names = tuple("abcdefghij"[:agents])
    expected = np.broadcast_to(np.array(columns.get("expected", 0.5), float), (count, agents)).copy()
    cost = np.broadcast_to(np.array(columns.get("cost", np.nan), float), (count, agents)).copy()
    known = ~np.isnan(outcomes)
    chosen = np.where(known, expected, -np.inf).argmax(axis=1)
    fields: dict[str, object] = {
        "agents": names,
        "modes": np.full(count, "answer"),
        "query_ids": tuple(range(count)),
        "texts": tuple(f"query {row}" for row in range(count)),
        "tasks": (None,) * count,
        "skills": np.full(count, "answer"),
        "success": outcomes,
        "cost": cost,
        "is_open": np.ones((count, agents), bool) & known.any(axis=0),
        "value": expected,
        "expected": expected,
        "low": np.clip(expected - 0.1, 0, 1),
        "high": np.clip(expected + 0.1, 0, 1),
        "expected_cost": np.broadcast_to(np.array(columns.get("expected_cost", cost[0]), float), cost.shape).copy(),
        "root": np.tile(np.linspace(0.6, 0.4, agents), (count, 1)),
        "raw": expected,
        "chosen": chosen,
        "wanted": expected.argmax(axis=1),
    }
    given = {
        name: value
        for name, value in columns.items()
        if name in fields and name not in {"expected", "cost", "expected_cost"}
    }
    return Board(**{**fields, **given})  # type: ignore[arg-type]
