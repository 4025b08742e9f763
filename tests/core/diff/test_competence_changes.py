from __future__ import annotations

import numpy as np
import pytest

from skillctl.core.diff.competence_changes import find_competence_changes, find_first_evidence, move_probability
from skillctl.model.handbook import Agent, Competence, Handbook, Mode, Profile


def _row(successes: float, failures: float, prior: tuple[float, float] = (1.0, 1.0)) -> list[float]:
    return [successes + prior[0], failures + prior[1], successes, failures]


def test_the_scatter_of_a_mean_is_that_of_simulated_new_evidence() -> None:
    # Under a Beta(13, 9) and 40 further outcomes the new mean is beta-binomial: its spread is simulated here.
    rng = np.random.default_rng(0)
    wins = rng.binomial(40, rng.beta(13, 9, 200_000))
    spread = float(((13 + wins) / 62).std())
    before, after = np.array([_row(12, 8)]), np.array([_row(12 + 32, 8 + 8)])
    move = 45 / 62 - 13 / 22
    from scipy.special import ndtr

    assert move_probability(before, after)[0] == pytest.approx(float(ndtr(move / spread)), abs=0.002)


def test_the_same_move_is_surer_on_more_evidence_of_its_own() -> None:
    before = np.array([_row(5, 5), _row(50, 50)])
    after = np.array([_row(8, 5), _row(80, 50)])
    small, large = move_probability(before, after)
    assert small < large


def test_a_move_forth_and_back_is_equally_probable() -> None:
    one, other = np.array([_row(12, 8)]), np.array([_row(30, 10)])
    assert move_probability(one, other)[0] == pytest.approx(move_probability(other, one)[0], abs=0.02)


def test_no_move_has_even_odds_and_a_moved_prior_alone_is_judged_by_the_new_belief() -> None:
    same = np.array([_row(12, 8)])
    assert move_probability(same, same)[0] == 0.5
    shifted = np.array([_row(12, 8, (1.1, 0.9))])
    assert 0.5 < move_probability(same, shifted)[0] < 0.6


def _handbook(runs: int, **competence: tuple[float, float]) -> Handbook:
    entries = {name: Competence(*_row(*counts)) for name, counts in competence.items()}
    agent = Agent("a", modes=("m",), profiles={"m": Profile(runs=runs, competence=entries)})  # type: ignore[arg-type, dict-item]
    return Handbook("h", modes={"m": Mode("m")}, skills={"m": ()}, agents={"a": agent})  # type: ignore[dict-item, arg-type]


def test_a_small_move_is_noise_and_a_large_one_is_not() -> None:
    before, after = _handbook(20, m=(12, 8), s=(5, 5)), _handbook(60, m=(48, 12), s=(6, 6))
    by_skill = {change.skill: change for change in find_competence_changes(before, after)}
    assert not by_skill["m"].is_noise
    assert by_skill["m"].new_evidence == 40
    assert by_skill["s"].is_noise
    assert by_skill["s"].share == pytest.approx(0.2)


def test_what_is_believed_for_the_first_time_or_no_more_is_told_once_for_an_agent() -> None:
    before, after = _handbook(20, m=(12, 8), s=(5, 5)), _handbook(20, m=(12, 8), t=(5, 5), u=(1, 2))
    gone, new = find_first_evidence(before, after)
    assert (gone.skills, gone.is_gone) == (("s",), True)
    assert (new.skills, new.mean, new.is_gone) == (("t", "u"), None, False)
