"""The history of a handbook and of one thing in it, for people and for scripts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skillctl.report.cells import show_id, show_text
from skillctl.report.change_sentences import Style, escape_markdown, say_finding
from skillctl.report.diff_json import describe_finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillctl.core.diff.handbook_comparison import Finding
    from skillctl.model.handbook import EvidenceSource

_SHORT_ID = 8


@dataclass(frozen=True, slots=True)
class Step:
    """What one commit did to a handbook.

    Attributes:
        commit: Id in full.
        author: Name.
        date: Year, month and day.
        subject: First line of the message.
        command: The command that learned it, ``None`` for a change by hand.
        model: The language model used, or ``None``.
        validation: What validation said, or ``None``.
        counted: Logs counted anew.
        findings: What changed, the most important first.
        hidden: How many findings are left out here.
        fault: Why the handbook cannot be compared here, or ``None``.
    """

    commit: str
    author: str
    date: str
    subject: str
    command: str | None
    model: str | None
    validation: str | None
    counted: tuple[EvidenceSource, ...]
    findings: tuple[Finding, ...]
    hidden: int
    fault: str | None


def render_steps(steps: Sequence[Step], *, markdown: bool) -> str:
    """Return the steps, the newest first."""
    return "\n".join(_render_step(step, markdown=markdown) for step in steps)


def _render_step(step: Step, *, markdown: bool) -> str:
    style = Style(markdown=markdown)
    subject = escape_markdown(show_text(step.subject, 200)) if markdown else show_text(step.subject, 200)
    mark = "###" if markdown else "commit"
    lines = [f"{mark} {step.commit[:_SHORT_ID]} {step.date} {style.text(step.author)}", f"  {subject}"]
    if markdown:
        lines = [lines[0], "", subject, ""]
    learned = [f"by skillctl {step.command}"] if step.command else ["by hand"]
    learned += [f"with {show_id(step.model)}"] if step.model else []
    learned += [f"validation: {show_id(step.validation)}"] if step.validation else []
    notes = [", ".join(learned)]
    if step.counted:
        notes.append("evidence: " + ", ".join(f"{show_id(s.name)} ({s.traces} traces)" for s in step.counted))
    notes += [step.fault] if step.fault else [say_finding(finding, style) for finding in step.findings]
    notes += [f"and {step.hidden} smaller changes"] if step.hidden else []
    indent = "" if markdown else "  "
    return "\n".join([*lines, *(f"{indent}- {note}" for note in notes)]) + "\n"


def render_steps_json(steps: Sequence[Step]) -> str:
    """Return the steps in the shape of ``log.schema.json``."""
    return json.dumps({"commits": [_describe(step) for step in steps]}, ensure_ascii=False, indent=2, allow_nan=False)


def _describe(step: Step) -> dict[str, Any]:
    return {
        "commit": step.commit,
        "author": step.author,
        "date": step.date,
        "subject": step.subject,
        "command": step.command,
        "model": step.model,
        "validation": step.validation,
        "counted": [{"name": source.name, "digest": source.digest, "traces": source.traces} for source in step.counted],
        "findings": [describe_finding(finding) for finding in step.findings],
        "hidden": step.hidden,
        "fault": step.fault,
    }
