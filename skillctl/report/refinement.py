"""Proposals of refinement and what came of them, as a table, a list for a commit, and JSON."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from skillctl.report.cells import show_count, show_heading, show_id, show_ids, show_table, show_text
from skillctl.report.problems import count_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillctl.core.refine.refinement import Part, Proposal, Verdict

_EXAMPLE_CHARACTERS = 2_000


class RefinementCounts(NamedTuple):
    """What a run of refinement saw.

    Attributes:
        training: Training traces.
        validation: Validation traces.
        bad_lines: Lines that could not be used.
        is_known: Whether an earlier run came to the end with these data and skills.
    """

    training: int
    validation: int
    bad_lines: int
    is_known: bool


def render_refinement(verdicts: Sequence[Verdict], counts: RefinementCounts, *, markdown: bool) -> str:
    """Return the proposals as a table with the queries behind them."""
    if not verdicts:
        reason = "these data were used before, and nothing is left to refine" if counts.is_known else "no proposal"
        return f"{reason[0].upper()}{reason[1:]}.\n"
    rows = [
        [
            "applied" if verdict.applied else "rejected",
            verdict.proposal.kind,
            _show_edit(verdict.proposal),
            f"{_log10(verdict.proposal.evidence):.1f}",
            " / ".join(str(len(part.queries)) for part in verdict.proposal.parts),
            _show_gain(verdict),
            f"{verdict.moved} of {verdict.queries}",
        ]
        for verdict in verdicts
    ]
    headers = ["", "edit", "skills", "log10 BF", "queries", "gain on validation", "moved"]
    if any(verdict.opinion for verdict in verdicts):
        headers.append("second opinion")
        rows = [[*row, _show_opinion(verdict)] for row, verdict in zip(rows, verdicts, strict=True)]
    applied = sum(verdict.applied for verdict in verdicts)
    title = f"{count_of(len(verdicts), 'proposal')}, {applied} applied"
    sections = [show_heading(title, markdown=markdown) + "\n" + show_table(headers, rows, markdown=markdown)]
    sections += [_show_parts(verdict, markdown=markdown) for verdict in verdicts]
    return "\n\n".join(sections) + "\n"


def say_edit(proposal: Proposal) -> str:
    """Return the subject of a commit that makes the edit."""
    if proposal.kind == "merge":
        return f"Merge {show_ids(proposal.skills)} into {show_id(proposal.made[0])}"
    if proposal.kind == "split":
        return f"Split {show_ids(proposal.skills)} into {show_ids(proposal.made)}"
    below = f" below {show_id(proposal.skills[0])}" if proposal.skills else ""
    return f"Add {show_ids(proposal.made)}{below}, where routing failed"


def say_reasons(verdict: Verdict) -> tuple[str, ...]:
    """Return the evidence for an edit, for the body of its commit."""
    proposal = verdict.proposal
    parts = "; ".join(f"{show_id(part.skill)}: {count_of(len(part.queries), 'query')}" for part in proposal.parts)
    return (
        f"- log10 Bayes factor {_log10(proposal.evidence):.1f}, needed {_log10(proposal.threshold):.1f}",
        f"- {parts.replace('querys', 'queries')}",
        f"- on validation {_show_gain(verdict)}, {verdict.moved} of {verdict.queries} queries moved",
        *_say_adopted(proposal),
        *_say_advice(verdict),
    )


def _say_adopted(proposal: Proposal) -> list[str]:
    """Return where the finer skills of a split one go."""
    halves = {half: [child for child, own in proposal.adopted.items() if own == half] for half in proposal.made}
    return [f"- below {show_id(half)}: {show_ids(children)}" for half, children in halves.items() if children]


def _say_advice(verdict: Verdict) -> list[str]:
    """Return what a language model had to do with an edit."""
    opinion = verdict.opinion
    if opinion is None:
        return []
    model = show_id(opinion.model)
    sentences = [f"- {model} {_show_opinion(verdict)}: {show_id(opinion.reason)}"]
    return [*sentences, f"- names and descriptions by {model}"] if verdict.is_named_by_model else sentences


def render_refinement_json(
    verdicts: Sequence[Verdict],
    counts: RefinementCounts,
    *,
    seed: int,
    changed: bool,
    llm: str | None,
    orchestrator: str,
) -> str:
    """Return the result in the shape of ``refinement.schema.json``."""
    data = {
        **counts._asdict(),
        "seed": seed,
        "orchestrator": orchestrator,
        "llm": llm,
        "changed": changed,
        "proposals": [_encode(one) for one in verdicts],
    }
    return json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False)


def _encode(verdict: Verdict) -> dict[str, Any]:
    proposal, gain = verdict.proposal, verdict.gain
    return {
        "kind": proposal.kind,
        "mode": proposal.mode,
        "skills": list(proposal.skills),
        "made": list(proposal.made),
        "basis": proposal.basis,
        "log10_bayes_factor": round(_log10(proposal.evidence), 4),
        "log10_threshold": round(_log10(proposal.threshold), 4),
        "parts": [_encode_part(part) for part in proposal.parts],
        "adopted": dict(proposal.adopted),
        "applied": verdict.applied,
        "gain": None if gain is None else {name: round(value, 6) for name, value in gain._asdict().items()},
        "moved": verdict.moved,
        "validation_queries": verdict.queries,
        "opinion": None if verdict.opinion is None else verdict.opinion._asdict(),
        "is_named_by_model": verdict.is_named_by_model,
    }


def _encode_part(part: Part) -> dict[str, Any]:
    return {
        "skill": part.skill,
        "queries": list(part.queries),
        "agents": {
            agent: {"successes": round(wins, 4), "failures": round(losses, 4)}
            for agent, (wins, losses) in part.counts.items()
        },
        "examples": [text[:_EXAMPLE_CHARACTERS] for text in part.examples],
    }


def _show_edit(proposal: Proposal) -> str:
    if proposal.kind == "addition":
        return show_ids(proposal.made)
    return f"{show_ids(proposal.skills)} → {show_ids(proposal.made)}"


def _show_gain(verdict: Verdict) -> str:
    gain = verdict.gain
    return "no query" if gain is None else f"{gain.value:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]"


def _show_opinion(verdict: Verdict) -> str:
    if verdict.opinion is None:
        return "none"
    return "agrees" if verdict.opinion.agrees else "disagrees"


def _show_parts(verdict: Verdict, *, markdown: bool) -> str:
    """Return how often each agent succeeded on each side, and queries of both."""
    parts = verdict.proposal.parts
    agents = sorted({agent for part in parts for agent in part.counts})
    rows = [[show_id(agent), *(_show_counts(part, agent) for part in parts)] for agent in agents]
    title = say_edit(verdict.proposal)
    table = show_table(["success", *(show_id(part.skill) for part in parts)], rows, markdown=markdown)
    examples = [f"- {show_id(part.skill)}: {show_text(text)}" for part in parts for text in part.examples]
    examples += _say_adopted(verdict.proposal) + _say_advice(verdict)
    gap = "\n\n" if markdown else "\n"
    return show_heading(title, markdown=markdown) + "\n" + table + gap + "\n".join(examples)


def _show_counts(part: Part, agent: str) -> str:
    wins, losses = part.counts.get(agent, (0.0, 0.0))
    return f"{show_count(wins)} of {show_count(wins + losses)}"


def _log10(natural: float) -> float:
    return natural / math.log(10)
