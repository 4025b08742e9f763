"""A planted structure is found, noise is not, and the numbers come from queries that were kept aside."""

from __future__ import annotations

import numpy as np
import pytest

from skillctl.core.discover.skill_discovery import Candidate, Discovery, discover_skills
from skillctl.core.discover.weighing import number_tree, weigh_all
from skillctl.core.outcomes import Outcomes
from skillctl.core.profile.beliefs import interval
from skillctl.core.profile.skill_tree import build_tree, pool_credit, tree_posteriors
from skillctl.store.word_vectors import WordVectors

VECTORS = WordVectors()
AGENTS = ("adder", "poet", "steady")
NOUNS = ["autumn", "winter", "rivers", "love", "silence", "morning", "rain", "friends", "music", "gardens", "stars"]


def plant(count: int, chances: dict[str, list[float]], seed: int) -> Outcomes:
    """Return sums and poems in turn; ``chances`` has each agent's success in both."""
    rng = np.random.default_rng(seed)
    texts, kinds = [], []
    for number in range(count):
        kinds.append(number % 2)
        a, b = rng.integers(10, 999, 2)
        noun, other = rng.choice(NOUNS, 2, replace=False)
        texts.append(
            f"Compute {a} + {b} and give the number."
            if number % 2 == 0
            else f"Write a short poem about {noun} and {other}."
        )
    chance = np.array([[chances[agent][kind] for agent in AGENTS] for kind in kinds])
    success = (rng.random(chance.shape) < chance).astype(float)
    ids = tuple(f"q{number}" for number in range(count))
    tasks = tuple("poems" if kind else "sums" for kind in kinds)
    return Outcomes(ids, tuple(texts), tasks, AGENTS, success, np.ones_like(success), np.full_like(success, np.nan))


STRUCTURE = {"adder": [0.9, 0.2], "poet": [0.2, 0.9], "steady": [0.6, 0.6]}
NOISE = {"adder": [0.5, 0.5], "poet": [0.5, 0.5], "steady": [0.6, 0.6]}


def find(outcomes: Outcomes, **more: object) -> Discovery:
    return discover_skills("m", outcomes, VECTORS, np.random.default_rng(0), **more)  # type: ignore[arg-type]


def test_a_planted_structure_is_found_with_readable_skills_of_one_kind_each() -> None:
    outcomes = plant(120, STRUCTURE, 1)
    discovery = find(outcomes)
    assert discovery.calibration is not None
    assert discovery.calibration.gain > 3 * discovery.calibration.standard_error
    tops = [skill for skill in discovery.skills if skill.parent is None]
    kinds = {query: int(query[1:]) % 2 for query in outcomes.query_ids}  # type: ignore[index]
    for skill in tops:
        assert skill.origin is not None
        assert len({kinds[query] for query in skill.origin.queries}) == 1
    assert any("poem" in skill.id for skill in tops)
    assert all(skill.description.endswith(".") and skill.examples for skill in discovery.skills)
    ids = [skill.id for skill in discovery.skills]
    assert ids == sorted(set(ids))
    assert all(skill.id.startswith(f"{skill.parent or 'm'}.") for skill in discovery.skills)


def test_as_many_skills_are_found_as_were_planted_and_their_intervals_hold_the_planted_chances() -> None:
    held = []
    for seed in range(5):
        outcomes = plant(160, STRUCTURE, seed)
        skills = find(outcomes).skills
        assert len(skills) == 2
        kinds = [int(skill.origin.queries[0][1:]) % 2 for skill in skills if skill.origin]
        tree, weights = build_tree(number_tree(skills)), weigh_all(skills, outcomes.texts, VECTORS, [0.5])[0.5]
        wins = pool_credit(tree, outcomes.success.T @ weights)
        losses = pool_credit(tree, (1 - outcomes.success).T @ weights)
        bounds = interval(*tree_posteriors(tree, wins, losses, kappa=2.0))
        planted = np.array(list(STRUCTURE.values()))[:, kinds]
        held.append((bounds.low[:, 1:] <= planted) & (planted <= bounds.high[:, 1:]))
    assert np.mean(held) >= 0.75  # 90 % intervals, of 30 chances


def test_noise_yields_no_skill() -> None:
    assert not any(find(plant(80, NOISE, seed)).skills for seed in range(8))


def test_a_difficulty_that_all_agents_share_is_no_skill() -> None:
    hard = {agent: [0.9, 0.3] for agent in AGENTS}
    discovery = find(plant(120, hard, 3))
    assert discovery.calibration is not None
    assert discovery.calibration.gain < 2 * discovery.calibration.standard_error


def test_labels_become_the_coarsest_skills() -> None:
    outcomes = plant(120, STRUCTURE, 1)
    rows = {label: np.flatnonzero([task == label for task in outcomes.tasks]) for label in ("poems", "sums")}
    discovery = find(outcomes, candidates=[Candidate(label, rows[label]) for label in rows])
    tops = [skill for skill in discovery.skills if skill.parent is None]
    assert [skill.id for skill in tops] == ["m.poems", "m.sums"]
    assert tops[0].description.startswith("poems: ")


def test_labels_on_which_all_agents_fare_alike_are_no_skills() -> None:
    for seed in range(6):
        outcomes = plant(120, NOISE, seed)
        rows = {label: np.flatnonzero([task == label for task in outcomes.tasks]) for label in ("poems", "sums")}
        assert not find(outcomes, candidates=[Candidate(label, rows[label]) for label in rows]).skills


def test_one_candidate_stays_if_outcomes_tell_it_from_the_rest() -> None:
    sums = np.arange(0, 120, 2)
    assert find(plant(120, STRUCTURE, 1), candidates=[Candidate("sums", sums)]).skills
    assert not find(plant(120, NOISE, 1), candidates=[Candidate("sums", sums)]).skills


def test_queries_that_say_nothing_are_in_no_skill() -> None:
    outcomes = plant(120, STRUCTURE, 1)
    blank = outcomes._replace(texts=("", "  \n", *outcomes.texts[2:]))
    labels = {label: np.flatnonzero([task == label for task in blank.tasks]) for label in ("poems", "sums")}
    for candidates in ([], [Candidate(label, labels[label]) for label in labels]):
        skills = find(blank, candidates=candidates).skills
        assert skills
        for skill in skills:
            assert skill.origin is not None
            assert not {"q0", "q1"} & set(skill.origin.queries)
            assert all(example.strip() for example in skill.examples)


def test_the_same_seed_gives_the_same_skills_and_taken_ids_are_avoided() -> None:
    outcomes = plant(80, STRUCTURE, 2)
    first = find(outcomes)
    assert first == find(outcomes)
    taken = {str(skill.id) for skill in first.skills}
    assert not taken & {str(skill.id) for skill in find(outcomes, taken=taken).skills}


@pytest.mark.parametrize("count", [0, 1, 19])
def test_too_few_queries_give_nothing(count: int) -> None:
    assert find(plant(count, STRUCTURE, 1)) == Discovery((), None)


def test_queries_without_verdicts_do_no_harm() -> None:
    outcomes = plant(60, STRUCTURE, 4)
    blank = outcomes.success.copy()
    blank[::3] = np.nan
    blank[:, 2] = np.nan
    discovery = find(outcomes._replace(success=blank))
    assert discovery.calibration is not None
    assert np.isfinite(discovery.calibration.gain)
