"""A comparison of two handbooks as JSON, in the shape of ``diff.schema.json``."""

from __future__ import annotations

import json
from dataclasses import asdict, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from skillctl.core.diff.competence_changes import CompetenceChange, FirstEvidence
from skillctl.core.diff.handbook_comparison import CostChange, FieldChange, OwnerChange, SelectionChange, importance_of
from skillctl.core.diff.handbook_facts import ABSENT
from skillctl.core.diff.skill_changes import SkillChange
from skillctl.report.change_sentences import Style, say_finding

if TYPE_CHECKING:
    from skillctl.core.diff.change_effect import Effect, Traffic
    from skillctl.core.diff.handbook_comparison import Comparison, Finding
    from skillctl.model.selection import Selection

_KINDS = {
    CompetenceChange: "competence",
    SkillChange: "skill",
    FirstEvidence: "first_evidence",
    CostChange: "cost",
    OwnerChange: "owner",
    FieldChange: "field",
    SelectionChange: "selection",
}
_DIGITS = 6


def render_diff_json(comparison: Comparison, effect: Effect | None, *, labels: tuple[str, str]) -> str:
    """Return a comparison as JSON."""
    return json.dumps(describe_diff(comparison, effect, labels=labels), ensure_ascii=False, indent=2, allow_nan=False)


def describe_diff(comparison: Comparison, effect: Effect | None, *, labels: tuple[str, str]) -> dict[str, Any]:
    """Return a comparison as JSON data."""
    return {
        "before": labels[0],
        "after": labels[1],
        "changes": [
            {
                "path": list(change.path),
                "kind": change.kind,
                "before": plain_value(change.before),
                "after": plain_value(change.after),
            }
            for change in comparison.changes
        ],
        "findings": [describe_finding(finding) for finding in comparison.findings],
        "noise": [describe_finding(finding) for finding in comparison.noise],
        "counted": [asdict(source) for source in comparison.counted],
        "uncounted": [asdict(source) for source in comparison.uncounted],
        "effect": None if effect is None else _describe_effect(effect),
    }


def describe_finding(finding: Finding) -> dict[str, Any]:
    """Return a finding as JSON data, with its sentence."""
    return {
        "kind": _KINDS[type(finding)],
        "sentence": say_finding(finding, Style(markdown=False)),
        "importance": round(importance_of(finding), _DIGITS),
        **_describe_fields(finding),
    }


def _describe_fields(finding: Finding) -> dict[str, Any]:
    if isinstance(finding, SelectionChange):
        sides = {"before": finding.before, "after": finding.after}
        return {"orchestrator": finding.orchestrator, **{side: _describe_choice(one) for side, one in sides.items()}}
    if not isinstance(finding, CompetenceChange):
        return {name: plain_value(getattr(finding, name)) for name in finding._fields}
    beliefs = {
        side: {name: round(value, _DIGITS) for name, value in getattr(finding, side)._asdict().items()}
        for side in ("before", "after")
    }
    return {
        "mode": finding.mode,
        "skill": finding.skill,
        "agent": finding.agent,
        **beliefs,
        "move": round(finding.move, _DIGITS),
        "new_evidence": round(finding.new_evidence, _DIGITS),
        "probability": round(finding.probability, _DIGITS),
        "is_noise": finding.is_noise,
    }


def _describe_choice(selection: Selection | None) -> dict[str, Any] | None:
    if selection is None:
        return None
    choice = selection.choice
    return {
        "skills": list(choice.skills),
        "accuracy": choice.accuracy,
        "mean_cost_usd": choice.mean_cost_usd,
        "lambda": selection.cost_weight,
        "rule": selection.rule,
    }


def _describe_effect(effect: Effect) -> dict[str, Any]:
    real = effect.real
    return {
        "queries": effect.queries,
        "moved": effect.moved,
        "flows": [
            {
                "from": flow.source,
                "to": flow.target,
                "queries": flow.queries,
                "examples": [{"id": name, "query": text} for name, text in flow.examples],
            }
            for flow in effect.flows
        ],
        "before": _describe_traffic(effect.before),
        "after": _describe_traffic(effect.after),
        "real": real
        and {
            "queries": real.queries,
            "before": real.before,
            "after": real.after,
            "difference": real.difference._asdict(),
            "cost_queries": real.cost_queries,
            "cost_difference_usd": real.cost_difference and real.cost_difference._asdict(),
        },
    }


def _describe_traffic(traffic: Traffic) -> dict[str, Any]:
    return {
        "expected_success": traffic.success,
        "expected_cost_usd": traffic.cost_usd,
        "shares": dict(traffic.shares),
        "top_share": next(iter(traffic.shares.values()), None),
        "effective_agents": traffic.effective_agents,
        "unrouted": traffic.unrouted,
    }


def plain_value(value: Any) -> Any:  # noqa: ANN401 - of any field
    """Return a value of the model as JSON data; what is absent is null."""
    if value is ABSENT:
        return None
    if is_dataclass(value):
        return {field.name: plain_value(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple | list):
        return [plain_value(item) for item in value]
    if isinstance(value, dict):
        return {key: plain_value(item) for key, item in value.items()}
    return value
