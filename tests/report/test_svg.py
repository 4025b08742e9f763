"""Plots as SVG."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from skillctl.report.svg import Axis, Plot, nice_ticks


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (0.03, 0.11, [0.04, 0.06, 0.08, 0.1]), (2, 2, [2])],
)
def test_ticks_are_round_numbers_within_the_range(low: float, high: float, ticks: list[float]) -> None:
    assert nice_ticks(low, high) == pytest.approx(ticks)


def _plot() -> Plot:
    return Plot(Axis(0, 1, "cost", str), Axis(0, 1, "success", str), 'a "plot" <of> things')


def test_texts_are_escaped_and_the_drawing_is_well_formed() -> None:
    plot = _plot()
    plot.dot((0.5, 0.5), "single", "<script>alert(1)</script> & more")
    plot.text((0.5, 0.5), "<b>&</b>")
    drawing = plot.render()
    assert "<script" not in drawing
    assert ET.fromstring(drawing).tag == "svg"  # noqa: S314 - made here


def test_a_text_finds_a_free_place_or_is_left_out() -> None:
    plot = _plot()
    placed = [plot.text((0.5, 0.5), "same place") for _ in range(6)]
    assert placed[0]
    assert not placed[-1]
