"""What the difference of two handbooks means, ordered by how much it matters for routing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from skillctl.core.diff.competence_changes import (
    CompetenceChange,
    FirstEvidence,
    find_competence_changes,
    find_first_evidence,
)
from skillctl.core.diff.handbook_diff import Change, diff_handbooks
from skillctl.core.diff.handbook_facts import ABSENT, Path, owner_of
from skillctl.core.diff.skill_changes import SkillChange, find_skill_changes
from skillctl.core.route.routing_table import expect_cost
from skillctl.model.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillctl.model.handbook import CostStats, EvidenceSource, Handbook

_LEAST_COST_MOVE = 0.01  # relative; less is no news, however sure
_SURE_Z = 1.645  # a move beyond it has a direction with a probability of 95 %
_DERIVED = frozenset({"runs", "cost", "competence"})
_PROFILE_FIELD = 5  # length of the path of a field within a profile

# How much a kind of finding matters, 0 to 1; competences are placed among them by their move.
_OWNER_WEIGHT = 1.0
_FIELD_WEIGHTS = {
    ("settings", "cost_weight"): 0.95,
    ("settings", "default_mode"): 0.95,
    ("agents", "model"): 0.9,
    ("agents", "command"): 0.9,
    ("agents", "modes"): 0.9,
    ("agents", "price"): 0.8,
    ("agents", "capabilities"): 0.8,
    ("agents", "tools"): 0.8,
    ("settings", "orchestrator"): 0.6,
    ("settings", "half_life"): 0.6,
    ("modes", "insights"): 0.45,
}
_OTHER_FIELD_WEIGHT = 0.3
_SKILL_WEIGHTS = {"split": 0.75, "merged": 0.75, "removed": 0.7, "added": 0.7, "moved": 0.5, "reworded": 0.4}
_FIRST_EVIDENCE_WEIGHT = 0.65
_COST_WEIGHT = 0.55
_SELECTION_WEIGHT = 0.85


class OwnerChange(NamedTuple):
    """A mode, a playbook or an agent that came or went as a whole.

    Attributes:
        thing: ``mode``, ``playbook`` or ``agent``.
        id: Its id.
        is_added: Whether it came.
    """

    thing: str
    id: str
    is_added: bool


class FieldChange(NamedTuple):
    """A field that a person or a command set: settings, prices, insights, words.

    Attributes:
        thing: ``handbook``, ``settings``, ``mode``, ``playbook``, ``skill``, ``agent`` or
            ``profile``.
        id: Of the mode, playbook, skill or agent; ``None`` for the handbook.
        mode: Of a skill or profile.
        field: Name of the field in the model.
        before: Its value, or ``ABSENT``.
        after: Its value, or ``ABSENT``.
    """

    thing: str
    id: str | None
    mode: str | None
    field: str
    before: Any
    after: Any


class CostChange(NamedTuple):
    """The expected cost of an agent's run in a mode.

    Attributes:
        mode: Id of the mode.
        agent: Id of the agent.
        before: In US dollars, ``None`` is unknown.
        after: Likewise.
        is_noise: Whether the move may as well be chance.
    """

    mode: str
    agent: str
    before: float | None
    after: float | None
    is_noise: bool


class SelectionChange(NamedTuple):
    """What is selected for an orchestrator.

    Attributes:
        orchestrator: Its name.
        before: What was selected, or ``None``.
        after: What is selected, or ``None``.
    """

    orchestrator: str
    before: Selection | None
    after: Selection | None


Finding = OwnerChange | SelectionChange | FieldChange | SkillChange | CompetenceChange | FirstEvidence | CostChange


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two handbooks compared.

    Attributes:
        changes: The exact difference; patching the older handbook with it gives the newer one.
        findings: What it means, the most important first, without noise.
        noise: Moves of competences and costs that may as well be chance, the largest first.
        counted: Logs that the newer ledger has beyond the older one.
        uncounted: Logs that it has no more.
    """

    changes: tuple[Change, ...]
    findings: tuple[Finding, ...]
    noise: tuple[CompetenceChange | CostChange, ...]
    counted: tuple[EvidenceSource, ...]
    uncounted: tuple[EvidenceSource, ...]

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing changed, neither in the handbook nor in what is selected of it."""
        return not self.changes and not self.findings


Selections = Mapping[str, Selection]
_NOTHING_SELECTED: Selections = {}


def compare_handbooks(
    before: Handbook,
    after: Handbook,
    selected_before: Selections = _NOTHING_SELECTED,
    selected_after: Selections = _NOTHING_SELECTED,
) -> Comparison:
    """Compare two handbooks, and what is selected of them by orchestrator."""
    changes = diff_handbooks(before, after)
    beliefs = find_competence_changes(before, after)
    costs = list(_find_costs(before, after))
    owners = _find_owners(before, after)
    gone_or_new: set[Path] = {(f"{owner.thing}s", owner.id) for owner in owners}
    findings: list[Finding] = [
        *owners,
        *_find_selections(selected_before, selected_after),
        *_find_fields(changes, gone_or_new),
        *find_skill_changes(before, after),
        *(belief for belief in beliefs if not belief.is_noise),
        *find_first_evidence(before, after),
        *(cost for cost in costs if not cost.is_noise),
    ]
    noise: list[CompetenceChange | CostChange] = [
        *(belief for belief in beliefs if belief.is_noise),
        *(cost for cost in costs if cost.is_noise),
    ]
    return Comparison(
        changes,
        tuple(sorted(findings, key=lambda finding: (-importance_of(finding), *_name_of(finding)))),
        tuple(sorted(noise, key=lambda finding: (-importance_of(finding), *_name_of(finding)))),
        tuple(source for source in after.evidence if source not in before.evidence),
        tuple(source for source in before.evidence if source not in after.evidence),
    )


def importance_of(finding: Finding) -> float:
    """Return how much a finding matters, from 0 to 1.

    Kinds have fixed places; a competence weighs 0.4 plus its move times 4 in all of a mode, less in a skill that
    few of the agent's runs need: a move of 0.1 in every fourth query weighs 0.6.
    """
    if isinstance(finding, CompetenceChange):
        return min(0.4 + 4.0 * abs(finding.move) * math.sqrt(finding.share), 0.99)
    if isinstance(finding, SkillChange):
        return _SKILL_WEIGHTS[finding.event]
    if isinstance(finding, FieldChange):
        table = f"{finding.thing}s" if finding.id else finding.thing
        return _FIELD_WEIGHTS.get((table, finding.field), _OTHER_FIELD_WEIGHT)
    if isinstance(finding, CostChange | SelectionChange):
        return _COST_WEIGHT if isinstance(finding, CostChange) else _SELECTION_WEIGHT
    return _FIRST_EVIDENCE_WEIGHT if isinstance(finding, FirstEvidence) else _OWNER_WEIGHT


def _name_of(finding: Finding) -> tuple[str, ...]:
    """Return what orders findings of equal importance."""
    if isinstance(finding, SkillChange):
        return ("skill", finding.mode, *finding.skills)
    if isinstance(finding, CompetenceChange):
        return ("competence", finding.mode, finding.skill, finding.agent)
    if isinstance(finding, FirstEvidence | CostChange):
        return (type(finding).__name__, finding.mode, finding.agent)
    if isinstance(finding, OwnerChange):
        return (finding.thing, finding.id)
    if isinstance(finding, SelectionChange):
        return ("selection", finding.orchestrator)
    return (finding.thing, finding.id or "", finding.mode or "", finding.field)


def _find_owners(before: Handbook, after: Handbook) -> list[OwnerChange]:
    found = []
    tables: tuple[tuple[str, Mapping[Any, object], Mapping[Any, object]], ...] = (
        ("mode", before.modes, after.modes),
        ("playbook", before.playbooks, after.playbooks),
        ("agent", before.agents, after.agents),
    )
    for thing, old, new in tables:
        names: list[str] = sorted(old.keys() ^ new.keys())
        found += [OwnerChange(thing, name, name in new) for name in names]
    return found


def _find_selections(before: Selections, after: Selections) -> Iterator[SelectionChange]:
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield SelectionChange(name, before.get(name), after.get(name))


def _find_fields(changes: Sequence[Change], gone_or_new: set[Path]) -> Iterator[FieldChange]:
    for change in changes:
        path = change.path
        if path[:2] in gone_or_new or path == ("evidence",) or _is_told_elsewhere(change):
            continue
        yield FieldChange(*_place_of(path), path[-1], change.before, change.after)


def _is_told_elsewhere(change: Change) -> bool:
    path = change.path
    if path[0] == "skills":
        is_whole = ABSENT in (change.before, change.after)
        return is_whole or path[3] in {"parent", "description", "indicators", "examples", "origin"}
    if path[0] != "agents" or len(path) < _PROFILE_FIELD:
        return False
    is_empty = all(value is ABSENT or not value for value in (change.before, change.after))
    return path[4] in _DERIVED or is_empty  # empty words of a profile that came or went say nothing


def _place_of(path: Path) -> tuple[str, str | None, str | None]:
    if path[0] == "settings":
        return "settings", None, None
    if len(path) == 1:
        return "handbook", None, None
    if path[0] == "skills":
        return "skill", path[2], path[1]
    is_of_profile = len(owner_of(path)) > len(path[:2])
    return ("profile", path[1], path[3]) if is_of_profile else (path[0].removesuffix("s"), path[1], None)


def _find_costs(before: Handbook, after: Handbook) -> Iterator[CostChange]:
    for name in sorted(before.agents.keys() & after.agents.keys()):
        old, new = before.agents[name], after.agents[name]
        if old == new:
            continue
        for mode in sorted(old.profiles.keys() & new.profiles.keys()):
            costs = expect_cost(old, mode), expect_cost(new, mode)
            if costs[0] != costs[1]:
                stats = old.profiles[mode].cost, new.profiles[mode].cost
                yield CostChange(mode, name, *costs, is_noise=_is_cost_noise(*costs, stats))


def _is_cost_noise(before: float | None, after: float | None, stats: tuple[CostStats, CostStats]) -> bool:
    """Tell whether a mean cost moved by no more than its new runs would move it by chance.

    Of a mean over n runs and one over these and more, N in all, the difference has the variance σ² (1/n − 1/N).
    """
    if before is None or after is None:
        return False
    move = abs(after - before)
    if move < _LEAST_COST_MOVE * max(before, after):
        return True
    old, new = stats
    if not (old.runs and new.runs and new.sd_usd is not None):
        return False
    return move < _SURE_Z * new.sd_usd * math.sqrt(abs(1.0 / old.runs - 1.0 / new.runs))
