"""What no schema can say: ids that must exist, once, and numbers that must fit each other."""

from __future__ import annotations

import math
from collections import defaultdict
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from skillctl.core.orchestrate.pattern_guard import find_pattern_fault
from skillctl.store.typed_values import Fault

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from skillctl.store.documents import Document
    from skillctl.store.yaml_nodes import JsonPath

# Rounding to four decimals may put a count this far above the parameter that contains it.
_ROUNDING = 1e-4


def find_cross_problems(documents: Collection[Document]) -> list[tuple[Document, Fault]]:
    """Return what is wrong between the files, and within them beyond their schemas.

    Faulty parts (``None``) were reported before and are passed over.
    """
    names = _Names(documents)
    found: list[tuple[Document, Fault]] = list(_repeated_files(documents))
    found += _repeated_skills(documents, names)
    for document in documents:
        if isinstance(document.data, dict):
            found += [(document, fault) for fault in _CHECKS[document.kind.schema](document.data, names)]
    return found


class _Names:
    """The ids that may be referred to; ``None`` where a file that cannot be read may hold more of them."""

    def __init__(self, documents: Collection[Document]) -> None:
        unreadable = {document.kind.schema for document in documents if document.id is None}
        self.modes: set[str] = {one.id for one in documents if one.kind.schema == "mode" and one.id is not None}
        self.knows_modes = "mode" not in unreadable
        self.knows_skills = "skills" not in unreadable
        self.playbooks: set[str] = {one.id for one in documents if one.kind.schema == "playbook" and one.id is not None}
        self.knows_playbooks = "playbook" not in unreadable
        self.mode_of: dict[str, str] = {}
        self.skills: defaultdict[str, set[str]] = defaultdict(set)
        for document in documents:
            if document.kind.schema != "skills" or document.id is None:
                continue
            for skill in _dicts(document.data.get("skills")):
                if isinstance(skill.get("id"), str):
                    self.mode_of.setdefault(skill["id"], document.id)
                    self.skills[document.id].add(skill["id"])

    def mode_fault(self, mode: object, path: JsonPath) -> Iterator[Fault]:
        if isinstance(mode, str) and mode not in self.modes and self.knows_modes:
            hint = _nearest(mode, self.modes) or f"add modes/{mode}.yaml"
            yield Fault(0, path, f"there is no mode {_quote(mode)}: {hint}")

    def playbook_fault(self, playbook: object, path: JsonPath) -> Iterator[Fault]:
        if isinstance(playbook, str) and playbook not in self.playbooks and self.knows_playbooks:
            hint = _nearest(playbook, self.playbooks) or f"add playbooks/{playbook}.yaml"
            yield Fault(0, path, f"there is no playbook {_quote(playbook)}: {hint}")


def _repeated_files(documents: Iterable[Document]) -> Iterator[tuple[Document, Fault]]:
    first: dict[tuple[str, str], Document] = {}
    for document in documents:
        if document.id is None:
            continue
        before = first.setdefault((document.kind.schema, document.id), document)
        if before is not document:
            message = f"{_quote(document.id)} stands in {before.file.path} too: keep one of the files"
            yield document, Fault(0, (document.kind.id_key,), message)


def _repeated_skills(documents: Iterable[Document], names: _Names) -> Iterator[tuple[Document, Fault]]:
    first: dict[str, tuple[Document, int]] = {}
    for document in documents:
        if document.kind.schema != "skills" or not isinstance(document.data, dict):
            continue
        for index, skill in _numbered_dicts(document.data.get("skills")):
            name = skill.get("id")
            if not isinstance(name, str):
                continue
            path = ("skills", index, "id")
            if name in names.modes:
                yield document, Fault(0, path, f"{_quote(name)} is the id of a mode: choose another id for the skill")
            before, place = first.setdefault(name, (document, index))
            if (before, place) != (document, index):
                where = f"$.skills[{place}]" if before is document else str(before.file.path)
                yield document, Fault(0, path, f"the skill {_quote(name)} stands in {where} too: keep one")


def _check_handbook(data: Mapping[str, Any], names: _Names) -> Iterator[Fault]:
    settings = _dict(data.get("settings"))
    yield from names.mode_fault(settings.get("default_mode"), ("settings", "default_mode"))


def _check_mode(data: Mapping[str, Any], names: _Names) -> Iterator[Fault]:
    yield from names.playbook_fault(data.get("playbook"), ("playbook",))
    yield from _action_faults(_dict(data.get("action")))
    for index, insight in _numbered_dicts(data.get("insights")):
        yield from names.mode_fault(insight.get("after"), ("insights", index, "after"))


def _action_faults(action: Mapping[str, Any]) -> Iterator[Fault]:
    kind = action.get("kind")
    if kind == "search" and ("corpus" in action) == ("url" in action):
        yield Fault(0, ("action",), "a search has either `corpus` or `url`: give one of them")
    if kind == "command" and "command" not in action:
        yield Fault(0, ("action",), "an action of kind `command` has `command`: add the program and its arguments")


def _check_skills(data: Mapping[str, Any], names: _Names) -> Iterator[Fault]:
    yield from names.mode_fault(data.get("mode"), ("mode",))
    parents = {}
    for index, skill in _numbered_dicts(data.get("skills")):
        parent = skill.get("parent")
        if isinstance(parent, str):
            yield from _parent_faults(data.get("mode"), parent, ("skills", index, "parent"), names)
            parents[skill.get("id")] = (parent, index)
        yield from names.playbook_fault(skill.get("playbook"), ("skills", index, "playbook"))
        for place, indicator in _numbered_dicts(skill.get("indicators")):
            yield from _regex_faults(indicator.get("regex"), ("skills", index, "indicators", place, "regex"))
    yield from _cycle_faults(parents)


def _parent_faults(mode: object, parent: str, path: JsonPath, names: _Names) -> Iterator[Fault]:
    home = names.mode_of.get(parent)
    if parent == mode:
        yield Fault(0, path, "a skill directly below its mode has no parent: remove the key")
    elif home is None:
        yield Fault(0, path, f"there is no skill {_quote(parent)}: {_nearest(parent, names.mode_of) or 'register it'}")
    elif isinstance(mode, str) and parent not in names.skills[mode]:
        yield Fault(0, path, f"{_quote(parent)} is a skill of the mode {_quote(home)}: a parent is of the same mode")


def _cycle_faults(parents: Mapping[Any, tuple[str, int]]) -> Iterator[Fault]:
    done: set[str] = set()
    for start in parents:
        trail: dict[str, None] = {}
        name = start
        while name in parents and name not in done and name not in trail:
            trail[name] = None
            name = parents[name][0]
        if name in trail:
            names = list(trail)
            circle = " → ".join([*names[names.index(name) :], name])
            path = ("skills", parents[name][1], "parent")
            yield Fault(0, path, f"the parents run in a circle, {circle}: break it")
        done |= set(trail)


def _regex_faults(pattern: object, path: JsonPath) -> Iterator[Fault]:
    fault = find_pattern_fault(pattern) if isinstance(pattern, str) else None
    if fault:
        yield Fault(0, path, fault)


def _check_agent(data: Mapping[str, Any], names: _Names) -> Iterator[Fault]:
    yield from names.playbook_fault(data.get("playbook"), ("playbook",))
    for index, mode in enumerate(data.get("modes") or ()):
        yield from names.mode_fault(mode, ("modes", index))
    for mode, profile in _dict(data.get("profiles")).items():
        path = ("profiles", mode)
        yield from names.mode_fault(mode, path)
        yield from _competence_faults(mode, _dict(_dict(profile).get("competence")), path, names)


def _competence_faults(mode: str, competence: Mapping[str, Any], path: JsonPath, names: _Names) -> Iterator[Fault]:
    registered = names.skills[mode]
    for skill, entry in competence.items():
        if skill not in registered and skill != mode and names.knows_skills:
            yield Fault(0, (*path, "competence", skill), _unregistered(skill, mode, names))
        if isinstance(entry, dict) and not _is_sound(entry):
            yield from _number_faults(entry, (*path, "competence", skill))


def _unregistered(skill: str, mode: str, names: _Names) -> str:
    home = names.mode_of.get(skill)
    if home is not None:
        return f"is a skill of the mode {_quote(home)}, not of {_quote(mode)}: move the entry"
    hint = _nearest(skill, {*names.skills[mode], mode})
    return f"there is no such skill in the mode {_quote(mode)}: {hint or 'register it, or remove the entry'}"


def _is_sound(entry: Mapping[str, Any]) -> bool:
    try:
        alpha, beta = entry["alpha"], entry["beta"]
        return bool(
            0 < alpha < math.inf
            and 0 < beta < math.inf
            and 0 <= entry["successes"] <= alpha + _ROUNDING
            and 0 <= entry["failures"] <= beta + _ROUNDING
        )
    except (KeyError, TypeError):
        return False


def _number_faults(entry: Mapping[str, Any], path: JsonPath) -> Iterator[Fault]:
    for parameter, count in (("alpha", "successes"), ("beta", "failures")):
        value, evidence = entry.get(parameter), entry.get(count)
        if value is None or evidence is None:
            continue  # reported by the reader
        if not 0 < value < math.inf:
            yield Fault(0, (*path, parameter), f"must be finite and greater than 0, not {value!r}")
        if not 0 <= evidence < math.inf:
            yield Fault(0, (*path, count), f"must be finite and at least 0, not {evidence!r}")
        elif 0 < value < evidence - _ROUNDING:
            message = f"is {value!r}, less than its {evidence!r} {count}: it is the {count} plus the prior"
            yield Fault(0, (*path, parameter), message)


def _check_nothing(_data: Mapping[str, Any], _names: _Names) -> Iterator[Fault]:
    return iter(())


_CHECKS = {
    "handbook": _check_handbook,
    "mode": _check_mode,
    "skills": _check_skills,
    "agent": _check_agent,
    "selection": _check_nothing,  # it records a choice at a time: skills may have gone since
    "playbook": _check_nothing,  # it refers to nothing
}


def _nearest(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, sorted(known), n=1)
    return f"did you mean {_quote(close[0])}?" if close else ""


def _quote(name: str) -> str:
    return f"`{name}`"


def _dict(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _numbered_dicts(value: object) -> list[tuple[int, Mapping[str, Any]]]:
    items = value if isinstance(value, list) else []
    return [(index, item) for index, item in enumerate(items) if isinstance(item, dict)]
