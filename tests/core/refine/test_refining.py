from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from mixtures import TEXTS, make_mixture

from skillctl.core.refine.refining import digest_skills, find_overlap, is_refined, note_refined, refine_skills
from skillctl.model.handbook import Agent, AgentId, Handbook, Mode, ModeId, Skill, SkillId
from skillctl.model.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

ANSWER = ModeId("answer")


class LetterVectors:
    """Word vectors without a model: each word has a direction of its own."""

    dim = 16

    def embed_words(self, words: Sequence[str]) -> np.ndarray:
        rows = [np.random.default_rng(list(word.encode())).normal(0, 1, self.dim) for word in words]
        return np.array(rows, np.float32).reshape(-1, self.dim)


def make_traces(kinds: Sequence[str], chances: dict[str, Sequence[float]], seed: int, first: int = 0) -> list[Trace]:
    lines = make_mixture(kinds, chances, 120, seed, first=first)
    return [Trace(trace_id=number, **line) for number, line in enumerate(lines, 1000 * first)]


def make_handbook(*skills: Skill, agents: Sequence[str] = ("a", "b", "c")) -> Handbook:
    return Handbook(
        "h",
        modes={ANSWER: Mode(ANSWER)},
        skills={ANSWER: skills},
        agents={AgentId(name): Agent(AgentId(name), modes=(ANSWER,)) for name in agents},
    )


def make_skill(name: str, *kinds: str) -> Skill:
    examples = tuple(TEXTS[kind].format(9000 + number, number) for kind in kinds for number in range(4))
    return Skill(SkillId(name), f"Works on {' and '.join(kinds)}.", examples=examples)


@pytest.mark.parametrize("seed", range(8))
def test_noise_gives_no_proposal(seed: int) -> None:
    chances = {"a": (0.3, 0.3), "b": (0.5, 0.5), "c": (0.7, 0.7)}
    training, validation = (make_traces(("sums", "rhymes"), chances, 2 * seed + k, 5000 * k) for k in (0, 1))
    for handbook in (make_handbook(make_skill("answer.words", "sums", "rhymes")), make_handbook()):
        assert list(refine_skills(handbook, training, validation, LetterVectors(), seed=seed)) == []


def test_kinds_of_queries_that_no_skill_covers_get_skills() -> None:
    chances = {"a": (0.95, 0.1), "b": (0.1, 0.95), "c": (0.5, 0.5)}
    training, validation = (make_traces(("sums", "rhymes"), chances, k, 5000 * k) for k in (0, 1))
    verdicts = list(refine_skills(make_handbook(), training, validation, LetterVectors()))
    assert any(verdict.applied for verdict in verdicts)
    final = verdicts[-1].handbook
    assert len(final.skills[ANSWER]) >= 2
    assert all(skill.id.startswith("answer.") for skill in final.skills[ANSWER])


def test_the_same_data_and_seed_give_the_same_skills() -> None:
    chances = {"a": (0.95, 0.1), "b": (0.1, 0.95), "c": (0.5, 0.5)}
    training, validation = (make_traces(("sums", "rhymes"), chances, k, 5000 * k) for k in (0, 1))
    first, second = (
        list(refine_skills(make_handbook(), training, validation, LetterVectors()))[-1].handbook for _ in range(2)
    )
    assert first == second


def test_where_routing_fails_on_a_few_a_skill_is_added_for_them() -> None:
    kinds = ("sums", "sums", "sums", "sums", "code")
    chances = {"a": (0.8, 0.8, 0.8, 0.8, 0.0), "b": (0.3, 0.3, 0.3, 0.3, 1.0)}
    training, validation = (
        [*make_traces(kinds, chances, k, 5000 * k), *make_traces(kinds, chances, 7 + k, 5000 * k + 500)] for k in (0, 1)
    )
    handbook = make_handbook(make_skill("answer.words", "sums", "code"), agents=("a", "b"))
    verdicts = list(refine_skills(handbook, training, validation, LetterVectors()))
    assert {verdict.proposal.kind for verdict in verdicts} <= {"addition", "split"}
    assert any(verdict.applied and verdict.gain and verdict.gain.value > 0.1 for verdict in verdicts)


def test_an_id_is_never_made_twice() -> None:
    chances = {"a": (0.95, 0.1), "b": (0.1, 0.95), "c": (0.5, 0.5)}
    training, validation = (make_traces(("sums", "rhymes"), chances, k, 5000 * k) for k in (0, 1))
    verdicts = list(refine_skills(make_handbook(), training, validation, LetterVectors()))
    made = [name for one in verdicts if one.applied and one.proposal.kind != "merge" for name in one.proposal.made]
    assert len(made) == len(set(made))


def test_queries_are_the_same_by_id_or_by_text_and_ids_by_type() -> None:
    training = [Trace("t", 1, "one", "a")]
    same_id, same_text, other = Trace("u", 1, "x", "a"), Trace("v", 2, "one", "a"), Trace("w", "1", "y", "a")
    assert find_overlap(training, [same_id, same_text, other, same_id]) == ["1", "2"]
    assert find_overlap(training, [other]) == []


def test_a_note_holds_for_these_skills_alone_and_replaces_an_older_one() -> None:
    first = note_refined(make_handbook(make_skill("answer.a", "sums")), "t", "v")
    assert is_refined(first, "t", "v")
    assert not is_refined(first, "t", "w")
    other = make_handbook(make_skill("answer.b", "sums"))
    changed = Handbook("h", modes=first.modes, skills=other.skills, agents=first.agents, refined=first.refined)
    assert not is_refined(changed, "t", "v")
    assert len(note_refined(changed, "t", "v").refined) == 1
    assert digest_skills(first) != digest_skills(changed)


STYLES = ("please explain slowly to a small child: {}", "return strict json with keys and values only: {}")
TOPICS = ("sums", "rhymes", "cities")


def make_styled(seed: int, first: int) -> list[Trace]:
    """Return runs on three topics in two styles; the style alone decides who succeeds."""
    rng = np.random.default_rng(seed)
    rates = {"a": (0.95, 0.1), "b": (0.1, 0.95), "c": (0.5, 0.5)}
    return [
        Trace(
            f"{number}-{agent}", f"q{number}", style(number), agent, success=bool(rng.random() < own[number // 3 % 2])
        )
        for number in range(first, first + 120)
        for agent, own in rates.items()
    ]


def style(number: int) -> str:
    return STYLES[number // 3 % 2].format(TEXTS[TOPICS[number % 3]].format(number, 7 * number))


def make_tree() -> Handbook:
    """Return a skill with a finer one for each topic."""
    finer = [
        Skill(
            SkillId(f"answer.all.{topic}"),
            f"Works on {topic}.",
            SkillId("answer.all"),
            examples=tuple(style(9000 + 3 * row + place) for row in range(4)),
        )
        for place, topic in enumerate(TOPICS)
    ]
    coarse = Skill(SkillId("answer.all"), "Works on all.", examples=tuple(map(style, range(9000, 9006))))
    return make_handbook(*sorted([coarse, *finer], key=lambda skill: skill.id))


@pytest.mark.parametrize("seed", range(2))
def test_a_skill_is_split_across_its_finer_ones_which_go_below_the_halves(seed: int) -> None:
    verdicts = list(refine_skills(make_tree(), make_styled(seed, 0), make_styled(seed + 9, 5000), LetterVectors()))
    proposal = verdicts[0].proposal
    assert (proposal.kind, proposal.skills) == ("split", ("answer.all",))
    assert verdicts[0].applied
    assert verdicts[0].gain
    assert verdicts[0].gain.value > 0.3
    assert sorted(proposal.adopted) == ["answer.all.cities", "answer.all.rhymes", "answer.all.sums"]
    parents = {skill.id: skill.parent for skill in verdicts[-1].handbook.skills[ANSWER]}
    left = {name: half for name, half in proposal.adopted.items() if name in parents}  # topics are twins: some merge
    assert {name: parents[name] for name in left} == left
    assert {parents[name] for name in proposal.made} == {"answer.all"}
    assert not set(proposal.made) & {skill.id for skill in make_tree().skills[ANSWER]}
    later = [verdict.proposal.kind for verdict in verdicts[1:] if verdict.applied]
    assert set(later) <= {"merge"}  # the halves explain what their finer skills mix


def test_a_skill_whose_finer_ones_explain_it_is_left_alone() -> None:
    def make(seed: int, first: int) -> list[Trace]:
        rng = np.random.default_rng(seed)
        rates = {"a": (0.9, 0.1, 0.5), "b": (0.1, 0.9, 0.5), "c": (0.5, 0.5, 0.9)}
        return [
            Trace(f"{n}-{agent}", f"q{n}", style(n), agent, success=bool(rng.random() < own[n % 3]))
            for n in range(first, first + 120)
            for agent, own in rates.items()
        ]

    verdicts = list(refine_skills(make_tree(), make(1, 0), make(2, 5000), LetterVectors()))
    assert not any(verdict.applied for verdict in verdicts if verdict.proposal.kind == "split")


@pytest.mark.parametrize("seed", [1, 2])
def test_no_skill_is_added_for_failures_that_the_skills_that_there_are_explain(seed: int) -> None:
    def make(seed: int, first: int, count: int) -> list[Trace]:
        rng = np.random.default_rng(seed)
        rates = {"a": (0.5, 0.95), "b": (0.5, 0.1), "c": (0.5, 0.5)}  # whoever is asked fails often in the first style
        return [
            Trace(f"{n}-{agent}", f"q{n}", style(n), agent, success=bool(rng.random() < own[n // 3 % 2]))
            for n in range(first, first + count)
            for agent, own in rates.items()
        ]

    skills = [
        Skill(
            SkillId(f"answer.{name}.{topic}"),
            f"Works on {topic}.",
            examples=tuple(style(9000 + 6 * row + place + 3 * half) for row in range(4)),
        )
        for half, name in enumerate(("child", "json"))
        for place, topic in enumerate(TOPICS)
    ]
    handbook = make_handbook(*sorted(skills, key=lambda skill: skill.id))
    verdicts = list(refine_skills(handbook, make(seed, 0, 180), make(seed + 50, 6000, 120), LetterVectors(), seed=seed))
    assert [verdict for verdict in verdicts if verdict.proposal.kind == "addition"] == []
