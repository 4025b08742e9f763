from __future__ import annotations

import pytest

from skillctl.core.profile.standing import Scope, list_beliefs
from skillctl.model.handbook import Agent, Competence, Handbook, Mode, Profile


def _handbook() -> Handbook:
    competence = {
        "a.skill": Competence(2.0, 1.0, 1.0, 0.0),
        "m": Competence(1.0, 1.0, 0.0, 0.0),
    }
    agents = {name: Agent(name, profiles={"m": Profile(competence=competence)}) for name in ("x", "y")}  # type: ignore[arg-type, dict-item]
    return Handbook("h", modes={"m": Mode("m")}, agents=agents)  # type: ignore[arg-type, dict-item]


def test_beliefs_come_by_mode_skill_and_agent_with_the_mode_itself_first() -> None:
    beliefs = list_beliefs(_handbook(), Scope())
    assert [(belief.skill, belief.agent) for belief in beliefs] == [
        ("m", "x"),
        ("m", "y"),
        ("a.skill", "x"),
        ("a.skill", "y"),
    ]


def test_intervals_are_those_of_the_posterior_and_evidence_excludes_the_prior() -> None:
    uniform, tilted = list_beliefs(_handbook(), Scope(agent="x"))
    # Beta(1, 1) is uniform; Beta(2, 1) has the distribution function x².
    assert (uniform.mean, uniform.low, uniform.high, uniform.evidence) == pytest.approx((0.5, 0.05, 0.95, 0.0))
    assert (tilted.mean, tilted.low, tilted.high, tilted.evidence) == pytest.approx((2 / 3, 0.05**0.5, 0.95**0.5, 1.0))


@pytest.mark.parametrize(
    ("scope", "count"),
    [(Scope(mode="m"), 4), (Scope(mode="n"), 0), (Scope(skill="m"), 2), (Scope(agent="y", skill="a.skill"), 1)],
)
def test_a_scope_leaves_out_the_rest(scope: Scope, count: int) -> None:
    assert len(list_beliefs(_handbook(), scope)) == count
