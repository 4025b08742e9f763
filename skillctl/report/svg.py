"""Plots as inline SVG: axes, lines, points and texts, coloured by the page's style sheet."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return round numbers from ``low`` to ``high``, about ``count`` of them."""
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in _STEPS if factor * power >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis.

    Attributes:
        low: Value at its start.
        high: Value at its end.
        title: What it shows.
        write: Turns a tick into text.
    """

    low: float
    high: float
    title: str
    write: Callable[[float], str]

    def place(self, value: float, start: float, end: float) -> float:
        """Return where a value stands between two pixels."""
        return start + (value - self.low) / ((self.high - self.low) or 1.0) * (end - start)


@dataclass(slots=True)
class Plot:
    """A plot with two axes, drawn from back to front.

    Attributes:
        x: Horizontal axis.
        y: Vertical axis.
        label: What the plot shows, for those who cannot see it.
        width: In pixels of the drawing.
        height: Likewise.
    """

    x: Axis
    y: Axis
    label: str
    width: int = 640
    height: int = 400
    _parts: list[str] = field(default_factory=list)
    _labels: list[tuple[float, float, float, float]] = field(default_factory=list)

    left, right, top, bottom = 58, 26, 14, 48

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixel of a point."""
        return (
            self.x.place(x, self.left, self.width - self.right),
            self.y.place(y, self.height - self.bottom, self.top),
        )

    def line(self, points: Sequence[tuple[float, float]], kind: str) -> None:
        """Draw a line through points; ``kind`` is a class of the style sheet."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.at(*point) for point in points))
        self._parts.append(f'<polyline class="{kind}" points="{path}"/>')

    def area(self, points: Sequence[tuple[float, float]], kind: str) -> None:
        """Fill the area between points and the horizontal axis."""
        closed = [(points[0][0], self.y.low), *points, (points[-1][0], self.y.low)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.at(*point) for point in closed))
        self._parts.append(f'<polygon class="{kind}" points="{path}"/>')

    def dot(self, point: tuple[float, float], kind: str, tip: str, radius: float = 4.5) -> None:
        """Draw a point that says what it is when the pointer rests on it."""
        x, y = self.at(*point)
        self._parts.append(
            f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"><title>{escape(tip)}</title></circle>'
        )

    def text(self, point: tuple[float, float], words: str, kind: str = "label") -> bool:
        """Write beside a point where no other text stands, or not at all."""
        x, y = self.at(*point)
        size = 6.3 * len(words)
        for dx, dy, anchor in ((9, 4, "start"), (-9, 4, "end"), (0, -10, "middle"), (0, 18, "middle")):
            start = x + dx - {"start": 0.0, "end": size, "middle": size / 2}[anchor]
            box = (start, y + dy - 11, start + size, y + dy + 3)
            inside = box[0] >= self.left and box[2] <= self.width - 2 and box[1] >= 0
            if inside and not any(_overlap(box, other) for other in self._labels):
                self._labels.append(box)
                place = f'x="{x + dx:.1f}" y="{y + dy:.1f}" text-anchor="{anchor}"'
                self._parts.append(f'<text class="{kind}" {place}>{escape(words)}</text>')
                return True
        return False

    def keep_clear(self, point: tuple[float, float], radius: float = 6.0) -> None:
        """Keep texts off a point."""
        x, y = self.at(*point)
        self._labels.append((x - radius, y - radius, x + radius, y + radius))

    def render(self) -> str:
        """Return the drawing."""
        return (
            f'<svg viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{escape(self.label)}">'
            f"{self._axes()}{''.join(self._parts)}</svg>"
        )

    def _axes(self) -> str:
        base, side = self.height - self.bottom, self.width - self.right
        parts = []
        for tick in nice_ticks(self.y.low, self.y.high):
            y = self.at(self.x.low, tick)[1]
            parts.append(f'<line class="grid" x1="{self.left}" x2="{side}" y1="{y:.1f}" y2="{y:.1f}"/>')
            text = escape(self.y.write(tick))
            parts.append(f'<text class="tick" x="{self.left - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
        for tick in nice_ticks(self.x.low, self.x.high):
            x = self.at(tick, self.y.low)[0]
            parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{base}" y2="{base + 4}"/>')
            text = escape(self.x.write(tick))
            parts.append(f'<text class="tick" x="{x:.1f}" y="{base + 18}" text-anchor="middle">{text}</text>')
        parts.append(f'<line class="axis" x1="{self.left}" x2="{side}" y1="{base}" y2="{base}"/>')
        middle = (self.left + side) / 2
        place = f'x="{middle:.0f}" y="{self.height - 8}" text-anchor="middle"'
        parts.append(f'<text class="title" {place}>{escape(self.x.title)}</text>')
        half = (self.top + base) / 2
        parts.append(
            f'<text class="title" x="14" y="{half:.0f}" text-anchor="middle" '
            f'transform="rotate(-90 14 {half:.0f})">{escape(self.y.title)}</text>'
        )
        return "".join(parts)


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
