"""What a language model advises on an edit: an opinion that decides nothing, and words for the skills that it makes.

A reply is untrusted, as it was made from traces: nothing of it becomes an id or a pattern as it is.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from skillctl.core.discover.proposals import EXAMPLE, Proposal, clean_proposal
from skillctl.core.replies.json_reply import ReplyFaultError, find_json_values
from skillctl.core.replies.reply_cleaning import clean_sentence, find_fault, has_letters, is_suspect, keep_valid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skillctl.core.refine.refinement import Opinion
    from skillctl.core.refine.refinement import Proposal as Edit

_FIELDS = ("agree", "reason")
# What the prompt shows as an example; weak models give it back.
EXAMPLE_REASON = "Reading a score and composing a tune take different abilities."
EXAMPLE_SKILL = {
    "group": 1,
    **{key: EXAMPLE[key] for key in ("name", "description", "indicators")},
}


class ParsedAdvice(NamedTuple):
    """A reply.

    Attributes:
        agrees: Whether the model would make the edit.
        reason: One sentence.
        words: Name, description and indicators for each skill that the edit makes, ``None`` where none can be used.
        dropped: Entries that could not be used.
    """

    agrees: bool
    reason: str
    words: tuple[Proposal | None, ...]
    dropped: int


class Advice(NamedTuple):
    """What is used of a reply; words as in `ParsedAdvice`."""

    opinion: Opinion
    words: tuple[Proposal | None, ...]


class Adviser(Protocol):
    """Gives second opinions and names."""

    def expect(self, edits: Sequence[Edit]) -> None:
        """Hear which edits it may be asked about next."""
        ...

    def advise(self, edit: Edit) -> Advice | None:
        """Return its advice, or ``None`` where it has none."""
        ...


def parse_advice(reply: str, schema: Mapping[str, Any], skills: int) -> ParsedAdvice:
    """Return the advice in a reply.

    Args:
        reply: What the model wrote.
        schema: The JSON Schema ``edit_advice``.
        skills: How many skills the edit makes; the reply numbers them from 1.

    Raises:
        ReplyFaultError: If it has no usable opinion.
    """
    objects = [value for value in find_json_values(reply) if isinstance(value, dict) and "agree" in value]
    if not objects:
        message = 'the reply holds no JSON object with "agree" and "reason"'
        raise ReplyFaultError(message)
    said = objects[-1]
    opinion = {name: said[name] for name in _FIELDS if name in said}
    fault = find_fault([opinion], schema, "opinion")
    if fault is not None:
        raise ReplyFaultError(": ".join(filter(None, fault)))
    words, dropped = _read_words(said.get("skills"), schema, skills)
    return ParsedAdvice(opinion["agree"], _read_reason(opinion["reason"]), words, dropped)


def _read_reason(text: str) -> str:
    reason = clean_sentence(text)
    if not has_letters(reason) or reason == EXAMPLE_REASON:
        message = "reason: it is not a reason of your own for this edit"
        raise ReplyFaultError(message)
    if is_suspect(text):
        message = "reason: it must neither give orders nor hold links"
        raise ReplyFaultError(message)
    return reason


def _read_words(part: Any, schema: Mapping[str, Any], skills: int) -> tuple[tuple[Proposal | None, ...], int]:  # noqa: ANN401 - whatever the model wrote
    """Return the words for each skill; of two entries for one the first counts, and two skills need two names."""
    entries = part if isinstance(part, list) else []
    words: list[Proposal | None] = [None] * skills
    for entry in keep_valid(entries, schema, "skill"):
        place = entry["group"] - 1
        if place < skills and words[place] is None:
            words[place] = clean_proposal(entry)
    names = Counter(one.name.casefold() for one in words if one is not None)
    kept = tuple(one if one is not None and names[one.name.casefold()] == 1 else None for one in words)
    return kept, len(entries) - sum(one is not None for one in kept)
