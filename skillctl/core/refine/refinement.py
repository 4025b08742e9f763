"""What refinement proposes, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from skillctl.core.evaluate.metrics import Interval
    from skillctl.model.handbook import Handbook, ModeId, Skill, SkillId

Kind = Literal["split", "merge", "addition"]

_LEAST = 3.0


def find_threshold(tried: int) -> float:
    """Return how large a log Bayes factor must be when the largest of so many is taken: 3 + log(number tried).

    By Markov's inequality a Bayes factor exceeds exp(3 + log k) with a chance of at most e⁻³ / k where there is
    nothing to find, so that k trials together do with one of at most 5 %.
    """
    return _LEAST + math.log(max(1, tried))


@dataclass(frozen=True, slots=True)
class Part:
    """The queries of one skill that a proposal is about.

    Attributes:
        skill: Its id after the edit; of a merge, before it.
        queries: Their ids.
        counts: Successes and failures by agent.
        examples: Central queries.
    """

    skill: SkillId
    queries: tuple[str | int, ...]
    counts: Mapping[str, tuple[float, float]]
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """One edit of the skills of a mode.

    Attributes:
        kind: A skill becomes two finer ones, two become one, or a skill is added.
        mode: Where.
        skills: What is split, what is merged, or the skill below which one is added; empty for the mode.
        evidence: Log Bayes factor in favour of the edit.
        threshold: What it had to exceed.
        parts: The queries on both sides.
        edited: All skills of the mode after the edit.
        made: Ids that the edit makes, or the one that it keeps.
        basis: What the parts were told apart by.
        adopted: The finer skills of a split one, each with the half that it goes below.
    """

    kind: Kind
    mode: ModeId
    skills: tuple[SkillId, ...]
    evidence: float
    threshold: float
    parts: tuple[Part, ...]
    edited: tuple[Skill, ...]
    made: tuple[SkillId, ...]
    basis: str
    adopted: Mapping[SkillId, SkillId] = field(default_factory=dict)

    @property
    def key(self) -> tuple[object, ...]:
        """What makes it the same proposal as an earlier one."""
        if self.kind == "addition":
            return self.kind, self.mode, *sorted(map(repr, self.parts[0].queries))
        return self.kind, self.mode, *self.skills


class Opinion(NamedTuple):
    """A second opinion on a proposal; it decides nothing.

    Attributes:
        model: Whose it is.
        agrees: Whether the model would make the edit.
        reason: One sentence.
    """

    model: str
    agrees: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What validation said of a proposal.

    Attributes:
        proposal: The edit.
        applied: Whether it was made.
        gain: Mean paired difference of the reward on validation queries with its interval; ``None`` where no
            validation query is in the mode.
        moved: On how many validation queries another agent is chosen.
        queries: How many there are.
        handbook: After the edit, or as it was.
        opinion: What a language model says of it, or ``None``.
        is_named_by_model: Whether ids, descriptions and indicators of what it makes are those of the model.
    """

    proposal: Proposal
    applied: bool
    gain: Interval | None
    moved: int
    queries: int
    handbook: Handbook
    opinion: Opinion | None = None
    is_named_by_model: bool = False
