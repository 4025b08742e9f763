"""Mode insights: which mode follows which in trajectories that succeeded."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from skillctl.model.handbook import Insight, ModeId

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# A transition seen in fewer successful trajectories is an anecdote.
MIN_SUPPORT = 5
# A rarer successor says nothing about what to do next.
MIN_CONFIDENCE = 0.1
CONFIDENCE_DIGITS = 3


def find_mode_insights(trajectories: Iterable[Sequence[str]]) -> dict[ModeId, tuple[Insight, ...]]:
    """Return insights by the mode that they recommend to enter.

    Support is the number of trajectories in which the transition occurs, confidence the share of the departures
    from the earlier mode that lead to this one (the association-rule measures of Agrawal and Srikant, 1994);
    ``after`` is ``None`` for the mode that opens a trajectory. Steps that stay in their mode are one visit.

    Args:
        trajectories: The modes of the steps of each successful trajectory, in order.
    """
    support: Counter[tuple[str | None, str]] = Counter()
    moves: Counter[tuple[str | None, str]] = Counter()
    departures: Counter[str | None] = Counter()
    for modes in trajectories:
        transitions = _transitions(modes)
        support.update(set(transitions))
        moves.update(transitions)
        departures.update(before for before, _ in transitions)
    found: defaultdict[ModeId, list[Insight]] = defaultdict(list)
    for (before, mode), count in sorted(support.items(), key=lambda item: (-item[1], item[0][1], item[0][0] or "")):
        confidence = moves[before, mode] / departures[before]
        if count >= MIN_SUPPORT and confidence >= MIN_CONFIDENCE:
            found[ModeId(mode)].append(_insight(before, mode, count, confidence))
    return {mode: tuple(insights) for mode, insights in sorted(found.items())}


def _transitions(modes: Sequence[str]) -> list[tuple[str | None, str]]:
    visits = [mode for index, mode in enumerate(modes) if index == 0 or mode != modes[index - 1]]
    return list(zip([None, *visits], visits, strict=False))  # the last visit has no successor


def _insight(before: str | None, mode: str, support: int, confidence: float) -> Insight:
    share = f"{confidence:.0%}".replace("%", " %")
    if before is None:
        text = f"Start with {mode}: {share} of the successful runs do."
    else:
        text = f"After {before}, go on with {mode}: {share} of the successful moves do."
    return Insight(text, ModeId(before) if before is not None else None, support, round(confidence, CONFIDENCE_DIGITS))
