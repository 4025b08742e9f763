"""The plots of an evaluation: curve, call shares, calibration and the competence heat map."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.evaluate.curves import find_hull
from skillctl.report.cells import show_id
from skillctl.report.svg import Axis, Plot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from skillctl.core.evaluate.evaluation import Evaluation

_SHORT = 22
_MOST_BARS = 12
_MOST_ROWS, _MOST_COLUMNS = 40, 24
_DARK_FROM = 0.55  # shade of a cell from which its text is light
_MIN_BIN = 1


def shorten(name: str, width: int = _SHORT) -> str:
    """Return an id cut in the middle."""
    name = show_id(name)
    keep = (width - 1) // 2
    return name if len(name) <= width else f"{name[:keep]}…{name[-keep:]}"


def show_percent(value: float) -> str:
    """Return a share in percent."""
    return f"{100 * value:.0f} %"


def show_dollars(value: float) -> str:
    """Return an amount for an axis."""
    return f"${value:.4g}"


def plot_curve(evaluation: Evaluation) -> str | None:
    """Return accuracy over cost: the policy, single agents and the oracle; ``None`` without known costs."""
    yardsticks = evaluation.yardsticks
    singles = [single for single in yardsticks.singles if np.isfinite(single.mean_cost_usd)]
    cost, accuracy = evaluation.curve.cost.mean(axis=0), evaluation.curve.success.mean(axis=0)
    if not singles or np.isnan(cost).all():
        return None
    chosen = (float(evaluation.played.cost.mean()), float(evaluation.played.success.mean()))
    oracle = (float(yardsticks.oracle.cost.mean()), float(yardsticks.oracle.success.mean()))
    most = max(single.mean_cost_usd for single in singles)
    levels = [single.accuracy for single in singles]
    low, high = max(0.0, min(levels) - 0.05), min(1.0, max(*levels, oracle[1], chosen[1]) + 0.05)
    plot = Plot(
        Axis(0.0, max(most, min(chosen[0], 2 * most)) * 1.04, "mean cost of a query", show_dollars),
        Axis(low, high, "success", show_percent),
        "Success over mean cost: the handbook, single agents and the oracle",
        height=420,
    )
    hull = find_hull(cost, accuracy)
    _draw_hull(plot, hull.cost, hull.accuracy, "curve", fill=True)
    single_hull = yardsticks.single_hull
    _draw_hull(plot, single_hull.cost, single_hull.accuracy, "hull", fill=False)
    points = [(single.mean_cost_usd, single.accuracy) for single in singles]
    for point in [*points, oracle]:
        plot.keep_clear(point)
    for single, point in zip(singles, points, strict=True):
        plot.dot(point, "single", f"{single.agent}: {single.accuracy:.1%} at {show_dollars(single.mean_cost_usd)}")
    plot.dot(oracle, "oracle", f"oracle: {oracle[1]:.1%} at {show_dollars(oracle[0])}", 6)
    plot.text(oracle, "oracle", "label strong")
    if chosen[0] <= plot.x.high:
        plot.dot(chosen, "chosen", f"this policy: {chosen[1]:.1%} at {show_dollars(chosen[0])}", 6)
        plot.text(chosen, "handbook", "label strong")
    corners = set(zip(single_hull.cost.tolist(), single_hull.accuracy.tolist(), strict=True))
    for single, point in sorted(
        zip(singles, points, strict=True), key=lambda pair: (pair[1] not in corners, -pair[1][1])
    ):
        plot.text(point, shorten(single.agent))
    return plot.render()


def _draw_hull(plot: Plot, cost: NDArray[np.float64], accuracy: NDArray[np.float64], kind: str, *, fill: bool) -> None:
    """Draw the part of a hull that is in view; it stays level beyond its last corner."""
    # Enters from below: the null router at (0, 0) is mostly out of view.
    start = float(np.interp(plot.y.low, accuracy, cost)) if accuracy[0] < plot.y.low else float(cost[0])
    stop = plot.x.high
    inner = cost[(cost > start) & (cost < stop)]
    x = [start, *inner.tolist(), stop]
    points = [(value, max(plot.y.low, float(np.interp(value, cost, accuracy)))) for value in x]
    if fill:
        plot.area(points, f"{kind}-fill")
    plot.line(points, kind)


def plot_calibration(evaluation: Evaluation) -> str:
    """Return the reliability diagram: success over expected success."""
    plot = Plot(
        Axis(0.0, 1.0, "expected success", show_percent),
        Axis(0.0, 1.0, "success", show_percent),
        "Success over expected success of the decisions, by bins",
        width=420,
        height=420,
    )
    plot.line([(0, 0), (1, 1)], "ideal")
    bins = [
        (expected, success, int(count))
        for count, expected, success in zip(*(part.tolist() for part in evaluation.reliability), strict=True)
        if count >= _MIN_BIN
    ]
    plot.line([(expected, success) for expected, success, _ in bins], "curve")
    most = max((count for *_, count in bins), default=1)
    for expected, success, count in bins:
        tip = f"{count} decisions: expected {expected:.1%}, came {success:.1%}"
        plot.dot((expected, success), "chosen", tip, 3 + 6 * (count / most) ** 0.5)
    return plot.render()


def plot_shares(evaluation: Evaluation, width: int) -> str:
    """Return bars of each agent's share of the calls, above the oracle's, in a drawing of this width."""
    agents = evaluation.yardsticks.board.agents
    order = sorted(range(len(agents)), key=lambda place: (*(-evaluation.shares[place]).tolist(), agents[place]))
    shown = [place for place in order if evaluation.shares[place].max() > 0][:_MOST_BARS]
    row, left = 38, 210
    scale = (width - left - 60) / max(float(evaluation.shares.max()), 1e-9)
    parts = []
    for line, place in enumerate(shown):
        share, oracle = evaluation.shares[place].tolist()
        y = line * row + 6
        name = escape(shorten(agents[place], 27))
        parts.append(
            f'<text class="label" x="{left - 10}" y="{y + 17}" text-anchor="end">{name}'
            f"<title>{escape(show_id(agents[place]))}</title></text>"
        )
        for offset, value, kind in ((0, share, "mine"), (14, oracle, "theirs")):
            length = max(value * scale, 1.0)
            parts.append(
                f'<rect class="bar {kind}" x="{left}" y="{y + offset}" width="{length:.1f}" height="12" rx="2"/>'
            )
            parts.append(f'<text class="tick" x="{left + length + 6:.1f}" y="{y + offset + 10}">{value:.1%}</text>')
    height = max(len(shown), 1) * row + 8
    label = "Share of the calls by agent, and the oracle's share"
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def plot_competence(
    skills: Sequence[str], agents: Sequence[str], means: NDArray[np.float64], evidence: NDArray[np.float64]
) -> str:
    """Return a heat map of posterior means: rows are skills, columns agents; faint where there is little evidence."""
    skills, agents = skills[:_MOST_ROWS], agents[:_MOST_COLUMNS]
    left, top, height = 200, 130, 24
    cell = max(34, min(70, (960 - left) // max(len(agents), 1)))
    parts = []
    for column, agent in enumerate(agents):
        x = left + column * cell + cell / 2
        parts.append(
            f'<text class="label" x="{x:.0f}" y="{top - 8}" transform="rotate(-40 {x:.0f} {top - 8})">'
            f"{escape(shorten(agent, 24))}<title>{escape(show_id(agent))}</title></text>"
        )
    for row, skill in enumerate(skills):
        y = top + row * height
        parts.append(
            f'<text class="label" x="{left - 8}" y="{y + 16}" text-anchor="end">{escape(shorten(skill, 30))}'
            f"<title>{escape(show_id(skill))}</title></text>"
        )
        for column, agent in enumerate(agents):
            parts.append(
                _cell(
                    (left + column * cell, y, cell - 2, height - 2),
                    float(means[row, column]),
                    float(evidence[row, column]),
                    f"{show_id(agent)} in {show_id(skill)}",
                )
            )
    width = left + len(agents) * cell + 120
    bottom = top + len(skills) * height + 6
    label = "Posterior mean of success by skill and agent"
    return f'<svg viewBox="0 0 {width} {bottom}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _cell(box: tuple[float, float, float, float], mean: float, evidence: float, name: str) -> str:
    x, y, width, height = box
    shade = min(max(mean, 0.0), 1.0)
    faint = evidence / (evidence + 4.0)  # of the strength of its colour, more with evidence
    tone = "on-dark" if shade * (0.35 + 0.65 * faint) > _DARK_FROM else "on-light"
    tip = f"{name}: {mean:.2f}, evidence {evidence:.1f}" if evidence else f"{name}: {mean:.2f}, prior only"
    return (
        f'<g><title>{escape(tip)}</title><rect class="heat" x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" rx="2" fill-opacity="{shade * (0.35 + 0.65 * faint):.2f}"/>'
        f'<text class="cell {tone}" x="{x + width / 2:.0f}" y="{y + 15:.0f}" text-anchor="middle">{mean:.2f}</text></g>'
    )


def legend(items: Mapping[str, str]) -> str:
    """Return the legend of a plot: texts by the class of their mark."""
    marks = "".join(f'<span><i class="key {kind}"></i>{escape(words)}</span>' for kind, words in items.items())
    return f'<p class="legend">{marks}</p>'
