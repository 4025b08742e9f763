"""Asks a language model for a second opinion on each edit of refinement, and for names of the skills that it makes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from skillctl.core.orchestrate.features import cut_text
from skillctl.core.refine.advice import EXAMPLE_REASON, EXAMPLE_SKILL, Advice, ParsedAdvice, parse_advice
from skillctl.core.refine.refinement import Opinion
from skillctl.llm.prompt_texts import build_messages, build_repair
from skillctl.llm.structured import Reply, ask_all

if TYPE_CHECKING:
    from skillctl.core.refine.refinement import Part, Proposal
    from skillctl.llm.base import Completer, Request
    from skillctl.llm.structured import Endpoint

MAX_TOKENS = 700
CALLS_AN_EDIT = 2  # the question, and one repair
# Calls in a row without any reply, after which the service counts as gone.
_PATIENCE = 3
_EXAMPLES = 6
_TEXT_CHARS, _TEXT_HEAD = 400, 300
_DESCRIPTION_CHARS, _DESCRIPTION_HEAD = 300, 250
_REPLY_CHARS, _REPLY_HEAD = 1500, 1200
_EDITS = {
    "split": "the queries of one skill are two groups, and each group becomes a finer skill.",
    "merge": "the skills of the two groups become one.",
    "addition": "group 1 becomes a skill of its own, as the wrong agents are chosen for it; group 2 is the rest.",
}
_NAMES = """
- "skills": a list of one object for {groups}, with
  - "group": its number,
  - "name": two to five words of your own for the ability,
  - "description": one sentence of your own that begins with a verb and says what the ability is,
  - "indicators": words that you saw in the queries of this group and not in those of the other."""


@dataclass(slots=True)
class AdviceTally:
    """What became of the questions of a run.

    Attributes:
        edits: Edits that came up.
        agreed: Those that the model would make.
        disagreed: Those that it would not.
        faults: Edits without an opinion, by reason.
        dropped: Names in usable replies that could not be used.
        unasked: Edits that were not asked about: the budget ended, or the service was gone.
        is_cut: Whether the budget ended.
    """

    edits: int = 0
    agreed: int = 0
    disagreed: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    dropped: int = 0
    unasked: int = 0
    is_cut: bool = False


class EditAdviser:
    """Advises on edits, one question each.

    Args:
        endpoint: The model.
        completer: Makes the calls; its cache and budget hold.
        schema: The JSON Schema ``edit_advice``.
        on_plan: Told the requests that may be made before any of them is.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        completer: Completer,
        schema: Mapping[str, Any],
        *,
        on_plan: Callable[[Sequence[Request]], None] = lambda _requests: None,
    ) -> None:
        self.tally = AdviceTally()
        self._endpoint = endpoint
        self._completer = completer
        self._schema = schema
        self._on_plan = on_plan
        self._silent = 0

    @property
    def _is_over(self) -> bool:
        return self.tally.is_cut or self._silent >= _PATIENCE

    def expect(self, edits: Sequence[Proposal]) -> None:
        """Announce the questions on these edits."""
        if edits and not self._is_over:
            self._on_plan([self._ask_about(edit) for edit in edits])

    def advise(self, edit: Proposal) -> Advice | None:
        """Return the advice on an edit, ``None`` where the model gives none that can be used.

        Raises:
            OutsideError: If the service refuses us.
        """
        self.tally.edits += 1
        if self._is_over:
            self.tally.unasked += 1
            return None
        reply = self._ask(edit)
        if reply.value is None:
            self.tally.unasked += reply.is_unspent
            if not reply.is_unspent:
                self.tally.faults[reply.fault] += 1
            return None
        said = reply.value
        self.tally.agreed += said.agrees
        self.tally.disagreed += not said.agrees
        self.tally.dropped += said.dropped
        return Advice(Opinion(self._endpoint.model, said.agrees, said.reason), said.words)

    def _ask(self, edit: Proposal) -> Reply[ParsedAdvice]:
        """Ask about an edit, and once more where the reply cannot be used."""
        request = self._ask_about(edit)
        reply = self._send(request, edit)
        if reply.value is not None or reply.text is None:
            return reply
        said = cut_text(reply.text, _REPLY_CHARS, _REPLY_HEAD)
        mended = self._send(self._endpoint.request(build_repair(request.messages, said, reply.fault), MAX_TOKENS), edit)
        return mended if mended.value is not None else reply

    def _send(self, request: Request, edit: Proposal) -> Reply[ParsedAdvice]:
        (reply,) = ask_all(
            self._completer, [request], lambda _place, text: parse_advice(text, self._schema, _count_named(edit))
        )
        self.tally.is_cut = self.tally.is_cut or reply.is_unspent
        self._silent = self._silent + 1 if reply.text is None and not reply.is_unspent else 0
        return reply

    def _ask_about(self, edit: Proposal) -> Request:
        named = _count_named(edit)
        names = _NAMES.format(groups="each group" if named > 1 else "group 1") if named else ""
        example: dict[str, Any] = {"agree": False, "reason": EXAMPLE_REASON}
        if named:
            example["skills"] = [EXAMPLE_SKILL]
        words = {"edit": _EDITS[edit.kind], "names": names, "example": json.dumps(example)}
        return self._endpoint.request(build_messages("advise", _show_edit(edit), **words), MAX_TOKENS)


def _count_named(edit: Proposal) -> int:
    """Return how many skills an edit makes; a merge keeps one that has a name."""
    return 0 if edit.kind == "merge" else len(edit.made)


def _show_edit(edit: Proposal) -> str:
    """Show the groups; who the agents are is no matter of ability."""
    agents = sorted({agent for part in edit.parts for agent in part.counts})
    about = [f"THE SKILL: {_cut(skill.description)}" for skill in edit.edited if skill.id in edit.skills]
    return "\n\n".join(
        [*about, *(_show_group(edit, number, part, agents) for number, part in enumerate(edit.parts, 1))]
    )


def _show_group(edit: Proposal, number: int, part: Part, agents: Sequence[str]) -> str:
    runs = [(agent, part.counts[name]) for agent, name in enumerate(agents, 1) if name in part.counts]
    counts = [f"AGENT {agent}: succeeded in {wins:.0f} of {wins + losses:.0f}" for agent, (wins, losses) in runs]
    made = next((skill for skill in edit.edited if skill.id == part.skill and skill.id in edit.made), None)
    texts = part.examples if made is None or edit.kind == "merge" else made.examples
    queries = [f"QUERY: {cut_text(text, _TEXT_CHARS, _TEXT_HEAD)}" for text in texts[:_EXAMPLES]]
    return "\n".join([f"GROUP {number}, {len(part.queries)} queries", *counts, *queries])


def _cut(text: str) -> str:
    return " ".join(cut_text(text, _DESCRIPTION_CHARS, _DESCRIPTION_HEAD).split())
