"""The global numbers of a handbook are chosen on the queries of its logs, kept aside in turn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.discover.calibrating import SHARP_TEMPERATURES, Calibration, Fold, calibrate, draw_folds
from skillctl.core.discover.discovery import MIN_QUERIES
from skillctl.core.discover.skill_discovery import MOST_CALIBRATION_QUERIES
from skillctl.core.discover.weighing import number_tree, weigh_all
from skillctl.core.outcomes import Outcomes, tabulate_modes
from skillctl.core.profile.skill_tree import build_tree
from skillctl.model.handbook import ModeId
from skillctl.store.traces import read_traces
from skillctl.store.word_vectors import WordVectors

if TYPE_CHECKING:
    from skillctl.cli.trace_sources import TraceSources
    from skillctl.model.handbook import Handbook, Skill
    from skillctl.model.problem import Problem


def calibrate_handbook(handbook: Handbook, sources: TraceSources, *, success_at: float, seed: int) -> Handbook:
    """Return the handbook with the temperature and prior strength that foresee held-out outcomes best.

    The skills stay as they are. Of several modes the one with the most queries decides. Where no mode has skills and
    enough queries, the handbook comes back as it was.
    """
    traces = (
        trace
        for place in sources.places.values()
        for trace in read_traces(place, success_at=success_at, on_problem=_ignore)
    )
    tables = tabulate_modes(traces, handbook.default_mode())
    fitting = [
        (len(table.texts), ModeId(mode), table)
        for mode, table in tables.items()
        if handbook.skills.get(ModeId(mode)) and len(table.texts) >= MIN_QUERIES
    ]
    if not fitting:
        return handbook
    _, mode, table = max(fitting, key=lambda entry: (entry[0], entry[1]))
    numbers = _calibrate_mode(handbook.skills[mode], table, np.random.default_rng(seed))
    orchestrator = replace(handbook.settings.orchestrator, temperature=numbers.temperature)
    return replace(
        handbook, settings=replace(handbook.settings, orchestrator=orchestrator, prior_strength=numbers.kappa)
    )


def _calibrate_mode(skills: tuple[Skill, ...], outcomes: Outcomes, rng: np.random.Generator) -> Calibration:
    sample = outcomes.take(np.sort(rng.permutation(len(outcomes.texts))[:MOST_CALIBRATION_QUERIES]))
    weights = weigh_all(skills, sample.texts, WordVectors(), SHARP_TEMPERATURES)
    tree = build_tree(number_tree(skills))
    folds = [Fold(train, test, tree, weights) for train, test in draw_folds(len(sample.texts), rng)]
    return calibrate(folds, sample.success)


def _ignore(_: Problem) -> None:
    """Leave the report of faults to the reading that counts."""
