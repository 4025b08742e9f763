"""Gates before scoring: who may answer a query at all, and the reason of whoever may not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skillctl.model.query import NO_NEEDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from skillctl.core.route.routing_table import AgentFacts, ModeTable
    from skillctl.model.query import Needs, Query

# Characters of a token in running text; English prose has about four.
CHARS_PER_TOKEN = 4

OPEN, MODE, ALLOW, DENY, MODALITY, TOOL, CONTEXT, COST = range(8)
REASONS = ("", "mode", "allow", "deny", "modalities", "tools", "context_tokens", "unknown_cost")


def find_gates(queries: Sequence[Query], agents: Sequence[AgentFacts], table: ModeTable) -> NDArray[np.int8]:
    """Return for each query and agent ``OPEN``, or the first gate that keeps the agent out, shape (n, agents).

    A capability that an agent does not declare keeps it out where the query asks for it; plain text is never
    asked for. A query that is longer than an agent's declared context keeps that agent out by itself.
    """
    gates = np.where(table.works, np.int8(OPEN), np.int8(MODE))[None].repeat(len(queries), axis=0)
    rows: dict[tuple[object, ...], NDArray[np.int8]] = {}  # lines of one source mostly ask for the same
    place: dict[str, int] = {}
    for row, query in enumerate(queries):
        if query.allow is None and not query.deny and (query.needs is NO_NEEDS or not _asks(query.needs)):
            continue
        asked = (query.allow, query.deny, query.needs)
        if asked not in rows:
            place = place or {agent.id: column for column, agent in enumerate(agents)}
            _gate_row(gates[row], query, agents, place)
            rows[asked] = gates[row]
        gates[row] = rows[asked]
    declared = np.array([np.inf if a.context_tokens is None else a.context_tokens for a in agents], float)
    tokens = np.array([len(query.text) // CHARS_PER_TOKEN for query in queries], float)
    if tokens.max(initial=0) > declared.min(initial=np.inf):
        _close(gates, tokens[:, None] > declared, CONTEXT)
    return gates


def gate_unknown_costs(gates: NDArray[np.int8], cost: NDArray[np.float64], matters: NDArray[np.bool_]) -> None:
    """Keep out agents of unknown cost in the rows where cost matters, in place."""
    unknown = np.isnan(cost)
    if unknown.any():
        _close(gates, matters[:, None] & unknown, COST)


def _asks(needs: Needs) -> bool:
    return bool(needs.modalities or needs.tools or needs.context_tokens is not None)


def _gate_row(gates: NDArray[np.int8], query: Query, agents: Sequence[AgentFacts], place: dict[str, int]) -> None:
    if query.allow is not None:
        allowed = np.zeros(len(agents), bool)
        allowed[[place[agent] for agent in query.allow if agent in place]] = True
        _close(gates, ~allowed, ALLOW)
    denied = np.zeros(len(agents), bool)
    denied[[place[agent] for agent in query.deny if agent in place]] = True
    _close(gates, denied, DENY)
    for column, agent in enumerate(agents):
        if gates[column] == OPEN:
            gates[column] = _find_lack(query.needs, agent)


def _find_lack(needs: Needs, agent: AgentFacts) -> int:
    if not set(needs.modalities) - {"text"} <= set(agent.modalities or ()):
        return MODALITY
    if not set(needs.tools) <= set(agent.tools):
        return TOOL
    if needs.context_tokens is None:
        return OPEN
    return OPEN if agent.context_tokens is not None and agent.context_tokens >= needs.context_tokens else CONTEXT


def _close(gates: NDArray[np.int8], shut: NDArray[np.bool_], reason: int) -> None:
    gates[(gates == OPEN) & shut] = reason
