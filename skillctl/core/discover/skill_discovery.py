"""From the outcomes of one mode to its skills and the numbers they are used with, or to the finding that none pay."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skillctl.core.discover.calibrating import SOFT_TEMPERATURE, TEMPERATURES, Calibration, draw_folds
from skillctl.core.discover.discovery import Draft, Drafts, draft_skills
from skillctl.core.discover.granularity import Granularity, Trial, choose_granularity
from skillctl.core.discover.skill_writing import NOTHING_SAID, Words, write_skills
from skillctl.core.discover.supported_splits import LEAST_EVIDENCE
from skillctl.core.discover.weighing import weigh_all
from skillctl.core.orchestrate.features import TextFeatures, WordEmbedder, WordTable
from skillctl.core.orchestrate.space import POINT_STEPS, fit_space, project

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from skillctl.core.outcomes import Outcomes
    from skillctl.model.handbook import Skill

    Ints = NDArray[np.int64]

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
        granularity: Which of the skills that were found stay.
        evidence: Log Bayes factor that holds the two least alike of those apart that are supported one by one.
    """

    skills: tuple[Skill, ...]
    calibration: Calibration | None
    remark: str = ""
    granularity: Granularity = Granularity.NONE
    evidence: float = 0.0


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
    table = WordTable(embedder)
    features = table.read(outcomes.texts)
    everything = np.arange(len(outcomes.texts))
    drafts = _draft(outcomes, features, everything, candidates, rng)
    if not drafts.fine:
        return Discovery((), None)
    write = partial(write_skills, mode, outcomes=outcomes, surface=features.surface, labels=labels, words=words)
    sample = np.sort(rng.permutation(len(everything))[:MOST_CALIBRATION_QUERIES])
    trials = []
    for train, test in draw_folds(len(sample), rng):
        share = len(train) / len(sample)  # evidence grows with the queries: with fewer, less stands for the same
        drafted = _draft(outcomes, features, sample[train], candidates, rng, least_evidence=LEAST_EVIDENCE * share)
        trials.append(Trial(train, test, write(drafted.supported), write(drafted.fine)))
    choice = choose_granularity(
        trials,
        drafts.evidence,
        outcomes.take(sample),
        partial(weigh_all, embedder=embedder, table=table),
        temperatures=TEMPERATURES if candidates else (SOFT_TEMPERATURE,),
    )
    chosen = {Granularity.NONE: [], Granularity.SUPPORTED: drafts.supported, Granularity.FINE: drafts.fine}
    return Discovery(
        write(chosen[choice.granularity], taken=taken),
        choice.calibration,
        granularity=choice.granularity,
        evidence=drafts.evidence,
    )


def _leave_out_blank(outcomes: Outcomes, candidates: Sequence[Candidate]) -> tuple[Outcomes, Sequence[Candidate]]:
    """Return the outcomes and candidates without queries that say nothing, which resemble no skill."""
    says = np.array([bool(text.strip()) for text in outcomes.texts], dtype=np.bool_)
    if says.all():
        return outcomes, candidates
    place = np.cumsum(says) - 1
    left = [candidate._replace(rows=place[candidate.rows[says[candidate.rows]]]) for candidate in candidates]
    return outcomes.take(np.flatnonzero(says)), left


def _draft(
    outcomes: Outcomes,
    features: TextFeatures,
    rows: Ints,
    candidates: Sequence[Candidate],
    rng: np.random.Generator,
    *,
    least_evidence: float = LEAST_EVIDENCE,
) -> Drafts:
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
        least_evidence=least_evidence,
    )

    def name(found: list[Draft]) -> list[Draft]:
        return [
            draft._replace(
                members=rows[draft.members],
                examples=rows[draft.examples],
                group=known[draft.group] if draft.group >= 0 else -1,
            )
            for draft in found
        ]

    return drafts._replace(supported=name(drafts.supported), fine=name(drafts.fine))
