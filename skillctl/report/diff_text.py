"""A comparison of two handbooks for people: a terminal, or a comment on a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillctl.core.diff.competence_changes import CompetenceChange
from skillctl.report.cells import show_count, show_id, show_table, show_text, show_usd
from skillctl.report.change_sentences import Style, escape_markdown, say_finding, say_probability
from skillctl.report.problems import count_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillctl.core.diff.change_effect import Effect, RealDifference, Traffic
    from skillctl.core.diff.handbook_comparison import Comparison

_SHOWN = 8  # findings of a comment; the others are folded
_FOLDED = 100
_BELIEFS_SHOWN = 60  # a comment holds 65,536 characters
_FLOWS_SHOWN = 8
_SHARES_SHOWN = 5
_LEAST_SHARE = 0.005
_NOBODY = "nobody"


def render_diff(comparison: Comparison, effect: Effect | None, *, labels: tuple[str, str]) -> str:
    """Return a comparison for a terminal; nothing for equal handbooks.

    Args:
        comparison: What changed.
        effect: What it does to traffic.
        labels: What was compared.
    """
    if comparison.is_empty:
        return ""
    parts = [f"{show_id(labels[0])} → {show_id(labels[1])}"]
    evidence = say_evidence(comparison)
    parts += [evidence] if evidence else []
    parts += [findings.rstrip("\n")] if (findings := render_findings(comparison)) else []
    if effect is not None:
        parts.append(_render_effect(effect, markdown=False))
    return "\n\n".join(parts) + "\n"


def render_findings(comparison: Comparison) -> str:
    """Return one line for each finding, and one for all noise."""
    style = Style(markdown=False)
    lines = [say_finding(finding, style) for finding in comparison.findings]
    lines += [say_noise(comparison)] if comparison.noise else []
    return "".join(f"- {line}\n" for line in lines)


def render_diff_markdown(comparison: Comparison, effect: Effect | None, *, labels: tuple[str, str], name: str) -> str:
    """Return a comparison as a comment on a pull request: short first, details folded; nothing for equal handbooks."""
    if comparison.is_empty:
        return ""
    style = Style(markdown=True)
    sentences = [say_finding(finding, style) for finding in comparison.findings]
    parts = [f"### Handbook {Style(markdown=True).name(name)}: {_headline(comparison, effect)}"]
    shown = sentences[:_SHOWN]
    if len(sentences) > _SHOWN:
        shown.append(f"and {len(sentences) - _SHOWN} smaller changes, below")
    if comparison.noise:
        shown.append(say_noise(comparison))
    parts += ["\n".join(f"- {line}" for line in shown)] if shown else []
    if effect is not None:
        parts.append(_effect_table(effect, markdown=True))
        parts += [say_real(effect.real)] if effect.real else []
        parts += list(_fold("Which queries move", _render_flows(effect, markdown=True)))
    if len(sentences) > _SHOWN:
        parts += list(_fold("All changes", "\n".join(f"- {line}" for line in sentences[:_FOLDED])))
    parts += list(_fold("Numbers of all agents and skills that moved", _beliefs(comparison)))
    parts += list(_fold("Evidence and how to read this", _reading(comparison, labels)))
    return "\n\n".join(parts) + "\n"


def _headline(comparison: Comparison, effect: Effect | None) -> str:
    number = len(comparison.findings)
    said = f"{number} changes that matter" if number > 1 else "1 change that matters" if number else "only noise"
    if effect is None or not effect.queries:
        return said
    moved = (
        f"{effect.moved} of {effect.queries} queries ({100 * effect.moved / effect.queries:.0f} %) go to another agent"
    )
    return f"{said}, {moved if effect.moved else 'no query goes to another agent'}"


def say_evidence(comparison: Comparison) -> str:
    """Return what the ledger counted anew, or nothing."""
    said = []
    if comparison.counted:
        traces = sum(source.traces for source in comparison.counted)
        names = ", ".join(dict.fromkeys(show_id(source.name) for source in comparison.counted))
        said.append(f"evidence: {count_of(traces, 'trace')} of {names}")
    grown = {source.name for source in comparison.counted}
    gone = [source for source in comparison.uncounted if source.name not in grown]
    if gone:
        said.append(f"no more counted: {', '.join(show_id(source.name) for source in gone)}")
    return "; ".join(said)


def say_noise(comparison: Comparison) -> str:
    """Return the folded line of moves that may be chance."""
    beliefs = [finding for finding in comparison.noise if isinstance(finding, CompetenceChange)]
    costs = len(comparison.noise) - len(beliefs)
    largest = max((abs(finding.move) for finding in beliefs), default=0.0)
    parts = [f"{count_of(len(beliefs), 'competence')} moved by at most {100 * largest:.1f} points"] if beliefs else []
    parts += [f"{count_of(costs, 'cost')} moved"] if costs else []
    return f"within noise: {', '.join(parts)}"


def _render_effect(effect: Effect, *, markdown: bool) -> str:
    parts = [_effect_table(effect, markdown=markdown)]
    parts += [say_real(effect.real)] if effect.real else []
    parts += [_render_flows(effect, markdown=markdown)] if effect.flows else []
    return "\n\n".join(parts)


def _effect_table(effect: Effect, *, markdown: bool) -> str:
    before, after = effect.before, effect.after
    rows = [
        ["expected success", _share(before.success), _share(after.success), _points(before.success, after.success)],
        [
            "expected cost a query",
            show_usd(before.cost_usd),
            show_usd(after.cost_usd),
            _ratio(before.cost_usd, after.cost_usd),
        ],
        ["traffic", _shares(before, markdown=markdown), _shares(after, markdown=markdown), ""],
        ["agents in use (effective number)", f"{before.effective_agents:.2f}", f"{after.effective_agents:.2f}", ""],
    ]
    if before.unrouted or after.unrouted:
        rows.append(["queries without an agent", str(before.unrouted), str(after.unrouted), ""])
    title = "effect on 1 query" if effect.queries == 1 else f"effect on {effect.queries} queries"
    return show_table([title, "before", "after", "change"], rows, markdown=markdown)


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{100 * value:.1f} %"


def _points(before: float | None, after: float | None) -> str:
    return "" if before is None or after is None else f"{100 * (after - before):+.1f} points"


def _ratio(before: float | None, after: float | None) -> str:
    return "" if not before or after is None else f"{100 * (after / before - 1):+.0f} %"


def _shares(traffic: Traffic, *, markdown: bool) -> str:
    items = list(traffic.shares.items())
    named = [f"{_name(agent, markdown=markdown)} {_round_share(share)}" for agent, share in items[:_SHARES_SHOWN]]
    if len(items) > _SHARES_SHOWN:
        rest = sum(share for _, share in items[_SHARES_SHOWN:])
        named.append(f"{len(items) - _SHARES_SHOWN} others {_round_share(rest)}")
    return ", ".join(named) or _NOBODY


def _round_share(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= _LEAST_SHARE else "under 1 %"


def _name(agent: str | None, *, markdown: bool) -> str:
    return _NOBODY if agent is None else Style(markdown=markdown).name(agent)


def say_real(real: RealDifference) -> str:
    """Return what logged outcomes say of the change."""
    value, low, high = (100 * number for number in real.difference)
    verdict = "an improvement" if low > 0 else "a loss" if high < 0 else "no difference that is sure"
    said = (
        f"By logged outcomes of {real.queries} queries, success goes from {100 * real.before:.1f} % to "
        f"{100 * real.after:.1f} %: {value:+.1f} points (95 % interval {low:+.1f} to {high:+.1f}), {verdict}."
    )
    if real.cost_difference is None:
        return said
    cost = real.cost_difference
    return f"{said} A query costs {cost.value:+.3g} dollars (95 % interval {cost.low:+.3g} to {cost.high:+.3g})."


def _render_flows(effect: Effect, *, markdown: bool) -> str:
    rows = [
        [str(flow.queries), _name(flow.source, markdown=markdown), _name(flow.target, markdown=markdown),
         _example(flow.examples[0], markdown=markdown)]
        for flow in effect.flows[:_FLOWS_SHOWN]
    ]  # fmt: skip
    if not rows:
        return ""
    table = show_table(["queries", "from", "to", "for example"], rows, markdown=markdown)
    hidden = effect.flows[_FLOWS_SHOWN:]
    if not hidden:
        return table
    return f"{table}\n\n{sum(flow.queries for flow in hidden)} more queries move between other agents."


def _example(example: tuple[object, str], *, markdown: bool) -> str:
    text = show_text(example[1], 70)
    return escape_markdown(text) if markdown else text


def _beliefs(comparison: Comparison) -> str:
    beliefs = list(_all_beliefs(comparison))
    rows = [_belief_row(finding) for finding in beliefs[:_BELIEFS_SHOWN]]
    headers = ["skill", "agent", "before", "after", "90 % interval", "new outcomes", "sure"]
    table = show_table(headers, rows, markdown=True) if rows else ""
    hidden = len(beliefs) - len(rows)
    return f"{table}\n\n{hidden} more moved less; `skillctl diff -o json` lists all." if hidden else table


def _all_beliefs(comparison: Comparison) -> Iterator[CompetenceChange]:
    both: Sequence[object] = (*comparison.findings, *comparison.noise)
    return (finding for finding in both if isinstance(finding, CompetenceChange))


def _belief_row(finding: CompetenceChange) -> list[str]:
    style = Style(markdown=True)
    return [
        style.name(finding.skill),
        style.name(finding.agent),
        f"{finding.before.mean:.3f}",
        f"{finding.after.mean:.3f}",
        f"{finding.after.low:.2f} to {finding.after.high:.2f}",
        show_count(finding.new_evidence),
        say_probability(finding.probability),
    ]


def _reading(comparison: Comparison, labels: tuple[str, str]) -> str:
    style = Style(markdown=True)
    lines = [f"Compared: {style.name(labels[0])} → {style.name(labels[1])}."]
    evidence = say_evidence(comparison)
    lines += [f"{escape_markdown(evidence[0].upper() + evidence[1:])}."] if evidence else []
    lines.append(
        "Expected success is the mean of what the handbook believes (a Beta posterior) with the 90 % interval of that "
        "belief. A move counts as more than chance from a probability of 95 %; the others are folded as noise. Both "
        "columns of the effect table are judged by the newer handbook."
    )
    return "\n\n".join(lines)


def _fold(title: str, body: str) -> Iterator[str]:
    if body:
        yield f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"
