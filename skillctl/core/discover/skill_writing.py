"""Drafts become skills that people can read: an id, a sentence, indicators, examples and their origin."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.discover.describing import describe_group, name_kind
from skillctl.core.discover.naming import TellingTerm, find_telling_terms, slugify
from skillctl.model.handbook import Indicator, Origin, Skill, SkillId

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from skillctl.core.discover.discovery import Draft
    from skillctl.core.outcomes import Outcomes

MAX_EXAMPLE_CHARACTERS = 2_000
MOST_QUERIES = 100
MOST_INDICATORS = 5
_NAME_TERMS = 2
_NAME_CHARACTERS = 24
_SAID_CHARACTERS = 40  # a name of a few words is kept whole
_LIKELY = 0.7  # a name needs no proof: a term that is somewhat more at home in the group will do


class Words(NamedTuple):
    """What is said of a skill before it is written.

    Attributes:
        description: One sentence, or empty.
        indicators: Terms, best first.
        support: The queries that it was abstracted from; all of its queries when empty.
    """

    description: str = ""
    indicators: tuple[str, ...] = ()
    support: tuple[int, ...] = ()


NOTHING_SAID = Words()


def write_skills(
    mode: str,
    drafts: Sequence[Draft],
    outcomes: Outcomes,
    surface: NDArray[np.float32],
    *,
    labels: Sequence[str] = (),
    words: Sequence[Words] = (),
    taken: Collection[str] = (),
) -> tuple[Skill, ...]:
    """Return the skills of one mode in order of id.

    Args:
        mode: The mode; its id starts theirs.
        drafts: Parents before their children.
        outcomes: The queries that the drafts refer to.
        surface: Surface features of these queries.
        labels: Names of the candidates that drafts stand for.
        words: What is already said of them; nothing when empty.
        taken: Ids that must not be used again.
    """
    terms = _find_terms(drafts, outcomes.texts)
    used = {mode, *taken}
    ids: list[str] = []
    skills = []
    for draft, telling in zip(drafts, terms, strict=True):
        label = labels[draft.group] if draft.group >= 0 else ""
        said = words[draft.group] if words and draft.group >= 0 else NOTHING_SAID
        terms_said = dict.fromkeys((*said.indicators, *(term.term for term in telling)))
        above = ids[draft.parent] if draft.parent >= 0 else mode
        new_terms = [label] if label else [term.term for term in telling if term.term not in above][:_NAME_TERMS]
        ids.append(_make_id(above, new_terms or [name_kind(surface, draft.members)], used))
        used.add(ids[-1])
        examples = tuple(cut_example(outcomes.texts[row]) for row in draft.examples)
        skills.append(
            Skill(
                id=SkillId(ids[-1]),
                description=said.description
                or describe_group(surface, draft.members, telling, subject=label, example=examples[0]),
                parent=SkillId(above) if draft.parent >= 0 else None,
                indicators=tuple(map(Indicator, list(terms_said)[:MOST_INDICATORS])),
                examples=examples,
                origin=Origin(
                    "discovered",
                    queries=_name_queries(outcomes, said.support or draft.members.tolist()),
                ),
            )
        )
    return tuple(sorted(skills, key=lambda skill: skill.id))


def _name_queries(outcomes: Outcomes, rows: Sequence[int]) -> tuple[str, ...]:
    """Return the ids of queries as texts, each once: in a handbook, 1 and "1" are the same."""
    return tuple(dict.fromkeys(str(outcomes.query_ids[row]) for row in rows))[:MOST_QUERIES]


def _find_terms(drafts: Sequence[Draft], texts: Sequence[str]) -> list[list[TellingTerm]]:
    """Return the terms that tell each draft from the rest of its parent, which others share with it."""
    terms: list[list[TellingTerm]] = [[] for _ in drafts]
    for parent in sorted({draft.parent for draft in drafts}):
        rows = drafts[parent].members if parent >= 0 else np.arange(len(texts))
        place = {int(row): number for number, row in enumerate(rows)}
        children = [number for number, draft in enumerate(drafts) if draft.parent == parent]
        groups = [[place[int(row)] for row in drafts[child].members] for child in children]
        found = find_telling_terms([texts[row] for row in rows], groups, min_z=_LIKELY)
        for child, telling in zip(children, found, strict=True):
            terms[child] = telling
    return terms


def cut_example(text: str) -> str:
    """Return a text short enough to be read in a handbook: its head and its tail."""
    half = MAX_EXAMPLE_CHARACTERS // 2
    return text if len(text) <= MAX_EXAMPLE_CHARACTERS else f"{text[:half]} … {text[-half:]}"


def choose_id(above: str, name: str, used: Collection[str]) -> SkillId:
    """Return an id that is not used, of a skill with a name below another one or a mode."""
    return SkillId(_make_id(above, [name], used, limit=_SAID_CHARACTERS))


def _make_id(above: str, words: Sequence[str], used: Collection[str], *, limit: int = _NAME_CHARACTERS) -> str:
    stem = f"{above}.{slugify(words, limit=limit)}"
    candidates = (stem, *(f"{stem}-{number}" for number in range(2, len(used) + 2)))
    return next(candidate for candidate in candidates if candidate not in used)
