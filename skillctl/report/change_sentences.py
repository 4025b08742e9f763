"""One understandable sentence for each finding of a comparison."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from skillctl.core.diff.competence_changes import CompetenceChange, FirstEvidence
from skillctl.core.diff.handbook_comparison import CostChange, FieldChange, OwnerChange, SelectionChange
from skillctl.core.diff.handbook_facts import ABSENT
from skillctl.core.diff.skill_changes import SkillChange
from skillctl.report.cells import show_count, show_id, show_text, show_usd
from skillctl.report.problems import count_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillctl.core.diff.handbook_comparison import Finding

_FIELD_NAMES = {
    "cost_weight": "lambda (success that a dollar is worth)",
    "default_mode": "default mode",
    "half_life": "half-life of evidence",
    "prior_strength": "strength of the prior (in runs)",
    "orchestrator": "numbers of the orchestrator",
    "context_tokens": "context",
    "api_base": "endpoint",
    "api_key_env": "name of the key's variable",
    "params": "parameters",
    "extra": "hand-written fields",
    "signals": "routing signals",
}
_TEXT_WIDTH = 80
_LIST_SHOWN = 3
# Entities where a backslash would not do: HTML, mentions of people, and bars within tables.
_ESCAPES = {mark: f"\\{mark}" for mark in "\\`*_[]#~"} | {mark: f"&#{ord(mark)};" for mark in "<>@|&"}


class Style:
    """How names and numbers stand out: plainly in a terminal, with marks in Markdown."""

    def __init__(self, *, markdown: bool) -> None:
        self._markdown = markdown

    def name(self, name: str) -> str:
        """Return an id."""
        return _code(name) if self._markdown else show_id(name)

    def text(self, text: str) -> str:
        """Return a text of a person on one line."""
        line = show_text(text, _TEXT_WIDTH)
        return escape_markdown(line) if self._markdown else line

    def strong(self, text: str) -> str:
        """Return what must be seen."""
        return f"**{text}**" if self._markdown else text


def _code(name: str) -> str:
    text = show_id(name)
    if "`" not in text:
        return f"`{text}`"
    return f"`` {text} ``"


def escape_markdown(text: str) -> str:
    """Return a text in which nothing is taken as Markdown, HTML or a mention."""
    return "".join(_ESCAPES.get(letter, letter) for letter in text)


def say_finding(finding: Finding, style: Style) -> str:
    """Return a finding in one sentence."""
    if isinstance(finding, CompetenceChange):
        return _say_competence(finding, style)
    if isinstance(finding, SkillChange):
        return _say_skill(finding, style)
    if isinstance(finding, FirstEvidence):
        return _say_first_evidence(finding, style)
    if isinstance(finding, CostChange):
        return _say_cost(finding, style)
    return _say_setting(finding, style)


def _say_setting(finding: OwnerChange | SelectionChange | FieldChange, style: Style) -> str:
    if isinstance(finding, OwnerChange):
        return f"{finding.thing} {style.name(finding.id)} was {'added' if finding.is_added else 'removed'}"
    if isinstance(finding, SelectionChange):
        return _say_selection(finding, style)
    return _say_field(finding, style)


def _say_selection(finding: SelectionChange, style: Style) -> str:
    who = f"the orchestrator {style.name(finding.orchestrator)}"
    if finding.after is None:
        return f"{who} may use all skills again: its selection was removed"
    skills = finding.after.choice.skills
    known = () if finding.before is None else finding.before.choice.skills
    said = f"{who} uses a selection of {count_of(len(skills), 'skill')}"
    if finding.before is not None:
        new = [style.name(skill) for skill in skills if skill not in known]
        gone = [style.name(skill) for skill in known if skill not in skills]
        parts = [f"{word} {_join(names)}" for word, names in (("new", new), ("gone", gone)) if names]
        said += f" ({'; '.join(parts) or 'the same as before, scored anew'})"
    accuracy = finding.after.choice.accuracy
    return said if accuracy is None else f"{said}: accuracy {_percent(accuracy)} on validation"


def _say_competence(finding: CompetenceChange, style: Style) -> str:
    before, after = finding.before, finding.after
    word = "better" if finding.move > 0 else "worse"
    where = (
        f"in all of {style.name(finding.mode)}" if finding.skill == finding.mode else f"in {style.name(finding.skill)}"
    )
    move = style.strong(f"{_percent(before.mean)} → {_percent(after.mean)}")
    return (
        f"{style.name(finding.agent)} is {word} than thought {where}: expected success {move} "
        f"(90 % interval {_span(before.low, before.high)} → {_span(after.low, after.high)}; "
        f"{_say_evidence(finding)}; {say_probability(finding.probability)} sure)"
    )


def _say_evidence(finding: CompetenceChange) -> str:
    new = finding.new_evidence
    total = f"{show_count(finding.after.evidence)} in all"
    if round(new, 1) == 0:
        return f"no new evidence, {total}"
    return f"{show_count(abs(new))} {'new' if new > 0 else 'fewer'} outcomes, {total}"


def say_probability(probability: float) -> str:
    """Return a probability in words; no belief is certain."""
    return "over 99 %" if probability > 0.99 else f"{100 * probability:.0f} %"  # noqa: PLR2004 - in words


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _span(low: float, high: float) -> str:
    return f"{100 * low:.0f}–{100 * high:.0f} %"  # noqa: RUF001 - a range


def _say_skill(finding: SkillChange, style: Style) -> str:
    names, sources = (_join([style.name(name) for name in part]) for part in (finding.skills, finding.sources))
    if finding.event == "split":
        return f"skill {sources} was split: it has the parts {names}"
    if finding.event == "merged":
        return f"skills {sources} were merged into {names}: {style.text(finding.after or '')}"
    if finding.event == "added":
        origin = f" (from {sources})" if sources else ""
        return f"skill {names} was added{origin}: {style.text(finding.after or '')}"
    if finding.event == "removed":
        return f"skill {names} was removed: {style.text(finding.before or '')}"
    return _say_kept_skill(finding, names, style)


def _say_kept_skill(finding: SkillChange, names: str, style: Style) -> str:
    if finding.event == "moved":
        ends = (style.name(finding.mode if end is None else end) for end in (finding.before, finding.after))
        return f"skill {names} moved from {' to '.join(ends)}"
    if "description" in finding.fields:
        return f"skill {names} is described anew: “{style.text(finding.after or '')}”"
    return f"skill {names} has other {_join(finding.fields)}"


def _say_first_evidence(finding: FirstEvidence, style: Style) -> str:
    count = count_of(len(finding.skills), "skill")
    who = f"{style.name(finding.agent)} in {style.name(finding.mode)}"
    if finding.is_gone:
        return f"{who} is no more rated in {count}" if finding.skills else f"{who} is no more rated"
    runs = f" on {count_of(finding.evidence, 'run')}" if finding.evidence > 0 else ""
    if finding.mean is None:
        return f"{who} is rated for the first time in {count}{runs}"
    below = f", and in {count}" if finding.skills else ""
    return f"{who} is rated for the first time{runs}: expected success {style.strong(_percent(finding.mean))}{below}"


def _say_cost(finding: CostChange, style: Style) -> str:
    costs = style.strong(f"{show_usd(finding.before)} → {show_usd(finding.after)}")
    who = f"a run of {style.name(finding.agent)} in {style.name(finding.mode)}"
    if finding.before and finding.after is not None:
        change = 100 * (finding.after / finding.before - 1)
        return f"{who} is expected to cost {costs} ({change:+.0f} %)"
    return f"{who} is expected to cost {costs}"


def _say_field(finding: FieldChange, style: Style) -> str:
    name = _FIELD_NAMES.get(finding.field, finding.field)
    owner = {
        "handbook": "the handbook's",
        "settings": "the setting",
    }.get(finding.thing, f"{finding.thing} {style.name(finding.id or '')}:")
    if finding.thing == "profile":
        owner = f"agent {style.name(finding.id or '')} in {style.name(finding.mode or '')}:"
    if isinstance(finding.before, tuple) or isinstance(finding.after, tuple):
        return f"{owner} {_say_items(name, finding, style)}"
    ends = (show_value(value, style) for value in (finding.before, finding.after))
    return f"{owner} {name} {' → '.join(ends)}"


def _say_items(name: str, finding: FieldChange, style: Style) -> str:
    old, new = (value if isinstance(value, tuple) else () for value in (finding.before, finding.after))
    said = []
    for word, items in (("new", [item for item in new if item not in old]), ("gone", [i for i in old if i not in new])):
        if items:
            shown = "; ".join(f"“{show_value(item, style)}”" for item in items[:_LIST_SHOWN])
            more = f" and {len(items) - _LIST_SHOWN} more" if len(items) > _LIST_SHOWN else ""
            said.append(f"{word} {shown}{more}")
    return f"{name}: {', '.join(said) or 'in another order'}"


def show_value(value: Any, style: Style) -> str:  # noqa: ANN401 - of any field
    """Return a value of the model in words."""
    if value is None or value is ABSENT:
        return "none"
    if is_dataclass(value):
        if hasattr(value, "text"):
            return style.text(value.text)
        parts = ((field.name, getattr(value, field.name)) for field in fields(value))
        known = [
            f"{_FIELD_NAMES.get(name, name)} {show_value(part, style)}"
            for name, part in parts
            if part not in (None, {})
        ]
        return ", ".join(known) or "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return _join([show_value(item, style) for item in value]) or "none"
    return style.text(str(value)) or "none"


def _join(items: Sequence[str]) -> str:
    return ", ".join(items)
