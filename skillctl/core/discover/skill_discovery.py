"""From the outcomes of one mode to its skills and the numbers they are used with, or to the finding that none pay."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.discover.calibrating import TEMPERATURES, Calibration, Fold, calibrate, draw_folds
from skillctl.core.discover.discovery import Draft, draft_skills
from skillctl.core.discover.skill_writing import NOTHING_SAID, Words, write_skills
from skillctl.core.orchestrate.embedded import EmbeddedOrchestrator
from skillctl.core.orchestrate.features import TextFeatures, WordEmbedder, WordTable
from skillctl.core.orchestrate.skill_index import build_skill_index
from skillctl.core.orchestrate.space import POINT_STEPS, fit_space, project
from skillctl.core.profile.skill_tree import build_tree
from skillctl.model.handbook import OrchestratorSettings, Skill

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from skillctl.core.orchestrate.orchestration import SkillWeights
    from skillctl.core.outcomes import Outcomes

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

# Skills stay when what they foresee of held-out queries goes with what happened by so many standard errors: chance
# reaches them once in five times. Most noise yields no groups to begin with, and weak structure pays: with 1.64 the
# five like-strength agents of mmlu_pro lose a quarter of their gain at 200 queries.
MIN_Z = 0.84
# Folds are made of at most so many queries; more change the numbers little.
MOST_CALIBRATION_QUERIES = 2_000


class Candidate(NamedTuple):
    """A skill that is known beforehand, such as a label in the traces or a language model's proposal.

    Attributes:
        label: Its name.
        rows: Its queries.
        words: What is already said of it.
        parent: Place of the candidate above it, which stands before it and holds its queries, or -1.
    """

    label: str
    rows: Ints
    words: Words = NOTHING_SAID
    parent: int = -1


class Discovery(NamedTuple):
    """What was found in one mode.

    Attributes:
        skills: In order of id; empty when none pay.
        calibration: What held-out queries say, ``None`` where there are too few queries to find anything.
        remark: What became of proposals, or empty.
    """

    skills: tuple[Skill, ...]
    calibration: Calibration | None
    remark: str = ""


def discover_skills(
    mode: str,
    outcomes: Outcomes,
    embedder: WordEmbedder,
    rng: np.random.Generator,
    *,
    candidates: Sequence[Candidate] = (),
    taken: Collection[str] = (),
) -> Discovery:
    """Find the skills of one mode.

    Args:
        mode: The mode.
        outcomes: Of several agents on the same queries.
        embedder: Gives word vectors.
        rng: Source of all randomness.
        candidates: Skills to start from.
        taken: Ids that must not be used again.
    """
    labels = [candidate.label for candidate in candidates]
    words = [candidate.words for candidate in candidates]
    outcomes, candidates = _leave_out_blank(outcomes, candidates)
    features = WordTable(embedder).read(outcomes.texts)
    everything = np.arange(len(outcomes.texts))
    drafts = _draft(outcomes, features, everything, candidates, rng)
    if not drafts:
        return Discovery((), None)
    sample = np.sort(rng.permutation(len(everything))[:MOST_CALIBRATION_QUERIES])
    folds = []
    for train, test in draw_folds(len(sample), rng):
        drafted = _draft(outcomes, features, sample[train], candidates, rng)
        drawn = write_skills(mode, drafted, outcomes, features.surface, labels=labels, words=words)
        weights = weigh_all(drawn, outcomes.texts, embedder)
        folds.append(Fold(sample[train], sample[test], build_tree(number_tree(drawn)), weights))
    calibration = calibrate(folds, outcomes.success)
    if calibration.z < MIN_Z:
        return Discovery((), calibration)
    skills = write_skills(mode, drafts, outcomes, features.surface, labels=labels, words=words, taken=taken)
    return Discovery(skills, calibration)


def _leave_out_blank(outcomes: Outcomes, candidates: Sequence[Candidate]) -> tuple[Outcomes, Sequence[Candidate]]:
    """Return the outcomes and candidates without queries that say nothing, which resemble no skill."""
    says = np.array([bool(text.strip()) for text in outcomes.texts], dtype=np.bool_)
    if says.all():
        return outcomes, candidates
    place = np.cumsum(says) - 1
    left = [candidate._replace(rows=place[candidate.rows[says[candidate.rows]]]) for candidate in candidates]
    return outcomes.take(np.flatnonzero(says)), left


def number_tree(skills: Sequence[Skill]) -> list[int]:
    """Return the number of each skill's parent, 0 for the root, behind the root's own -1."""
    numbers = {skill.id: number for number, skill in enumerate(skills, start=1)}
    return [-1, *(0 if skill.parent is None else numbers[skill.parent] for skill in skills)]


def spread_out(weights: SkillWeights, skills: int) -> Floats:
    """Return sparse weights as an array of shape (n, skills + 1)."""
    count = len(weights.indptr) - 1
    table = np.zeros((count, skills + 1))
    table[np.repeat(np.arange(count), np.diff(weights.indptr)), weights.skills] = weights.weights
    return table


def weigh_all(
    skills: Sequence[Skill], texts: Sequence[str], embedder: WordEmbedder, temperatures: Sequence[float] = TEMPERATURES
) -> dict[float, Floats]:
    """Return the weights of texts on skills under each temperature that calibration tries."""
    orchestrator = EmbeddedOrchestrator(build_skill_index(skills, embedder), lambda: embedder, OrchestratorSettings())
    weights = orchestrator.weigh_at(texts, temperatures)
    return {
        temperature: spread_out(weight, len(skills)) for temperature, weight in zip(temperatures, weights, strict=True)
    }


def _draft(
    outcomes: Outcomes, features: TextFeatures, rows: Ints, candidates: Sequence[Candidate], rng: np.random.Generator
) -> list[Draft]:
    """Return drafts made of some rows, which they name by their place among all rows."""
    space = fit_space(features.semantic[rows], features.surface[rows])
    points = project(space, features.semantic[rows], features.surface[rows]).points.astype(np.float64)
    place = np.full(len(features.surface), -1)
    place[rows] = np.arange(len(rows))
    groups = [inside[inside >= 0] for inside in (place[candidate.rows] for candidate in candidates)]
    known = [number for number, group in enumerate(groups) if len(group)]
    above = [candidates[number].parent for number in known]
    drafts = draft_skills(
        points / float(POINT_STEPS),
        outcomes.success[rows],
        rng,
        groups=[groups[number] for number in known],
        parents=[known.index(parent) if parent >= 0 else -1 for parent in above],
    )
    return [
        draft._replace(
            members=rows[draft.members],
            examples=rows[draft.examples],
            group=known[draft.group] if draft.group >= 0 else -1,
        )
        for draft in drafts
    ]
