"""What reinforcement-learned routers do, in small: a softmax policy over agents, trained on logged outcomes.

It stands beside the handbook so that sample efficiency and collapse can be compared; nothing routes by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FIRST_DECAY, _SECOND_DECAY = 0.9, 0.999  # of Adam, Kingma and Ba (2015)
_TINY = 1e-8


@dataclass(frozen=True, slots=True)
class PolicyTraining:
    """How a policy is trained.

    Attributes:
        epochs: Passes over the queries.
        group: Agents drawn for each query in a pass; their rewards are compared with each other.
        batch: Queries of one update.
        rate: Step size of Adam.
        entropy: Weight of the entropy bonus, against collapse; 0 for none.
    """

    epochs: int = 60
    group: int = 8
    batch: int = 32
    rate: float = 0.05
    entropy: float = 0.0


def train_policy(
    weights: Floats, reward: Floats, rng: np.random.Generator, training: PolicyTraining | None = None
) -> Floats:
    """Return the logits of a softmax policy over (agent, skill), shape (skills, agents).

    The policy is π(a | q) = softmax_a(Σ_σ w_qσ θ_σa). Group-relative policy optimisation (Shao et al., DeepSeekMath,
    arXiv 2402.03300, section 4.1) with one update a batch, where the clipped ratio is 1: for each query a group of
    agents is drawn from the policy, the advantage of each is (r − mean of the group) / standard deviation of the
    group, and θ climbs the mean of advantage · ∇ log π. A group of equal rewards teaches nothing.

    Args:
        weights: Skill weights of the training queries, shape (n, skills).
        reward: Of each agent on each query, shape (n, agents), NaN where it was not tried: never drawn.
        rng: Draws batches and groups.
        training: How.
    """
    how = training or PolicyTraining()
    theta = np.zeros((weights.shape[1], reward.shape[1]))
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    tried = ~np.isnan(reward)
    rows = np.flatnonzero(tried.any(axis=1))
    step = 0
    for _ in range(how.epochs):
        order = rng.permutation(rows)
        for start in range(0, len(order), how.batch):
            batch = order[start : start + how.batch]
            slope = _find_slope(theta, weights[batch], reward[batch], how, rng)
            step += 1
            first = _FIRST_DECAY * first + (1 - _FIRST_DECAY) * slope
            second = _SECOND_DECAY * second + (1 - _SECOND_DECAY) * slope**2
            scaled = first / (1 - _FIRST_DECAY**step)
            theta += how.rate * scaled / (np.sqrt(second / (1 - _SECOND_DECAY**step)) + _TINY)
    return theta


def predict_policy(theta: Floats, weights: Floats) -> Floats:
    """Return the probability of each agent for each query, shape (n, agents)."""
    return _softmax(weights @ theta)


def _find_slope(
    theta: Floats, weights: Floats, reward: Floats, how: PolicyTraining, rng: np.random.Generator
) -> Floats:
    """Return the gradient of the mean of advantage · log π over a batch."""
    logits = np.where(np.isnan(reward), -np.inf, weights @ theta)
    chance = _softmax(logits)
    drawn = _draw(chance, how.group, rng)
    got = np.take_along_axis(reward, drawn, axis=1)
    spread = got.std(axis=1, keepdims=True)
    advantage = np.where(spread > _TINY, (got - got.mean(axis=1, keepdims=True)) / np.maximum(spread, _TINY), 0.0)
    pull = np.zeros_like(chance)
    np.add.at(pull, (np.arange(len(drawn))[:, None], drawn), advantage / how.group)
    pull -= chance * advantage.mean(axis=1, keepdims=True)
    if how.entropy:
        log = np.log(np.maximum(chance, _TINY))
        surprise = -(chance * log).sum(axis=1, keepdims=True)
        pull -= how.entropy * chance * (log + surprise)
    return np.asarray(weights.T @ pull / len(weights), dtype=np.float64)


def _draw(chance: Floats, group: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw agents for each query by inverting the cumulated probabilities; one that cannot be drawn never is."""
    edges = np.cumsum(chance, axis=1)
    points = rng.random((len(chance), group)) * edges[:, -1:]
    return np.asarray((points[:, :, None] >= edges[:, None, :]).sum(axis=2), dtype=np.int64)


def _softmax(logits: Floats) -> Floats:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), dtype=np.float64)
