"""Three-way merge of handbooks: evidence of both sides adds up over their common base."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from skillctl.core.diff.evidence_merge import RunCosts, merge_competence, merge_costs, merge_ledgers, shared_sources
from skillctl.core.diff.handbook_facts import (
    ABSENT,
    Facts,
    Path,
    build_from_facts,
    is_competence,
    is_of_profile,
    list_facts,
    owner_of,
)
from skillctl.core.profile.evidence import read_evidence
from skillctl.core.profile.pair_layout import build_layout
from skillctl.core.profile.profiling import build_profiles
from skillctl.model.handbook import CostStats

if TYPE_CHECKING:
    from skillctl.model.handbook import Handbook

Side = Literal["base", "ours", "theirs"]
_NOTHING: tuple[object, ...] = ((), {}, None, "")


class MergedFacts(NamedTuple):
    """What a merge came to.

    Attributes:
        facts: Merged; in conflicts those of the side that was asked for.
        conflicts: Paths on which both sides say different things.
    """

    facts: Facts
    conflicts: tuple[Path, ...]


class Merge(NamedTuple):
    """A merged handbook, and the paths on which both sides say different things: there it has ours."""

    handbook: Handbook
    conflicts: tuple[Path, ...]


def merge_handbooks(base: Handbook, ours: Handbook, theirs: Handbook) -> Merge:
    """Merge two handbooks that come from a common base.

    Evidence adds up: s = s_ours + s_theirs − s_base, likewise failures, runs and the moments of costs; posteriors
    follow from the merged evidence as in profiling. Where both sides counted the same log, or counted anew without
    another log, evidence would count twice: then every count that differs is a conflict.
    """
    adds_up = not shared_sources(base.evidence, ours.evidence, theirs.evidence) and ours.evidence != theirs.evidence
    facts, conflicts = merge_facts(list_facts(base), list_facts(ours), list_facts(theirs), adds_up=adds_up)
    merged = build_from_facts(facts)
    is_one_side = merged.agents in (ours.agents, theirs.agents) and merged.skills in (ours.skills, theirs.skills)
    return Merge(merged if is_one_side or conflicts else recount_posteriors(merged), conflicts)


def recount_posteriors(handbook: Handbook) -> Handbook:
    """Return the handbook with the posteriors that follow from its evidence; a profiled handbook stays as it is.

    The prior is fitted over all agents and skills of a mode, so after a merge of their files it is fitted again.
    """
    return build_profiles(handbook, read_evidence(handbook, build_layout(handbook)))


def merge_facts(base: Facts, ours: Facts, theirs: Facts, *, adds_up: bool = True, prefer: Side = "ours") -> MergedFacts:
    """Merge facts one by one; what one side removed and the other changed is a conflict as a whole.

    Args:
        base: The common base.
        ours: One side.
        theirs: The other side.
        adds_up: Whether the new evidence of both sides is of different runs.
        prefer: Whose value stands where both say different things.
    """
    chosen = {"base": base, "ours": ours, "theirs": theirs}[prefer]
    merged: Facts = {}
    conflicts: list[Path] = []
    for path in sorted(base.keys() | ours.keys() | theirs.keys()):
        value, is_clear = _merge_fact(path, (base, ours, theirs), adds_up=adds_up)
        if not is_clear:
            conflicts.append(path)
            value = chosen.get(path, ABSENT)
        if value is not ABSENT:
            merged[path] = value
    torn = _find_torn(conflicts, ours, theirs)
    if torn:
        merged = {path: value for path, value in merged.items() if not _is_within(path, torn)}
        merged |= {path: value for path, value in chosen.items() if _is_within(path, torn)}
    return MergedFacts(merged, tuple(conflicts))


_Sides = tuple[Facts, Facts, Facts]


def _merge_fact(path: Path, sides: _Sides, *, adds_up: bool) -> tuple[Any, bool]:
    """Return the merged value, and whether both sides agree to it."""
    base, ours, theirs = _values(path, sides)
    if base in (ours, theirs):
        return (theirs if ours == base else ours), True
    is_count = is_competence(path) or (is_of_profile(path) and path[-1] in {"runs", "cost"})
    if is_competence(path) and ABSENT in (ours, theirs) and base is not ABSENT:
        return ABSENT, True  # it goes with its skill; its evidence stays in the skills above
    if is_count and adds_up:  # equal numbers on both sides are of different runs
        return _merge_evidence(path, sides)
    if ours == theirs:
        return ours, True
    return _merge_changes(path, sides, adds_up=adds_up)


def _merge_changes(path: Path, sides: _Sides, *, adds_up: bool) -> tuple[Any, bool]:
    """Merge a fact that both sides changed, differently, and that is no count."""
    base, ours, theirs = _values(path, sides)
    if path == ("evidence",):
        return merge_ledgers(base, ours, theirs), adds_up
    if path == ("refined",):
        return (), True  # neither side saw the skills that the merge gives
    if base is ABSENT and ABSENT not in (ours, theirs) and (ours in _NOTHING or theirs in _NOTHING):
        return (theirs if ours in _NOTHING else ours), True
    return ours, False


def _values(path: Path, sides: _Sides) -> tuple[Any, Any, Any]:
    base, ours, theirs = (side.get(path, ABSENT) for side in sides)
    return base, ours, theirs


def _merge_evidence(path: Path, sides: _Sides) -> tuple[Any, bool]:
    base, ours, theirs = _values(path, sides)
    if ABSENT in (ours, theirs):
        return ours, False  # a profile goes as a whole or not
    if is_competence(path):
        return merge_competence(None if base is ABSENT else base, ours, theirs), True
    if path[-1] == "runs":
        return max(ours + theirs - (0 if base is ABSENT else base), 0), True
    runs = _values((*path[:-1], "runs"), sides)
    three = (
        RunCosts(CostStats() if stats is ABSENT else stats, 0 if count is ABSENT else count)
        for stats, count in zip((base, ours, theirs), runs, strict=True)
    )
    return merge_costs(*three), True


def _find_torn(conflicts: list[Path], ours: Facts, theirs: Facts) -> set[Path]:
    """Return what one side removed and the other changed."""
    owners = [{owner for path in side for owner in (owner_of(path), path[:2])} for side in (ours, theirs)]
    return {
        owner
        for path in conflicts
        for owner in (path[:2], owner_of(path))
        if owner
        and path[0] in {"modes", "playbooks", "skills", "agents"}
        and any(owner not in known for known in owners)
    }


def _is_within(path: Path, owners: set[Path]) -> bool:
    return any(path[:size] in owners for size in (2, 3, 4))
