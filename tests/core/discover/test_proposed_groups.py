"""Queries go to the proposals that they resemble."""

from __future__ import annotations

from skillctl.core.discover.proposals import Group, Proposal
from skillctl.core.discover.proposed_groups import candidates_to_drafts
from skillctl.store.word_vectors import WordVectors

TEXTS = [
    *(f"What is the sum of {n} and {n + 7}?" for n in range(6)),
    *(f"Find a rhyme for the word number{n} in this verse." for n in range(6)),
    *(f"Translate the sentence {n} into French, please." for n in range(6)),
]
SUM = Proposal("Addition", "Adds two numbers.", ("sum",), (0, 1))
RHYME = Proposal("Rhymes", "Finds rhymes for words in verse.", ("rhyme", "verse"), (6, 7))
FRENCH = Proposal("French", "Translates sentences into French.", ("translate", "french"), (12,))
STRANGE = Proposal("Chess", "Plays chess openings.", ("chess",), ())


def test_every_query_goes_to_the_nearest_proposal_and_idle_ones_are_left_out() -> None:
    found = candidates_to_drafts([SUM, RHYME, FRENCH, STRANGE], (), TEXTS, WordVectors())
    assert [(one.name, one.rows.tolist(), one.parent) for one in found] == [
        ("Addition", list(range(6)), -1),
        ("Rhymes", list(range(6, 12)), -1),
        ("French", list(range(12, 18)), -1),
    ]


def test_a_group_stands_before_its_members_and_holds_their_queries() -> None:
    groups = (Group("Language", "Works with language.", (1, 2)), Group("Odd", "Is alone.", (0, 3)))
    found = candidates_to_drafts([SUM, RHYME, FRENCH, STRANGE], groups, TEXTS, WordVectors())
    assert [(one.name, len(one.rows), one.support, one.parent) for one in found] == [
        ("Language", 12, (6, 7, 12), -1),
        ("Rhymes", 6, (6, 7), 0),
        ("French", 6, (12,), 0),
        ("Addition", 6, (0, 1), -1),
    ]


def test_nothing_proposed_is_nothing_found() -> None:
    assert candidates_to_drafts([], (), TEXTS, WordVectors()) == []
    assert candidates_to_drafts([SUM], (), [], WordVectors()) == []
