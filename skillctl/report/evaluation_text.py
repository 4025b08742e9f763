"""An evaluation as tables for people, for a terminal or as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.evaluate.resampling import estimate
from skillctl.report.cells import show_heading, show_id, show_ids, show_list, show_table
from skillctl.report.evaluation_facts import COSTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillctl.core.evaluate.evaluation import Evaluation, Group
    from skillctl.core.evaluate.metrics import Interval
    from skillctl.report.evaluation_facts import Report

_UNKNOWN = "-"
_SHOWN_GROUPS = 25
_ABOUT = {
    "accuracy": "success of the chosen agents",
    "mean_cost_usd": "cost of a query",
    "headroom": "share of the gap between best single agent and oracle",
    "aiq": "mean accuracy over the range of costs",
    "cost_at_best_single_accuracy": "least cost at the accuracy of the best single agent",
    "regret": "what the best choice in hindsight has more",
    "brier": "squared error of the expected success",
    "ece": "error of the expected success, by bins",
    "interval_coverage": "rates within their 90 % interval",
    "top1_share": "calls to the most called agent",
    "entropy": "of the calls; 1 is even",
    "effective_agents": "as many evenly called agents",
    "hhi": "concentration of the calls",
    "pgr": "share of the gap between the two agents",
    "apgr": "its mean over all shares of calls; random 0.5",
    "cpt50": "calls to the strong agent for half of the gap",
    "cpt80": "calls to the strong agent for 80 % of the gap",
}
_BASELINE_COLUMNS = ("accuracy", "mean_cost_usd", "headroom", "aiq", "cost_at_best_single_accuracy", "regret", "apgr")


def render_evaluation(report: Report, *, markdown: bool) -> str:
    """Return the report."""
    first = report.first
    sections = [
        _title(report, markdown=markdown),
        _metrics(first, markdown=markdown),
        _policies(report, markdown=markdown),
        _orchestrators(report, markdown=markdown),
        _shares(first, markdown=markdown),
        _groups("task", first.tasks, markdown=markdown) if any(g.name is not None for g in first.tasks) else "",
        _groups("skill", first.skills, markdown=markdown),
        _budgets(first, markdown=markdown),
        _coverage(report, markdown=markdown),
        show_list("Notes", list(list_notes(report)), markdown=markdown),
        _gates(report, markdown=markdown),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _title(report: Report, *, markdown: bool) -> str:
    board = report.first.yardsticks.board
    name = f"Evaluation of {show_id(report.handbook)}"
    facts = (
        f"{len(board):,} queries, {len(report.first.yardsticks.singles)} agents, policy {report.policy}, "
        f"lambda {report.cost_weight:g}, orchestrator {show_ids(list(report.evaluations))}"
    )
    return f"# {name}\n\n{facts}" if markdown else f"{name}\n\n{facts}"


def show_interval(interval: Interval | None, metric: str = "") -> str:
    """Return an estimate with its 95 % interval in brackets."""
    if interval is None:
        return _UNKNOWN
    value, low, high = (_show(part, metric) for part in interval)
    return f"{value} [{low}, {high}]"


def _show(value: float, metric: str) -> str:
    if np.isnan(value):
        return "?"
    if np.isinf(value):
        return "never"
    if metric in COSTS:
        return f"{'-' if value < 0 else ''}${abs(value):.4g}"
    return f"{value:.2f}" if metric == "effective_agents" else f"{value:.3f}"


def _metrics(evaluation: Evaluation, *, markdown: bool) -> str:
    found = {name: estimate(samples) for name, samples in evaluation.samples.items()}
    rows = [[name, show_interval(value, name), _ABOUT[name]] for name, value in found.items() if value is not None]
    table = show_table(["metric", "value [95 % interval]", "meaning"], rows, markdown=markdown)
    unknown = [name for name, value in found.items() if value is None]
    note = f"\n\nNot defined here: {', '.join(unknown)}" if unknown else ""
    return show_heading("Metrics", markdown=markdown) + "\n" + table + note


def _policies(report: Report, *, markdown: bool) -> str:
    first = report.first
    scored = {"handbook": first.samples, **first.baselines}
    found = {name: [estimate(samples[column]) for column in _BASELINE_COLUMNS] for name, samples in scored.items()}
    used = [k for k, _ in enumerate(_BASELINE_COLUMNS) if any(values[k] is not None for values in found.values())]
    found = {name: values for name, values in found.items() if any(values)}
    headers = ["policy", *(_BASELINE_COLUMNS[k] for k in used)]
    rows = [[name, *(show_interval(values[k], _BASELINE_COLUMNS[k]) for k in used)] for name, values in found.items()]
    note = f"Baselines learned from {report.training} ({report.trained_on:,} queries)."
    heading = show_heading("Beside the baselines", markdown=markdown)
    return f"{heading}\n{show_table(headers, rows, markdown=markdown)}\n\n{note}"


def _orchestrators(report: Report, *, markdown: bool) -> str:
    if len(report.evaluations) == 1:
        return ""
    columns = ("accuracy", "mean_cost_usd", "headroom", "aiq", "brier", "effective_agents")
    rows = [
        [
            show_id(name),
            *(show_interval(estimate(evaluation.samples[column]), column) for column in columns),
        ]
        for name, evaluation in report.evaluations.items()
    ]
    table = show_table(["orchestrator", *columns], rows, markdown=markdown)
    return show_heading("Orchestrators", markdown=markdown) + "\n" + table


def _shares(evaluation: Evaluation, *, markdown: bool) -> str:
    agents = evaluation.yardsticks.board.agents
    singles = {single.agent: single for single in evaluation.yardsticks.singles}
    order = sorted(range(len(agents)), key=lambda place: (*(-evaluation.shares[place]).tolist(), agents[place]))
    rows = [
        [
            show_id(agents[place]),
            *(f"{share:.1%}" for share in evaluation.shares[place].tolist()),
            f"{singles[agents[place]].accuracy:.3f}",
            _show_cost(singles[agents[place]].mean_cost_usd),
        ]
        for place in order
        if agents[place] in singles
    ]
    headers = ["agent", "calls", "oracle's calls", "alone: success", "alone: cost"]
    return show_heading("Who is called", markdown=markdown) + "\n" + show_table(headers, rows, markdown=markdown)


def _show_cost(cost: float) -> str:
    return _UNKNOWN if np.isnan(cost) else f"${cost:.4g}"


def _groups(noun: str, groups: Sequence[Group], *, markdown: bool) -> str:
    largest = sorted(groups, key=lambda group: (-group.queries, group.name or ""))[:_SHOWN_GROUPS]
    rows = [
        [
            show_id(group.name) if group.name is not None else _UNKNOWN,
            str(group.queries),
            show_interval(estimate(group.accuracy)),
            _UNKNOWN if np.isnan(group.expected) else f"{group.expected:.3f}",
            f"{group.best_single:.3f}",
            f"{group.oracle:.3f}",
            _show_cost(float(group.mean_cost_usd[0])),
            show_id(group.top_agent),
        ]
        for group in largest
    ]
    headers = [noun, "queries", "accuracy", "expected", "best single", "oracle", "cost", "most called"]
    rest = len(groups) - len(largest)
    note = f"\n\nand {rest} smaller ones" if rest else ""
    return show_heading(f"By {noun}", markdown=markdown) + "\n" + show_table(headers, rows, markdown=markdown) + note


def _budgets(evaluation: Evaluation, *, markdown: bool) -> str:
    rows = [
        [
            f"${point.budget_usd:.4g}",
            show_interval(estimate(point.spent_usd), "mean_cost_usd"),
            show_interval(estimate(point.accuracy)),
            f"{point.cost_weight:.4g}",
        ]
        for point in evaluation.budgets
    ]
    if not rows:
        return ""
    table = show_table(["budget", "spent", "accuracy", "lambda"], rows, markdown=markdown)
    return show_heading("Quality over budget, for all queries together", markdown=markdown) + "\n" + table


def _coverage(report: Report, *, markdown: bool) -> str:
    if not report.is_partial:
        return ""
    coverage = report.first.coverage
    rows = [
        ["queries with a verdict", f"{coverage.queries:,}"],
        ["with a verdict of every logged agent", f"{coverage.complete:,}"],
        ["whose choice among all agents was logged", f"{coverage.matched:.1%}"],
        ["whose choice was never logged in their task", f"{coverage.unsupported:.1%}"],
        ["IPS", show_interval(estimate(coverage.ips))],
        ["SNIPS", show_interval(estimate(coverage.snips))],
        ["doubly robust", show_interval(estimate(coverage.dr))],
    ]
    return show_heading("Partial log", markdown=markdown) + "\n" + show_table(["", ""], rows, markdown=markdown)


def list_notes(report: Report) -> Iterator[str]:
    """Yield what a reader must know of the log, in sentences."""
    log = report.log
    if report.counted_before:
        yield "the handbook has counted these traces as evidence: results flatter it, hold out other queries"
    if report.is_partial:
        yield "the log is partial: metrics choose among the agents that were logged for a query"
    if report.left_out:
        yield f"{report.left_out:,} queries with a verdict of one agent alone count in the partial log's estimates only"
    if log.no_verdict:
        yield f"{log.no_verdict:,} traces have no verdict and are left out"
    if log.duplicates:
        yield f"{log.duplicates:,} traces occur again and are counted once"
    if report.bad_lines:
        yield f"{report.bad_lines:,} lines could not be used"
    if log.unknown_agents:
        yield f"not in the handbook, left out: {show_ids(list(log.unknown_agents))}"
    if log.unknown_modes:
        yield f"modes that are not in the handbook, left out: {show_ids(list(log.unknown_modes))}"
    if log.absent_agents:
        yield f"in the handbook but not in the traces, never chosen here: {show_ids(log.absent_agents)}"


def _gates(report: Report, *, markdown: bool) -> str:
    lines = []
    for gate in report.gates:
        found = _UNKNOWN if gate.value is None else _show(gate.value, gate.metric)
        lines.append(f"{'passed' if gate.passed else 'FAILED'}: {gate.metric} is {found}, the bound {gate.bound:g}")
    other = report.comparison
    if other is not None:
        verdict = "FAILED: worse than" if other.worse else "passed: not worse than"
        lines.append(
            f"{verdict} {show_id(other.against)}: accuracy {show_interval(other.accuracy)}, "
            f"cost {show_interval(other.mean_cost_usd, 'mean_cost_usd')}, utility {show_interval(other.utility)}"
        )
    return show_list("Gates", lines, markdown=markdown)
