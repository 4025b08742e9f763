"""What a run came to: conversations, success with its interval, turns, costs and who did the work."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_Z = 1.959964  # of a 95 % interval


class Share(NamedTuple):
    """A share with its 95 % interval."""

    value: float
    low: float
    high: float


def wilson_interval(successes: int, runs: int) -> Share:
    """Return the share of successes with its Wilson score interval (Wilson, 1927); of no runs, anything from 0 to 1.

    (p + z²/2n ± z·sqrt(p(1 − p)/n + z²/4n²)) / (1 + z²/n)
    """
    if runs == 0:
        return Share(math.nan, 0.0, 1.0)
    p, z2 = successes / runs, _Z * _Z
    centre = p + z2 / (2 * runs)
    margin = _Z * math.sqrt(p * (1 - p) / runs + z2 / (4 * runs * runs))
    scale = 1 + z2 / runs
    return Share(p, max(0.0, (centre - margin) / scale), min(1.0, (centre + margin) / scale))


@dataclass(slots=True)
class RunSummary:
    """Counts the traces of a run."""

    conversations: int = 0
    successes: int = 0
    failures: int = 0
    errors: int = 0
    turns: int = 0
    cost_usd: float = 0.0
    unknown_costs: int = 0
    stops: Counter[str] = field(default_factory=Counter)
    work: Counter[tuple[str, str]] = field(default_factory=Counter)

    def count(self, trace: Mapping[str, Any]) -> None:
        """Add one trace."""
        self.conversations += 1
        self.successes += trace["success"] is True
        self.failures += trace["success"] is False
        self.errors += bool(trace.get("error"))
        self.turns += len(trace["steps"])
        self.stops[trace["stop"]] += 1
        self.work.update((step["mode"], step["agent"]) for step in trace["steps"])
        cost = trace.get("cost_usd")
        self.cost_usd += cost or 0.0
        self.unknown_costs += cost is None

    def render(self) -> list[tuple[str, str]]:
        """Return the rows of the closing table."""
        share = wilson_interval(self.successes, self.successes + self.failures)
        judged = self.successes + self.failures
        rate = f"{share.value:.1%} ({share.low:.1%} to {share.high:.1%})" if judged else "-"
        mean = f"{self.cost_usd / self.conversations:.6f} USD" if self.conversations else "-"
        if self.unknown_costs:
            mean = f"unknown for {self.unknown_costs} of {self.conversations}"
        work = ", ".join(f"{mode}/{agent} {count}" for (mode, agent), count in sorted(self.work.items()))
        return [
            ("conversations", str(self.conversations)),
            ("success", rate),
            ("no verdict", str(self.conversations - judged)),
            ("turns", f"{self.turns / self.conversations:.2f} each" if self.conversations else "-"),
            ("cost of each", mean),
            ("ended by", ", ".join(f"{stop} {count}" for stop, count in sorted(self.stops.items()))),
            ("turns by", work),
        ]
