"""An evaluation as JSON, in the shape of ``evaluation.schema.json``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from skillctl.core.evaluate.resampling import estimate
from skillctl.report.evaluation_facts import metrics_to_json, to_json, to_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillctl.core.evaluate.evaluation import Evaluation, Group
    from skillctl.core.evaluate.off_policy import Coverage
    from skillctl.report.evaluation_facts import Comparison, Report


def render_evaluation_json(report: Report) -> str:
    """Return the whole report; unknown numbers are null."""
    first = report.first
    log = report.log
    result: dict[str, Any] = {
        "handbook": report.handbook,
        "orchestrator": next(iter(report.evaluations)),
        "policy": report.policy,
        "lambda": report.cost_weight,
        "queries": len(first.yardsticks.board),
        "log": {
            "traces": log.traces,
            "duplicates": log.duplicates,
            "no_verdict": log.no_verdict,
            "bad_lines": report.bad_lines,
            "unknown_agents": dict(log.unknown_agents),
            "unknown_modes": dict(log.unknown_modes),
            "absent_agents": list(log.absent_agents),
            "left_out_queries": report.left_out,
            "counted_before": report.counted_before,
        },
        "training": {"source": report.training, "queries": report.trained_on},
        "metrics": metrics_to_json(first.samples),
        "baselines": {name: metrics_to_json(samples) for name, samples in first.baselines.items()},
        "shares": _shares(first),
        "per_task": _groups(first.tasks, "task"),
        "per_skill": _groups(first.skills, "skill"),
        "coverage": _coverage(first.coverage),
        "single_agents": [
            {
                "agent": single.agent,
                "queries": single.queries,
                "accuracy": to_number(single.accuracy),
                "mean_cost_usd": to_number(single.mean_cost_usd),
            }
            for single in first.yardsticks.singles
        ],
        "curve": _curve(first),
        "budgets": [
            {
                "budget_usd": to_number(point.budget_usd),
                "lambda": to_number(point.cost_weight),
                "accuracy": to_json(estimate(point.accuracy)),
                "spent_usd": to_json(estimate(point.spent_usd)),
            }
            for point in first.budgets
        ],
        "reliability": [
            {"decisions": int(count), "expected": to_number(expected), "success": to_number(success)}
            for count, expected, success in zip(*(part.tolist() for part in first.reliability), strict=True)
        ],
        "orchestrators": {
            name: {"metrics": metrics_to_json(other.samples), "shares": _shares(other)}
            for name, other in report.evaluations.items()
        },
        "gates": [gate._asdict() for gate in report.gates],
        "comparison": None if report.comparison is None else _comparison(report.comparison),
    }
    return json.dumps(result, ensure_ascii=False, indent=2, allow_nan=False)


def _shares(evaluation: Evaluation) -> dict[str, Any]:
    agents = evaluation.yardsticks.board.agents
    return {
        agent: {"share": to_number(share), "oracle_share": to_number(oracle)}
        for agent, (share, oracle) in zip(agents, evaluation.shares.tolist(), strict=True)
    }


def _groups(groups: Sequence[Group], noun: str) -> list[dict[str, Any]]:
    return [
        {
            noun: group.name,
            "queries": group.queries,
            "accuracy": to_json(estimate(group.accuracy)),
            "mean_cost_usd": to_json(estimate(group.mean_cost_usd)),
            "expected_success": to_number(group.expected),
            "best_single": to_number(group.best_single),
            "oracle": to_number(group.oracle),
            "top_agent": group.top_agent,
        }
        for group in groups
    ]


def _coverage(coverage: Coverage) -> dict[str, Any]:
    return {
        "queries": coverage.queries,
        "complete_queries": coverage.complete,
        "matched": to_number(coverage.matched),
        "unsupported": to_number(coverage.unsupported),
        "ips": to_json(estimate(coverage.ips)),
        "snips": to_json(estimate(coverage.snips)),
        "dr": to_json(estimate(coverage.dr)),
    }


def _curve(evaluation: Evaluation) -> list[dict[str, Any]]:
    curve = evaluation.curve
    columns = (curve.cost_weight.tolist(), curve.success.mean(axis=0).tolist(), curve.cost.mean(axis=0).tolist())
    return [
        {"lambda": to_number(weight), "accuracy": to_number(accuracy), "mean_cost_usd": to_number(cost)}
        for weight, accuracy, cost in zip(*columns, strict=True)
    ]


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "against": comparison.against,
        "accuracy": to_json(comparison.accuracy),
        "mean_cost_usd": to_json(comparison.mean_cost_usd),
        "utility": to_json(comparison.utility),
        "worse": comparison.worse,
    }
