"""Skills that a language model proposed: checked, cleaned, and rid of near-duplicates.

A reply is untrusted, as it was made from traces: nothing of it becomes an id, a path or a pattern as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skillctl.core.orchestrate.features import WordTable
from skillctl.core.orchestrate.space import to_unit
from skillctl.core.replies.json_reply import ReplyFaultError, find_json_values
from skillctl.core.replies.reply_cleaning import (
    MAX_SENTENCE,
    clean_sentence,
    clean_text,
    find_fault,
    has_letters,
    is_suspect,
    keep_valid,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skillctl.core.orchestrate.features import WordEmbedder

MOST_INDICATORS = 8
# What the prompt shows as an example; weak models give it back.
EXAMPLE = {
    "name": "Reading sheet music",
    "description": "Names notes, keys and rhythms from a written score.",
    "indicators": ["clef", "sharp key"],
    "pairs": [2],
}
_MAX_NAME = 60
_MAX_INDICATOR_WORDS = 4
EXAMPLE_GROUP = {"name": "Music", "description": "Reads and writes music.", "members": [2, 5]}
# In a larger share of the queries an indicator tells nothing.
_COMMON = 0.5
# Cosine between descriptions from which two skills are one.
SAME_FROM = 0.85


class Proposal(NamedTuple):
    """A skill to be weighed by the evidence.

    Attributes:
        name: A few words.
        description: One sentence.
        indicators: Words that stand in queries that need it.
        rows: The queries that it was abstracted from.
    """

    name: str
    description: str
    indicators: tuple[str, ...]
    rows: tuple[int, ...]


class Parsed(NamedTuple):
    """The skills in a reply, and how many entries of it could not be used."""

    proposals: tuple[Proposal, ...]
    dropped: int


class Group(NamedTuple):
    """A coarse skill above proposals, by their places."""

    name: str
    description: str
    members: tuple[int, ...]


def parse_proposals(reply: str, schema: Mapping[str, Any], rows: Sequence[int]) -> Parsed:
    """Return the skills in a reply.

    Args:
        reply: What the model wrote.
        schema: The JSON Schema ``skill_proposals``.
        rows: Queries of the pairs that it was shown, in order.

    Raises:
        ReplyFaultError: If there is no usable skill, although the reply does not say that there is none.
    """
    entries, is_whole = _find_entries(reply, "skills")
    sound = keep_valid(entries, schema, "proposal")
    cleaned = [proposal for entry in sound if (proposal := clean_proposal(entry, rows)) is not None]
    if not cleaned and (entries or not is_whole):
        raise ReplyFaultError(_explain(entries, schema, "proposal", "skills"))
    return Parsed(tuple(cleaned), len(entries) - len(cleaned))


def parse_groups(reply: str, schema: Mapping[str, Any], count: int) -> tuple[Group, ...]:
    """Return the groups in a reply; a proposal stays in the first group that names it.

    Args:
        reply: What the model wrote.
        schema: The JSON Schema ``skill_proposals``.
        count: How many proposals there are; the reply numbers them from 1.

    Raises:
        ReplyFaultError: If there is no usable group.
    """
    entries, is_whole = _find_entries(reply, "groups")
    groups, taken = [], set[int]()
    for entry in keep_valid(entries, schema, "group"):
        named = dict.fromkeys(number - 1 for number in entry["members"] if 1 <= number <= count)
        members = tuple(place for place in named if place not in taken)
        name, description = clean_text(entry["name"], _MAX_NAME), clean_sentence(entry["description"])
        is_said = has_letters(name) and has_letters(description) and description != EXAMPLE_GROUP["description"]
        if len(members) > 1 and is_said:
            taken.update(members)
            groups.append(Group(name, description, members))
    if not groups and (entries or not is_whole):
        raise ReplyFaultError(_explain(entries, schema, "group", "groups"))
    return tuple(groups)


def _find_entries(reply: str, field: str) -> tuple[list[Any], bool]:
    """Return the entries of the last object with the field, else of a bare list, else those that a cut reply holds.

    The second value tells whether a whole object or list was found.
    """
    values = find_json_values(reply)
    objects = [value[field] for value in values if isinstance(value, dict) and isinstance(value.get(field), list)]
    if objects:
        return next((entries for entries in reversed(objects) if entries), []), True
    lists = [value for value in values if isinstance(value, list) and any(isinstance(entry, dict) for entry in value)]
    if lists:
        return lists[-1], True
    return [value for value in values if isinstance(value, dict) and "name" in value], False


def _explain(entries: Sequence[Any], schema: Mapping[str, Any], kind: str, field: str) -> str:
    """Say what is wrong with the first entry, in bounded length."""
    if not entries:
        return f'the reply holds no JSON object {{"{field}": [...]}}'
    first = find_fault(entries, schema, kind)
    if first is None:
        return "no entry says what an ability is"
    where, fault = first
    return f"{field}[]{f'.{where}' if where else ''}: {fault}"


def clean_proposal(entry: Mapping[str, Any], rows: Sequence[int] = ()) -> Proposal | None:
    """Return a valid entry with its words made harmless, or ``None`` where they say nothing or give orders."""
    name, description = clean_text(entry["name"], _MAX_NAME), clean_sentence(entry["description"])
    if not has_letters(name) or not has_letters(description) or _is_example(name, description):
        return None
    if is_suspect(f"{entry['name']} {entry['description']}"):
        return None
    indicators = (clean_text(text, MAX_SENTENCE).casefold() for text in entry.get("indicators", ()))
    short = (text for text in indicators if len(text) > 1 and len(text.split()) <= _MAX_INDICATOR_WORDS)
    numbers = (number for number in entry.get("pairs", ()) if 1 <= number <= len(rows))
    return Proposal(
        name,
        description,
        tuple(dict.fromkeys(text for text in short if not is_suspect(text)))[:MOST_INDICATORS],
        tuple(sorted({rows[number - 1] for number in numbers})),
    )


def _is_example(name: str, description: str) -> bool:
    return name.casefold() == str(EXAMPLE["name"]).casefold() or description == EXAMPLE["description"]


def merge_duplicates(proposals: Sequence[Proposal], embedder: WordEmbedder) -> list[Proposal]:
    """Merge proposals that mean the same, by name or by what they say; the one with the most queries speaks for all."""
    order = sorted(range(len(proposals)), key=lambda place: (-len(proposals[place].rows), place))
    ranked = [proposals[place] for place in order]
    if not ranked:
        return []
    vectors = to_unit(WordTable(embedder).read([f"{one.name}: {one.description}" for one in ranked]).semantic)
    is_same = vectors @ vectors.T >= SAME_FROM
    kept: list[int] = []
    merged: dict[int, Proposal] = {}
    for place, proposal in enumerate(ranked):
        twin = next((k for k in kept if is_same[k, place] or _is_same_name(ranked[k], proposal)), None)
        if twin is None:
            kept.append(place)
            merged[place] = proposal
        else:
            merged[twin] = _join(merged[twin], proposal)
    return list(merged.values())


def _is_same_name(one: Proposal, other: Proposal) -> bool:
    return one.name.casefold() == other.name.casefold()


def _join(one: Proposal, other: Proposal) -> Proposal:
    indicators = tuple(dict.fromkeys((*one.indicators, *other.indicators)))[:MOST_INDICATORS]
    return one._replace(indicators=indicators, rows=tuple(sorted({*one.rows, *other.rows})))


def keep_telling_indicators(proposals: Sequence[Proposal], texts: Sequence[str]) -> list[Proposal]:
    """Leave out indicators that stand in no query, or in most of them."""
    folded = [text.casefold() for text in texts]
    terms = sorted({term for proposal in proposals for term in proposal.indicators})
    shares = {term: _find_share(term, folded) for term in terms}
    return [
        one._replace(indicators=tuple(term for term in one.indicators if 0 < shares[term] < _COMMON))
        for one in proposals
    ]


def _find_share(term: str, folded: Sequence[str]) -> float:
    """Return the share of texts in which a term occurs as whole words."""
    pattern = re.compile(rf"(?<!\w){re.escape(term)}(?!\w)")
    return float(np.mean([pattern.search(text) is not None for text in folded]))
