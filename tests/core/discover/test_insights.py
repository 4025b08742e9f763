"""Which mode follows which, with support and confidence."""

from __future__ import annotations

from skillctl.core.discover.insights import find_mode_insights
from skillctl.model.handbook import Insight, ModeId


def test_a_planted_order_of_modes_is_found_with_its_counts() -> None:
    runs = [["search", "search", "answer"]] * 8 + [["search", "code", "answer"]] * 2
    insights = find_mode_insights(runs)
    assert insights[ModeId("search")] == (
        Insight("Start with search: 100 % of the successful runs do.", None, 10, 1.0),
    )
    assert insights[ModeId("answer")] == (
        Insight("After search, go on with answer: 80 % of the successful moves do.", ModeId("search"), 8, 0.8),
    )
    assert "code" not in insights  # two runs are an anecdote


def test_support_counts_trajectories_and_confidence_counts_moves() -> None:
    insights = find_mode_insights([["a", "b", "a", "b"]] * 5)
    (insight,) = insights[ModeId("b")]
    assert (insight.after, insight.support, insight.confidence) == ("a", 5, 1.0)


def test_no_trajectory_gives_no_insight() -> None:
    assert find_mode_insights([]) == {}
    assert find_mode_insights([[], []]) == {}
