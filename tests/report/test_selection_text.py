"""Selections as people read them."""

from __future__ import annotations

from skillctl.model.selection import Candidate, Excluded, Selection
from skillctl.report.selection_text import render_selection

FRONT = (Candidate((), 0.5, (0.4, 0.6), 0.01), Candidate(("a",), 0.8, (0.7, 0.9), 0.03))


def _selection(front: tuple[Candidate, ...]) -> Selection:
    return Selection(
        "embedded", 1.0, "lambda", "blake2b:" + "0" * 32, 40, 3, front[-1], front, (Excluded(("b",), "timeout"),)
    )


def test_the_front_is_a_table_and_a_plot_with_the_choice_marked() -> None:
    text = render_selection(_selection(FRONT), markdown=False)
    assert "1 skills chosen from 3 candidates by lambda, lambda 1, on 40 queries" in text
    assert "*   1         0.800 [0.700, 0.900]  $0.03" in text
    plot = [line for line in text.splitlines() if "|" in line]
    assert plot[0].startswith("   0.800 |")
    assert plot[0].endswith("*")
    assert plot[-1] == "   0.500 |o"
    assert "b: timeout" in text


def test_markdown_keeps_the_plot_in_a_block() -> None:
    assert "```" in render_selection(_selection(FRONT), markdown=True)


def test_without_costs_there_is_no_plot() -> None:
    text = render_selection(_selection((Candidate(("a",), 0.8),)), markdown=False)
    assert "unknown" in text
    assert "+---" not in text
