"""Evidence of two sides added over their common base: counts, costs and the ledger."""

from __future__ import annotations

import math
from typing import NamedTuple

from skillctl.core.profile.evidence import MEANS
from skillctl.core.profile.profiling import COST_DIGITS, COUNT_DIGITS
from skillctl.model.handbook import Competence, CostStats, EvidenceSource

_LEAST_PRIOR = 10.0**-COUNT_DIGITS
_NO_EVIDENCE = Competence(0.0, 0.0, 0.0, 0.0)


def merge_competence(base: Competence | None, ours: Competence, theirs: Competence) -> Competence:
    """Return the competence with the evidence of both sides: s_ours + s_theirs − s_base, likewise failures.

    Its prior is the mean of both sides' priors until posteriors are counted again over the whole handbook.
    """
    start = base or _NO_EVIDENCE
    successes = round(max(ours.successes + theirs.successes - start.successes, 0.0), COUNT_DIGITS)
    failures = round(max(ours.failures + theirs.failures - start.failures, 0.0), COUNT_DIGITS)
    for_prior = (ours.alpha - ours.successes + theirs.alpha - theirs.successes) / 2
    against_prior = (ours.beta - ours.failures + theirs.beta - theirs.failures) / 2
    return Competence(
        round(successes + max(for_prior, _LEAST_PRIOR), COUNT_DIGITS),
        round(failures + max(against_prior, _LEAST_PRIOR), COUNT_DIGITS),
        successes,
        failures,
    )


class _Moments(NamedTuple):
    """Number, sum and sum of squares of a quantity: they add up."""

    number: float
    total: float
    squares: float


class RunCosts(NamedTuple):
    """Cost statistics and the number of runs with a verdict, which their means are over where they say no other."""

    stats: CostStats
    runs: int


def merge_costs(base: RunCosts, ours: RunCosts, theirs: RunCosts) -> CostStats:
    """Return the cost statistics of the runs of both sides: moments add up, those of the base count once."""
    three = (base, ours, theirs)
    fields: dict[str, float | int] = {}
    cost = _combine(*(_cost_moments(side.stats) for side in three))
    if cost.number > 0:
        spread = max(cost.squares - cost.total**2 / cost.number, 0.0)
        deviation = math.sqrt(spread / (cost.number - 1)) if cost.number > 1 else 0.0
        fields |= {
            "mean_usd": _shorten(cost.total / cost.number),
            "sd_usd": _shorten(deviation),
            "runs": round(cost.number),
        }
    runs = ours.runs + theirs.runs - base.runs
    for _, mean_field, runs_field in MEANS:
        mean = _combine(*(_mean_moments(side, mean_field, runs_field) for side in three))
        if mean.number > 0:
            fields[mean_field] = _shorten(mean.total / mean.number)
            if mean.number != runs:
                fields[runs_field] = round(mean.number)
    return CostStats(**fields)  # type: ignore[arg-type]


def _combine(base: _Moments, ours: _Moments, theirs: _Moments) -> _Moments:
    return _Moments(*(two + three - one for one, two, three in zip(base, ours, theirs, strict=True)))


def _cost_moments(stats: CostStats) -> _Moments:
    if stats.mean_usd is None:
        return _Moments(0.0, 0.0, 0.0)
    squares = (stats.sd_usd or 0.0) ** 2 * max(stats.runs - 1, 0)
    return _Moments(stats.runs, stats.runs * stats.mean_usd, squares + stats.runs * stats.mean_usd**2)


def _mean_moments(side: RunCosts, mean_field: str, runs_field: str) -> _Moments:
    mean, known = getattr(side.stats, mean_field), getattr(side.stats, runs_field)
    count = side.runs if known is None else known
    return _Moments(0.0, 0.0, 0.0) if mean is None else _Moments(count, count * mean, 0.0)


def _shorten(number: float) -> float:
    return float(f"{number:.{COST_DIGITS}g}")


Ledger = tuple[EvidenceSource, ...]


def merge_ledgers(base: Ledger, ours: Ledger, theirs: Ledger) -> Ledger:
    """Return the logs that both sides counted: those in both, and those that one side added to the base."""
    kept = [source for source in (*ours, *theirs) if (source in ours and source in theirs) or source not in base]
    return tuple(sorted(dict.fromkeys(kept), key=lambda source: (source.name, source.digest)))


def shared_sources(base: Ledger, ours: Ledger, theirs: Ledger) -> tuple[str, ...]:
    """Return the names of logs of which both sides counted the same traces since their base, or may have.

    That is a log that both added, or one of the base that grew on both sides. Sides with the same ledger counted the
    same logs; they share evidence if it is not that of the base.
    """
    added = [{source.digest: source.name for source in side if source not in base} for side in (ours, theirs)]
    same = {added[0][digest] for digest in added[0].keys() & added[1].keys()}
    gone = {source.name for source in base if source not in ours and source not in theirs}
    return tuple(sorted(same | (gone & set(added[0].values()) & set(added[1].values()))))
