"""Groups of queries that the outcomes tell apart: what no agent tells apart is one group."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.discover.contenders import find_rivals
from skillctl.core.profile.heterogeneity import find_likenesses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

# A log Bayes factor of 5 is where very strong evidence begins (Kass and Raftery, 1995). Groups that were made knowing
# the outcomes differ by chance too: with 3, five planted skills come back as eight, and noise as some in one case of
# three; with 5, as five or six, and as none.
LEAST_EVIDENCE = 5.0
PRIOR_WEIGHT = 4.0


class Group(NamedTuple):
    """Some queries, and the groups that they fall into.

    Attributes:
        members: The queries, in order.
        parts: Groups of some of them, none or several.
    """

    members: Ints
    parts: tuple[Group, ...] = ()


def merge_alike(
    groups: Sequence[Group], success: Floats, *, least_evidence: float = LEAST_EVIDENCE
) -> tuple[Group, ...]:
    """Return nested groups in which the evidence holds every two innermost ones of the same parent apart.

    From the innermost out, the two most alike are merged as long as the Bayes factor for two abilities against one
    (`skillctl.core.profile.heterogeneity.find_likeness`) is less than very strong evidence; a group with one part only
    is that part. Nothing comes back where all are one.

    Args:
        groups: The outermost ones, which share no query.
        success: Shape (n, agents), mean verdicts, NaN where there is none.
        least_evidence: Log Bayes factor from which groups are apart.
    """
    return _Merger(groups, success, least_evidence).merge(groups) if groups else ()


def find_evidence(groups: Sequence[Group], success: Floats) -> float:
    """Return the log Bayes factor that holds the two least alike of all innermost groups apart, 0 of fewer than two.

    Args:
        groups: The outermost ones, which share no query.
        success: Shape (n, agents), mean verdicts, NaN where there is none.
    """
    innermost = [members for group in groups for members in _walk_innermost(group)]
    if len(innermost) < 2:  # noqa: PLR2004 - a pair
        return 0.0
    likeness = _Merger(groups, success, LEAST_EVIDENCE).compare_all(innermost)
    return max(0.0, -float(likeness[np.triu_indices(len(innermost), 1)].min()))


class _Merger:
    """Merges groups by the outcomes of the agents that matter."""

    def __init__(self, groups: Sequence[Group], success: Floats, least_evidence: float) -> None:
        self._least_evidence = least_evidence
        known = ~np.isnan(success)
        self._wins = np.where(known, success, 0.0)
        self._losses = known - self._wins
        wins, losses = self._count([members for group in groups for members in _walk(group)])
        matters = find_rivals(success, wins.T, losses.T)
        self._wins, self._losses = self._wins[:, matters], self._losses[:, matters]

    def _count(self, groups: Sequence[Ints]) -> tuple[Floats, Floats]:
        """Return the successes and failures in each group, shape (groups, agents)."""
        return (
            np.stack([self._wins[members].sum(axis=0) for members in groups]),
            np.stack([self._losses[members].sum(axis=0) for members in groups]),
        )

    def merge(self, groups: Sequence[Group]) -> tuple[Group, ...]:
        """Return the groups of one parent, merged; none where they are one without parts."""
        done = [Group(group.members, self.merge(group.parts)) for group in groups]
        inner = [group for group in done if group.parts]
        leaves = self._merge_leaves([group.members for group in done if not group.parts])
        merged = tuple(sorted((*inner, *map(Group, leaves)), key=lambda group: int(group.members[0])))
        return merged if len(merged) != 1 else merged[0].parts

    def compare_all(self, groups: Sequence[Ints]) -> Floats:
        """Return the log Bayes factor of one ability against two of each group and those behind it, -inf elsewhere."""
        wins, losses = self._count(groups)
        likeness = np.full((len(groups), len(groups)), -np.inf)
        for place in range(len(groups) - 1):
            likeness[place, place + 1 :] = _compare(wins, losses, place)[place + 1 :]
        return likeness

    def _merge_leaves(self, leaves: list[Ints]) -> list[Ints]:
        """Merge the two most alike until very strong evidence holds them apart; the first of equals."""
        if len(leaves) < 2:  # noqa: PLR2004 - a pair
            return leaves
        wins, losses = self._count(leaves)
        likeness = self.compare_all(leaves)
        while len(leaves) > 1:
            first, second = (int(place) for place in np.unravel_index(int(likeness.argmax()), likeness.shape))
            if likeness[first, second] <= -self._least_evidence:
                break
            left = np.delete(np.arange(len(leaves)), [first, second])
            both = np.sort(np.concatenate([leaves[first], leaves[second]]))
            leaves = [*(leaves[place] for place in left), both]
            wins, losses = (
                np.concatenate([table[left], table[[first, second]].sum(axis=0, keepdims=True)])
                for table in (wins, losses)
            )
            kept, likeness = likeness[np.ix_(left, left)], np.full((len(leaves), len(leaves)), -np.inf)
            likeness[:-1, :-1] = kept
            likeness[:-1, -1] = _compare(wins, losses, len(left))[:-1]
        return leaves


def _compare(wins: Floats, losses: Floats, place: int) -> Floats:
    """Return the log Bayes factor of one ability of a group and each other against two, shape (groups,)."""
    won, lost = (np.stack([table, np.broadcast_to(table[place], table.shape)], axis=2) for table in (wins, losses))
    return find_likenesses(won, lost, PRIOR_WEIGHT)


def _walk(group: Group) -> list[Ints]:
    return [group.members, *(members for part in group.parts for members in _walk(part))]


def _walk_innermost(group: Group) -> list[Ints]:
    return [members for part in group.parts for members in _walk_innermost(part)] or [group.members]
