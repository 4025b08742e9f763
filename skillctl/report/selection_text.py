"""A selection as tables for people, with its front as a small plot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillctl.report.cells import UNKNOWN, show_heading, show_id, show_ids, show_list, show_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillctl.model.selection import Candidate, Selection

_WIDTH, _HEIGHT = 52, 11
_MOST_SKILLS = 12


def render_selection(selection: Selection, *, markdown: bool) -> str:
    """Return the choice, the front and what was excluded."""
    choice = selection.choice
    facts = (
        f"{len(choice.skills)} skills chosen from {selection.candidates} candidates by {selection.rule}, "
        f"lambda {selection.cost_weight:g}, on {selection.queries:,} queries"
    )
    sections = [
        show_heading(f"Selection for {show_id(selection.orchestrator)}", markdown=markdown) + "\n" + facts,
        f"kept: {_show_skills(choice.skills)}",
        _front(selection, markdown=markdown),
        _plot(selection, markdown=markdown),
        show_list(
            "Excluded",
            [f"{_show_skills(one.skills)}: {one.reason}" for one in selection.excluded],
            markdown=markdown,
        ),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def summarise_selection(selection: Selection) -> str:
    """Return the choice and what it came from in one line."""
    choice = selection.choice
    accuracy = _show(choice.accuracy, choice.accuracy_interval, "")
    cost = _show(choice.mean_cost_usd, choice.mean_cost_interval, "$")
    return (
        f"accuracy {accuracy}, cost {cost} a query; by {selection.rule} from {selection.candidates} candidates "
        f"at lambda {selection.cost_weight:g}"
    )


def _show_skills(skills: Sequence[str]) -> str:
    if not skills:
        return "no skill, the modes alone"
    rest = len(skills) - _MOST_SKILLS
    return show_ids(skills[:_MOST_SKILLS]) + (f" and {rest} more" if rest > 0 else "")


def _front(selection: Selection, *, markdown: bool) -> str:
    rows = [
        [
            "*" if candidate.skills == selection.choice.skills else "",
            str(len(candidate.skills)),
            _show(candidate.accuracy, candidate.accuracy_interval, ""),
            _show(candidate.mean_cost_usd, candidate.mean_cost_interval, "$"),
        ]
        for candidate in _listed(selection)
    ]
    table = show_table(["", "skills", "accuracy", "mean cost"], rows, markdown=markdown)
    return show_heading("Pareto front", markdown=markdown) + "\n" + table


def _listed(selection: Selection) -> list[Candidate]:
    """Return the front, and the choice where a rule took one beside it."""
    known = [candidate.skills for candidate in selection.front]
    return [*selection.front, *([] if selection.choice.skills in known else [selection.choice])]


def _show(value: float | None, interval: tuple[float, float] | None, unit: str) -> str:
    if value is None:
        return UNKNOWN
    if unit:
        return f"${value:.4g}" + (f" [${interval[0]:.4g}, ${interval[1]:.4g}]" if interval else "")
    return f"{value:.3f}" + (f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else "")


def _plot(selection: Selection, *, markdown: bool) -> str:
    """Return accuracy over cost in characters: ``*`` is the choice; nothing where there is no curve to see."""
    points = [
        (candidate.mean_cost_usd, candidate.accuracy, candidate.skills == selection.choice.skills)
        for candidate in _listed(selection)
        if candidate.mean_cost_usd is not None and candidate.accuracy is not None
    ]
    costs, levels = [cost for cost, _, _ in points], [accuracy for _, accuracy, _ in points]
    if len(set(costs)) <= 1 or len(set(levels)) <= 1:
        return ""
    grid = [[" "] * _WIDTH for _ in range(_HEIGHT)]
    for cost, accuracy, is_choice in sorted(points, key=lambda point: point[2]):
        column = round((cost - min(costs)) / (max(costs) - min(costs)) * (_WIDTH - 1))
        row = round((max(levels) - accuracy) / (max(levels) - min(levels)) * (_HEIGHT - 1))
        grid[row][column] = "*" if is_choice else "o"
    labels = {0: f"{max(levels):.3f}", _HEIGHT - 1: f"{min(levels):.3f}"}
    lines = [f"{labels.get(row, ''):>8} |{''.join(cells).rstrip()}" for row, cells in enumerate(grid)]
    low, high = f"${min(costs):.4g}", f"${max(costs):.4g}"
    lines += [f"{'':>8} +{'-' * _WIDTH}", f"{'':>9} {low}{high:>{_WIDTH - len(low)}}"]
    text = "\n".join(lines)
    return f"```\n{text}\n```" if markdown else text
