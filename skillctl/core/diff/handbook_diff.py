"""The exact difference of two handbooks as a value, and its application."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from skillctl.core.diff.handbook_facts import (
    ABSENT,
    Facts,
    Path,
    build_from_facts,
    list_agent_facts,
    list_facts,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillctl.model.handbook import AgentId, Handbook

ChangeKind = Literal["added", "removed", "changed"]


class Change(NamedTuple):
    """One fact that is not what it was.

    Attributes:
        path: Of the fact, see `skillctl.core.diff.handbook_facts.list_facts`.
        before: Its value, or ``ABSENT``.
        after: Its value, or ``ABSENT``.
    """

    path: Path
    before: Any
    after: Any

    @property
    def kind(self) -> ChangeKind:
        """Whether the fact was added, removed or changed."""
        return "added" if self.before is ABSENT else "removed" if self.after is ABSENT else "changed"


class PatchError(ValueError):
    """A handbook on which a difference cannot be applied, as it does not hold what the difference starts from."""


def diff_handbooks(before: Handbook, after: Handbook) -> tuple[Change, ...]:
    """Return every fact in which two handbooks differ, in order of path; nothing for equal handbooks.

    ``patch_handbook(before, diff_handbooks(before, after)) == after``.
    """
    old, new = _unlike_facts(before, after)
    paths = [path for path in old.keys() | new.keys() if old.get(path, ABSENT) != new.get(path, ABSENT)]
    return tuple(Change(path, old.get(path, ABSENT), new.get(path, ABSENT)) for path in sorted(paths))


def patch_handbook(handbook: Handbook, changes: Iterable[Change]) -> Handbook:
    """Return a handbook with changes applied.

    Raises:
        PatchError: If a fact is not what the change says that it was.
    """
    facts = list_facts(handbook)
    for change in changes:
        if facts.get(change.path, ABSENT) != change.before:
            message = f"{'/'.join(change.path)} is not what the difference was taken from"
            raise PatchError(message)
        if change.after is ABSENT:
            del facts[change.path]
        else:
            facts[change.path] = change.after
    return build_from_facts(facts)


def _unlike_facts(before: Handbook, after: Handbook) -> tuple[Facts, Facts]:
    """Return the facts of both sides without the agents that are equal: they are most of a large handbook."""
    equal = {name for name, agent in before.agents.items() if after.agents.get(name) == agent}
    return _facts_without(before, equal), _facts_without(after, equal)


def _facts_without(handbook: Handbook, skipped: set[AgentId]) -> Facts:
    facts = list_facts(replace(handbook, agents={}))
    for name, agent in handbook.agents.items():
        if name not in skipped:
            facts |= list_agent_facts(agent)
    return facts
