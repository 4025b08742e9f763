"""An evaluation as one page without scripts or network, for light and dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from skillctl.core.evaluate.resampling import estimate
from skillctl.report.cells import show_id
from skillctl.report.evaluation_plots import (
    legend,
    plot_calibration,
    plot_competence,
    plot_curve,
    plot_shares,
    show_dollars,
)
from skillctl.report.evaluation_text import list_notes, show_interval

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillctl.report.evaluation_facts import Report

_STYLE = """
:root{color-scheme:light dark;--bg:#f7f8fa;--card:#fff;--ink:#1b2330;--dim:#5d6878;--line:#dde2ea;--main:#2563eb;
--soft:#2563eb22;--other:#94a3b8;--good:#0f9d6b;--bad:#c2410c;--warm:#d97706}
@media (prefers-color-scheme:dark){:root{--bg:#10141b;--card:#181e28;--ink:#e6eaf1;--dim:#9aa6b8;--line:#2b3442;
--main:#6ea8fe;--soft:#6ea8fe26;--other:#64748b;--good:#3ecf9a;--bad:#fb923c;--warm:#fbbf24}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1180px;margin:0 auto;padding:32px 20px 48px}h1{font-size:26px;margin:0 0 4px}
h2{font-size:17px;margin:0 0 2px}p{margin:0 0 12px}.dim,.legend{color:var(--dim);font-size:13.5px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(158px,1fr));gap:14px;margin:22px 0}
.tile,.card{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:16px 18px}
.tile b{display:block;font-size:27px;line-height:1.25;font-variant-numeric:tabular-nums}
.tile span{color:var(--dim);font-size:13px}
.grid2{display:grid;grid-template-columns:minmax(0,3fr) minmax(0,2fr);gap:16px}.card{margin:0 0 16px;overflow-x:auto}
@media (max-width:860px){.grid2{grid-template-columns:minmax(0,1fr)}}
svg{display:block;width:100%;height:auto;font:12px system-ui,"DejaVu Sans",sans-serif}svg text{fill:var(--ink)}
svg .tick,svg .title{fill:var(--dim)}svg .label{font-size:11.5px}svg .strong{font-weight:600;font-size:13px}
.grid{stroke:var(--line)}.axis{stroke:var(--dim)}polyline{fill:none}.curve{stroke:var(--main);stroke-width:2.5}
.curve-fill{fill:var(--soft)}.hull{stroke:var(--warm);stroke-width:2;stroke-dasharray:6 4}
.ideal{stroke:var(--other);stroke-dasharray:4 4}
circle.single{fill:var(--other)}circle.chosen{fill:var(--main)}circle.oracle{fill:var(--good)}
.bar.mine{fill:var(--main)}.bar.theirs{fill:var(--good);opacity:.55}.heat{fill:var(--main)}
.cell{font-size:11px}svg .on-dark{fill:#fff}@media (prefers-color-scheme:dark){svg .on-dark{fill:#0b1220}}
.legend span{margin-right:18px;white-space:nowrap}.key{display:inline-block;width:12px;height:12px;border-radius:3px;
margin-right:6px;vertical-align:-1px;background:var(--main)}.key.oracle,.key.theirs{background:var(--good)}
.key.single{background:var(--other)}.key.hull{background:var(--warm)}
table{border-collapse:collapse;width:100%;font-size:13.5px;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:6px 10px;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--dim);font-weight:600}th:first-child,td:first-child{text-align:left}tr.mine td{font-weight:600}
ul{margin:0;padding-left:20px}.ok{color:var(--good)}.no{color:var(--bad);font-weight:600}
"""
_TILES = (
    ("accuracy", "success of the chosen agents"),
    ("mean_cost_usd", "mean cost of a query"),
    ("headroom", "of the gap from best single agent to oracle"),
    ("cost_at_best_single_accuracy", "is enough for the best single agent's success"),
    ("effective_agents", "agents called, by entropy"),
    ("ece", "error of the expected success"),
)
_COLUMNS = ("accuracy", "mean_cost_usd", "headroom", "aiq", "cost_at_best_single_accuracy", "regret", "apgr")


def render_page(report: Report) -> str:
    """Return the page."""
    name = escape(show_id(report.handbook))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Evaluation of {name}</title><style>{_STYLE}</style></head><body><main>"
        f"<h1>{name}</h1>{_about(report)}{_tiles(report)}{''.join(_cards(report))}</main></body></html>\n"
    )


def _about(report: Report) -> str:
    count = len(report.first.yardsticks.board)
    agents = len(report.first.yardsticks.singles)
    names = escape(", ".join(map(show_id, report.evaluations)))
    return (
        f'<p class="dim">Replay of {count:,} queries with logged outcomes of {agents} agents · policy '
        f"{report.policy}, λ = {report.cost_weight:g} · orchestrator {names}</p>"
    )


def _tiles(report: Report) -> str:
    parts = []
    for metric, words in _TILES:
        found = estimate(report.first.samples[metric])
        if found is None:
            continue
        head, _, rest = show_interval(found, metric).partition(" ")
        parts.append(f'<div class="tile"><b>{escape(head)}</b><span>{words}<br>95 % {escape(rest)}</span></div>')
    return f'<div class="tiles">{"".join(parts)}</div>'


def _cards(report: Report) -> Iterator[str]:
    first = report.first
    curve = plot_curve(first)
    calibration = _card("Calibration", "Do expected chances come true? Dots are bins, larger with more decisions.",
                        plot_calibration(first))  # fmt: skip
    shares = _card(
        "Who is called",
        "Each agent's share of the calls, beside what the best choice in hindsight would call.",
        legend({"mine": "handbook", "theirs": "oracle"}) + plot_shares(first, 640 if curve is None else 1100),
    )
    if curve is None:
        yield f'<div class="grid2">{shares}{calibration}</div>'
    else:
        keys = {
            "curve": "handbook, by lambda",
            "hull": "mixtures of single agents",
            "single": "agents",
            "oracle": "oracle",
        }
        card = _card("Quality over cost", _cost_sentence(report), legend(keys) + curve)
        yield f'<div class="grid2">{card}{calibration}</div>'
        yield shares
    yield _card("Competence", "Posterior mean of success; paler with less evidence.", _competence(report))
    yield _card("Beside the baselines", f"Learned from {escape(report.training)}.", _baselines(report))
    if any(group.name is not None for group in first.tasks):
        yield _card("By task", "", _tasks(report))
    notes = "".join(f"<li>{escape(note)}</li>" for note in list_notes(report))
    if notes:
        yield _card("Notes", "", f"<ul>{notes}</ul>")


def _card(title: str, about: str, content: str) -> str:
    words = f'<p class="dim">{about}</p>' if about else ""
    return f'<section class="card"><h2>{title}</h2>{words}{content}</section>'


def _cost_sentence(report: Report) -> str:
    samples = report.first.samples
    found = estimate(samples["cost_at_best_single_accuracy"])
    best = float(report.first.yardsticks.best.cost.mean())
    if found is None or not best > 0:
        return "Success at any mean cost."
    return (
        f"The best single agent's success costs {show_dollars(found.value)} a query here, "
        f"{found.value / best:.0%} of the {show_dollars(best)} that it costs alone."
    )


def _competence(report: Report) -> str:
    """Draw the competence of the busiest agents in the skills that most queries need."""
    first = report.first
    board = first.yardsticks.board
    busy = np.argsort(-first.shares.sum(axis=1), kind="stable")
    columns = [int(column) for column in busy if board.is_known[:, column].any()]
    groups = sorted(first.skills, key=lambda group: (-group.queries, group.name or ""))
    names = [group.name or "" for group in groups]
    means, evidence = report.competence(names, [board.agents[column] for column in columns])
    return plot_competence(names, [board.agents[column] for column in columns], means, evidence)


def _baselines(report: Report) -> str:
    first = report.first
    scored = {"handbook": first.samples, **first.baselines}
    found = {name: [estimate(samples[column]) for column in _COLUMNS] for name, samples in scored.items()}
    found = {name: values for name, values in found.items() if any(values)}
    used = [k for k in range(len(_COLUMNS)) if any(values[k] is not None for values in found.values())]
    head = "".join(f"<th>{_COLUMNS[k].replace('_', ' ')}</th>" for k in used)
    rows = "".join(
        f"<tr{' class=mine' if name == 'handbook' else ''}><td>{name.replace('_', ' ')}</td>"
        + "".join(f"<td>{escape(show_interval(values[k], _COLUMNS[k]))}</td>" for k in used)
        + "</tr>"
        for name, values in found.items()
    )
    return f"<table><tr><th>policy</th>{head}</tr>{rows}</table>"


def _tasks(report: Report) -> str:
    rows = "".join(
        f"<tr><td>{escape(show_id(group.name or '-'))}</td><td>{group.queries}</td>"
        f"<td>{escape(show_interval(estimate(group.accuracy)))}</td><td>{group.best_single:.3f}</td>"
        f"<td>{group.oracle:.3f}</td><td>{escape(show_id(group.top_agent))}</td></tr>"
        for group in sorted(report.first.tasks, key=lambda group: (-group.queries, group.name or ""))
    )
    head = "<th>task</th><th>queries</th><th>success</th><th>best single</th><th>oracle</th><th>most called</th>"
    return f"<table><tr>{head}</tr>{rows}</table>"
