"""``skillctl route``: choose an agent for each query or state."""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

import click

from skillctl.cli.llm_options import llm_options
from skillctl.errors import EXIT_NO, InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from skillctl.cli.language_models import LanguageModels
    from skillctl.cli.llm_options import LlmOptions
    from skillctl.cli.route_blocks import BlockResult
    from skillctl.core.orchestrate.orchestration import Orchestrator
    from skillctl.core.route.batch_routing import RouteOptions
    from skillctl.core.route.cascade import JointOutcomes
    from skillctl.core.route.routing import Policy
    from skillctl.core.route.routing_table import RoutingTable
    from skillctl.model.problem import Problem
    from skillctl.report.decisions import Totals

_STDIO = "-"
_SHOWN_SKILLS = 5
_EMBEDDED = "embedded"


@click.command("route")
@click.argument("handbook", type=click.Path(path_type=Path))
@click.option("--in", "input_path", default=_STDIO, metavar="FILE", help="Queries or states, JSONL; - is stdin.")
@click.option("--out", "output_path", default=_STDIO, metavar="FILE", help="Decisions, JSONL; - is stdout.")
@click.option("--mode", help="Mode of lines that name none, instead of the handbook's default.")
@click.option(
    "--orchestrator",
    default="embedded",
    show_default=True,
    metavar="NAME",
    help="Who names the skills: embedded, or a language model as litellm names it, or an agent that has one.",
)
@llm_options
@click.option("--lambda", "cost_weight", type=click.FloatRange(min=0), help="Success that a US dollar is worth.")
@click.option("--budget", type=click.FloatRange(min=0), help="Spend at most so many US dollars on all lines together.")
@click.option(
    "--policy",
    type=click.Choice(["greedy", "thompson", "ucb", "cascade"]),
    default="greedy",
    show_default=True,
    help="cascade: the fall-backs are whom to ask next after a verified failure, and when to stop.",
)
@click.option(
    "--traces",
    "trace_paths",
    multiple=True,
    metavar="FILE",
    help="For --policy cascade: which agents fail on the same queries; repeatable.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of --policy thompson.")
@click.option("--explain", is_flag=True, help="Say how every agent was scored.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes; the output is the same."
)
@click.pass_context
def route_command(
    ctx: click.Context,
    *,
    handbook: Path,
    input_path: str,
    output_path: str,
    mode: str | None,
    orchestrator: str,
    model_options: LlmOptions,
    cost_weight: float | None,
    budget: float | None,
    policy: Policy | Literal["cascade"],
    trace_paths: tuple[str, ...],
    seed: int,
    explain: bool,
    jobs: int,
) -> None:
    """Choose an agent for each query or state, by expected success minus lambda times expected cost.

    Each input line gives one output line with the same id, in the same order; one that cannot be routed gives an
    error in its place, and the exit code is 1. A line's own "lambda" goes before --lambda, but not before --budget.

    \b
    Example:
      skillctl route handbooks/demo --in queries.jsonl --out decisions.jsonl --lambda 20
      echo '{"id": 1, "query": "Solve 3x + 5 = 20."}' | skillctl route handbooks/demo --explain
    """
    if budget is not None and cost_weight is not None:
        message = "--budget finds the lambda; give only one of --budget and --lambda"
        raise UsageError(message)
    if (policy == "cascade") != bool(trace_paths):
        message = "--policy cascade and --traces belong together"
        raise UsageError(message, hint="the traces say which agents fail on the same queries")
    if policy == "cascade" and budget is not None:
        message = "--budget is for one agent a query, and a cascade may ask several"
        raise UsageError(message, hint="bound a cascade with --lambda")
    # One thread a process: products here are small, and threads would only compete with --jobs.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from skillctl.core.route.batch_routing import RouteOptions

    one = "greedy" if policy == "cascade" else policy
    options = RouteOptions(mode=mode, cost_weight=cost_weight, policy=one, seed=seed)
    run = _open_run(handbook, options, explain=explain, jobs=jobs, verbosity=ctx.obj["verbosity"])
    if orchestrator != _EMBEDDED:
        run = run.with_language_model(handbook, orchestrator, model_options)
    if trace_paths:
        run = run.with_cascades(trace_paths)
    with _repeatable(input_path) if budget is not None else nullcontext(input_path) as source:
        if budget is not None:
            run = run.within_budget(source, budget)
        summary = run.write(source, output_path)
    run.say_summary(summary)
    if summary.failed or summary.problems:
        ctx.exit(EXIT_NO)


@dataclass(slots=True)
class _Summary:
    lines: int = 0
    failed: int = 0
    problems: int = 0
    totals: Totals | None = None
    unknown_skills: Counter[str] | None = None

    def add(self, result: BlockResult) -> None:
        self.lines += result.lines
        self.failed += result.failed
        self.unknown_skills = (self.unknown_skills or Counter()) + result.unknown_skills
        for totals in result.totals:
            self.totals = totals if self.totals is None else totals._replace(sums=self.totals.sums + totals.sums)


@dataclass(frozen=True, slots=True)
class _Run:
    table: RoutingTable
    open_orchestrator: Callable[[str], Orchestrator]
    options: RouteOptions
    explain: bool
    jobs: int
    verbosity: int
    joint: Mapping[str, JointOutcomes] | None = None
    models: LanguageModels | None = None

    def with_language_model(self, root: Path, name: str, options: LlmOptions) -> _Run:
        """Let a language model name the skills: in one process, which asks about several states at once."""
        from skillctl.cli.named_orchestrators import open_for_routing

        models, opened = open_for_routing(root, self.table, name, options, is_quiet=self.verbosity < 1)
        return replace(self, open_orchestrator=opened, jobs=1, models=models)

    def with_cascades(self, paths: Sequence[str]) -> _Run:
        from skillctl.cli.replay_logs import read_log
        from skillctl.core.route.cascade_routing import learn_joint

        log = read_log(paths, success_at=0.5, is_quiet=self.verbosity < 1)
        return replace(self, joint=learn_joint(log.traces, self.table, self.open_orchestrator))

    def within_budget(self, source: str, budget: float) -> _Run:
        from skillctl.core.route.budget import find_cost_weight

        surveying = replace(self, options=replace(self.options, budget_weight=0.0))
        parts = [part for result in surveying.route(source, _Summary(), surveys=True) for part in result.upgrades]
        cost_weight = find_cost_weight(parts, budget)
        if cost_weight is None:
            least = sum(part.cheapest for part in parts)
            message = f"even the cheapest choice costs ${least:.6g}, more than the budget of ${budget:.6g}"
            raise InputError(message, hint="raise --budget or route fewer lines")
        self.say(f"budget: lambda is {cost_weight:.6g}")
        return replace(self, options=replace(self.options, budget_weight=cost_weight))

    def write(self, source: str, output_path: str) -> _Summary:
        summary = _Summary()
        with _open_output(output_path) as output:
            for result in self.route(source, summary):
                output.write(result.data)
                summary.add(result)
        return summary

    def route(self, source: str, summary: _Summary, *, surveys: bool = False) -> Iterator[BlockResult]:
        from skillctl.cli.route_blocks import BlockRouter, read_blocks, run_blocks
        from skillctl.core.route.batch_routing import Router

        def note(problem: Problem) -> None:
            summary.problems += 1
            click.echo(str(problem), err=True)

        choose = Router(self.table, self.open_orchestrator, self.options)
        if self.joint is not None:
            from skillctl.core.route.cascade_routing import CascadeRouter

            choose = CascadeRouter(self.table, self.open_orchestrator, self.options, self.joint)
        router = BlockRouter(choose, self.explain, surveys)
        return _show_progress(run_blocks(read_blocks(source, note), router, self.jobs), self.verbosity)

    def say(self, text: str) -> None:
        if self.verbosity > 0:
            click.echo(text, err=True)

    def say_summary(self, summary: _Summary) -> None:
        from skillctl.report.decisions import render_totals

        if self.models is not None:
            self.models.say_result()
        if summary.unknown_skills:
            names = ", ".join(sorted(summary.unknown_skills)[:_SHOWN_SKILLS])
            count = summary.unknown_skills.total()
            self.say(f"warning: {count} weights name skills that the handbook does not have: {names}")
        if summary.totals is not None:
            self.say(render_totals(summary.totals, [agent.id for agent in self.table.agents]))
        if summary.failed:
            self.say(f"{summary.failed} of {summary.lines} lines could not be routed; see their error")


def _open_run(root: Path, options: RouteOptions, *, explain: bool, jobs: int, verbosity: int) -> _Run:
    from skillctl.store.routing_cache import open_routing_table

    table = open_routing_table(root)
    if options.mode is not None and options.mode not in table.modes:
        message = f"the handbook has no mode {options.mode!r}"
        raise UsageError(message, hint=f"it has {', '.join(sorted(table.modes)) or 'none'}")
    return _Run(table, partial(_open_orchestrator, root, table), options, explain, jobs, verbosity)


def _open_orchestrator(root: Path, table: RoutingTable, mode: str) -> Orchestrator:
    """Open the orchestrator with the skills that were selected for it, with all without a selection."""
    inner = _open_embedded(root, table, mode)
    if not (root / "selections").is_dir():
        return inner
    from skillctl.store.handbook_dir import load_handbook
    from skillctl.store.selections import apply_selection

    key = table.modes[mode].index_key
    return apply_selection(root, "embedded", key, mode, inner=inner, load=lambda: load_handbook(root))


def _open_embedded(root: Path, table: RoutingTable, mode: str) -> Orchestrator:
    """Open the orchestrator from the cache, or from the handbook where the cache has lost it."""
    from skillctl.store.orchestrators import open_cached_orchestrator, open_orchestrator

    cached = open_cached_orchestrator(table.modes[mode].index_key, table.orchestrator)
    if cached is not None:
        return cached
    from skillctl.model.handbook import ModeId
    from skillctl.store.handbook_dir import load_handbook

    return open_orchestrator(load_handbook(root), ModeId(mode))


@contextmanager
def _open_output(path: str) -> Iterator[BinaryIO]:
    if path == _STDIO:
        stdout = sys.stdout.buffer
        yield stdout
        stdout.flush()
        return
    from skillctl.store.output_file import open_output

    with open_output(Path(path)) as file:
        yield file


@contextmanager
def _repeatable(path: str) -> Iterator[str]:
    """Give the path of a file with the same content that can be read twice."""
    if path != _STDIO:
        yield path
        return
    import shutil
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="skillctl-", suffix=".jsonl") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        yield copy.name


def _show_progress(results: Iterable[BlockResult], verbosity: int) -> Iterator[BlockResult]:
    if verbosity < 1 or not sys.stderr.isatty():
        yield from results
        return
    from tqdm import tqdm

    with tqdm(unit=" lines", file=sys.stderr, leave=False) as bar:
        for result in results:
            bar.update(result.lines)
            yield result
