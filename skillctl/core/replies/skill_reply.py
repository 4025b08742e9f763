"""Skill weights in what a language model replied: leniently read, unknown ids dropped."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from skillctl.core.replies.json_reply import ReplyFaultError, find_json_values, strip_thinking

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FIELD = "skills"
# What a cut reply still says.
_ENTRY = re.compile(r'"([^"\n]{1,300})"\s*:\s*(\d+(?:\.\d+)?)(?=\s*[,}])')
_MAX_CHARS = 200_000


class NamedSkills(NamedTuple):
    """Weights by row of the mode, positive and not normalised, and the ids that the mode does not have."""

    weights: dict[int, float]
    unknown: tuple[str, ...]


def parse_skill_weights(reply: str, rows: Mapping[str, int]) -> NamedSkills:
    """Return the skills that a reply names: ``{"skills": {"id": weight}}``, a list of ids, or the like.

    No weights at all mean that the reply says that no skill is needed.

    Args:
        reply: What the model wrote.
        rows: Row of each skill id that the mode has.

    Raises:
        ReplyFaultError: If the reply names nothing that the mode has, although it names something or is no JSON.
    """
    entries = _find_entries(reply, rows)
    folded = {name.casefold(): row for name, row in rows.items()}
    weights: dict[int, float] = {}
    unknown: list[str] = []
    for name, weight in entries:
        row = rows.get(name, folded.get(name.strip().casefold()))
        if row is None:
            unknown.append(name)
        elif weight > 0:
            weights[row] = max(weight, weights.get(row, 0.0))
    if entries and not weights and unknown:
        message = f"the reply names only unknown skills, such as {unknown[0][:60]!r}"
        raise ReplyFaultError(message)
    return NamedSkills(weights, tuple(unknown))


def _find_entries(reply: str, rows: Mapping[str, int]) -> list[tuple[str, float]]:
    values = find_json_values(reply)
    wrapped = [value[_FIELD] for value in values if isinstance(value, dict) and _FIELD in value]
    sound = [part for part in wrapped if isinstance(part, dict | list)]
    if sound:
        return list(_read(sound[-1]))
    for value in reversed(values):
        entries = list(_read(value))
        if any(name in rows for name, _ in entries):
            return entries
    cut = [(name, float(weight)) for name, weight in _ENTRY.findall(strip_thinking(reply)[:_MAX_CHARS])]
    if not any(name in rows for name, _ in cut):
        message = "the reply holds no JSON object with skills"
        raise ReplyFaultError(message)
    return [(name, weight) for name, weight in cut if name in rows]


def _read(part: Any) -> Iterator[tuple[str, float]]:  # noqa: ANN401 - whatever the model wrote
    """Yield ids and weights; a list gives each id the same weight."""
    if isinstance(part, dict):
        pairs = [(name, weight) for name, weight in part.items() if not isinstance(weight, dict | list)]
    elif isinstance(part, list):
        pairs = [_read_item(item) for item in part]
    else:
        pairs = []
    for name, value in pairs:
        weight = _to_weight(value)
        if isinstance(name, str) and weight is not None:
            yield name, weight


def _read_item(item: Any) -> tuple[Any, Any]:  # noqa: ANN401
    if isinstance(item, dict):
        return item.get("id", item.get("skill", item.get("name"))), item.get("weight", 1.0)
    return item, 1.0


def _to_weight(value: Any) -> float | None:  # noqa: ANN401
    if isinstance(value, bool):
        return 1.0 if value else None
    try:
        weight = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return weight if math.isfinite(weight) and weight >= 0 else None
