"""What a trace that names a skill credits after that skill was split: its text decides which parts.

A trace names the skills that there were when it was written. If one of them has been split since, or a skill was
added below it, the trace says nothing of the new ones, and none of them would ever get evidence from it. So the
weight that it names is shared out among them as an orchestrator weighs the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillctl.core.profile.pair_layout import SPLIT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillctl.core.profile.pair_layout import ModeLayout


class Reattribution:
    """The skills of a mode that refinement has made, below those that traces may name.

    Args:
        mode: Its skills, by number.
    """

    def __init__(self, mode: ModeLayout) -> None:
        self._parents = mode.tree.parents
        self._made = mode.made
        self._children: dict[int, list[int]] = {}
        for skill in mode.made:
            self._children.setdefault(self._parents[skill], []).append(skill)

    def is_needed(self, named: Mapping[int, float]) -> bool:
        """Tell whether a named skill has since got parts none of which is named: who names one knew of them."""
        return any(
            skill in self._children and not any(self._is_made_below(other, skill) for other in named) for skill in named
        )

    def share_out(self, named: Mapping[int, float], weighed: Mapping[int, float]) -> dict[int, float]:
        """Return the credit of a trace.

        Args:
            named: Weights that it names, by number of the skill.
            weighed: Weights of the orchestrator for its text.
        """
        credit: dict[int, float] = {}
        for skill, weight in named.items():
            is_known = any(self._is_made_below(other, skill) for other in named)
            for part, share in ({skill: weight} if is_known else self._share(skill, weight, weighed)).items():
                credit[part] = credit.get(part, 0.0) + share
        return credit

    def _share(self, skill: int, weight: float, weighed: Mapping[int, float]) -> dict[int, float]:
        """Share the weight of a skill among it and its parts; where the text resembles none, the skill keeps it."""
        parts = {part: self._weigh_subtree(part, weighed) for part in self._children.get(skill, ())}
        total = sum(parts.values())
        if total <= 0:
            return {skill: weight}
        # The parts of a split are all of a skill; what was added is not, so the skill keeps what it weighs itself.
        is_split = any(self._made[part] == SPLIT for part in parts)
        own = 0.0 if is_split else weighed.get(skill, 0.0)
        credit = {skill: weight * own / (total + own)} if own > 0 else {}
        for part, value in parts.items():
            if value > 0:
                credit |= self._share(part, weight * value / (total + own), weighed)
        return credit

    def _weigh_subtree(self, skill: int, weighed: Mapping[int, float]) -> float:
        return sum(weight for other, weight in weighed.items() if self._is_below(other, skill))

    def _is_made_below(self, skill: int, above: int) -> bool:
        """Tell whether a skill is one of the parts of another, or below one of them."""
        return any(self._is_below(skill, part) for part in self._children.get(above, ()))

    def _is_below(self, skill: int, above: int) -> bool:
        """Tell whether a skill is another one or below it."""
        while skill not in {above, -1}:
            skill = self._parents[skill]
        return skill == above
