"""What ``explore`` does: load, plan, say what it will cost, call, log, and say what came of it."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import click

from skillctl.cli.query_sources import read_queries
from skillctl.core.profile.pricing import Budget, sum_known
from skillctl.core.run.exploring import AgentTally, ExploreQuery, is_error, render_tallies
from skillctl.errors import EXIT_NO, EXIT_OK, EXIT_OUTSIDE, InputError, UsageError
from skillctl.llm.agents import AgentCompleter
from skillctl.llm.dispatch import Limits
from skillctl.llm.exploration import (
    Call,
    Explorer,
    Outcome,
    add_known_prices,
    find_pending,
    mark_kept,
    plan_calls,
    refuse_unpriced,
)
from skillctl.llm.judging import CommandJudge, Judge, RuleJudge
from skillctl.llm.litellm_client import api_key
from skillctl.llm.programs import ProgramRunner
from skillctl.llm.reply_cache import CachingCompleter, ReplyCache
from skillctl.llm.retrying import RetryingCompleter
from skillctl.model.handbook import Agent, Handbook, ModeId
from skillctl.store.atomic import write_atomic
from skillctl.store.cache_dir import cache_root
from skillctl.store.handbook_dir import load_handbook
from skillctl.store.pool_file import load_pool
from skillctl.store.trace_log import TraceLog, peek_log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


DEFAULT_MODE = ModeId("answer")
_HEADERS = ("agent", "runs", "success", "no verdict", "errors", "calls", "cached", "cost USD")


@dataclass(frozen=True, slots=True)
class ExploreOptions:
    """The options of the command, parsed."""

    handbook: Path
    queries: str
    out: str
    agents: tuple[str, ...]
    mode: str | None
    limit: int | None
    plan: int | None
    scoring: str
    scoring_command: tuple[str, ...]
    concurrency: int
    agent_concurrency: int
    timeout: float
    retries: int
    retry_errors: bool
    max_cost: float | None
    seed: int
    dry_run: bool


class _Pool(NamedTuple):
    agents: list[Agent]
    mode: ModeId
    folder: Path
    handbook: Handbook


class _Plan(NamedTuple):
    planned: int
    pending: list[Call]
    old_errors: int


def run_explore(options: ExploreOptions, *, verbosity: int) -> int:
    """Run the command and return its exit code."""
    pool = _load_pool(options)
    queries, bad_lines = read_queries(options)
    if options.plan is not None:
        queries = _plan_queries(pool, queries, options.plan)
    calls = plan_calls(queries, pool.agents, mode=pool.mode, folder=pool.folder, timeout_s=options.timeout)
    cache = ReplyCache(cache_root() / "replies", write_atomic)
    say: Callable[[str], None] = _say if verbosity > 0 else lambda _text: None
    if options.dry_run:
        _say_plan(_make_plan(calls, peek_log(options.out), cache, options), _say)
        return EXIT_NO if bad_lines else EXIT_OK
    with TraceLog(options.out) as log, contextlib.redirect_stdout(sys.stderr):
        plan = _make_plan(calls, log.read(), cache, options)
        code = _run_plan(plan, log, cache, options, say=say, shows_progress=verbosity > 0)
    return code or (EXIT_NO if bad_lines else EXIT_OK)


def _say(text: str) -> None:
    click.echo(text, err=True)


# --- what is run ---


def _load_pool(options: ExploreOptions) -> _Pool:
    path = options.handbook
    handbook = load_pool(path) if path.is_file() else load_handbook(path)
    mode = _choose_mode(handbook, options)
    folder = path.parent if path.is_file() else path
    return _Pool(_choose_agents(handbook, mode, options), mode, folder, handbook)


def _choose_mode(handbook: Handbook, options: ExploreOptions) -> ModeId:
    if options.mode is None:
        return handbook.default_mode() if handbook.modes else DEFAULT_MODE
    if handbook.modes and options.mode not in handbook.modes:
        message = f"there is no mode {options.mode!r}"
        raise InputError(message, where=str(options.handbook), hint=f"it has {', '.join(handbook.modes)}")
    return ModeId(options.mode)


def _choose_agents(handbook: Handbook, mode: ModeId, options: ExploreOptions) -> list[Agent]:
    where = str(options.handbook)
    unknown = [name for name in options.agents if name not in handbook.agents]
    if unknown:
        message = f"there is no agent {unknown[0]!r}"
        raise InputError(message, where=where, hint=f"it has {', '.join(handbook.agents)}")
    named = [agent for agent in handbook.agents.values() if not options.agents or agent.id in options.agents]
    faults = {agent.id: _find_agent_fault(agent, mode) for agent in named}
    agents = [agent for agent in named if not faults[agent.id]]
    refused = [f"agent {name!r} {fault}" for name, fault in faults.items() if fault]
    if refused and (options.agents or not agents):
        raise InputError(refused[0], where=where, hint="mend its file, or choose others with --agent or --mode")
    if not agents:
        message = "there is no agent to run"
        raise InputError(message, where=where)
    for text in refused:
        _say(f"note: {text}; it is left out")
    return agents


def _find_agent_fault(agent: Agent, mode: ModeId) -> str | None:
    if not agent.model and not agent.command:
        return "has neither `model` nor `command`"
    if agent.modes and mode not in agent.modes:
        return f"does not work in mode {mode!r}"
    return None


def _plan_queries(pool: _Pool, queries: list[ExploreQuery], count: int) -> list[ExploreQuery]:
    from skillctl.cli.explore_plan import choose_queries

    if len(pool.agents) != 1:
        message = "--plan is about one agent"
        raise UsageError(message, hint="name it with --agent")
    return choose_queries(pool.handbook, pool.agents[0], pool.mode, queries, count)


# --- what it will cost ---


def _make_plan(calls: list[Call], logged: list[dict[str, object]], cache: ReplyCache, options: ExploreOptions) -> _Plan:
    pending = find_pending(calls, logged, retry_errors=options.retry_errors)
    old_errors = sum(map(is_error, logged))
    return _Plan(len(calls), mark_kept(pending, cache.__contains__), old_errors)


def _say_plan(plan: _Plan, say: Callable[[str], None]) -> None:
    kept = sum(call.is_kept for call in plan.pending)
    logged = plan.planned - len(plan.pending)
    say(
        f"{plan.planned} runs: {logged} logged already, {kept} answered from the cache, "
        f"{len(plan.pending) - kept} calls to make"
    )
    cost, unknown = sum_known(call.expected_usd() for call in plan.pending)
    note = f", and unknown for {unknown} calls" if unknown else ""
    say(f"expected cost: {cost:.6f} USD{note}")


# --- running ---


def _run_plan(
    plan: _Plan,
    log: TraceLog,
    cache: ReplyCache,
    options: ExploreOptions,
    *,
    say: Callable[[str], None],
    shows_progress: bool,
) -> int:
    runner = ProgramRunner()
    agents = AgentCompleter(runner)
    _require_keys(plan.pending)
    plan = plan._replace(pending=add_known_prices(plan.pending, agents.models.price))
    _say_plan(plan, say)
    if options.max_cost is not None:
        refuse_unpriced(plan.pending)
    budget = Budget(options.max_cost)
    limits = Limits(options.concurrency, options.agent_concurrency, in_order=budget.is_limited)
    completer = CachingCompleter(RetryingCompleter(agents, retries=options.retries, seed=options.seed), cache)
    explorer = Explorer(completer, _choose_judge(options, runner), budget=budget, limits=limits)
    tallies: dict[str, AgentTally] = {}
    try:
        for outcome in _with_progress(explorer.run(plan.pending), len(plan.pending), is_shown=shows_progress):
            log.append(outcome.trace)
            name = outcome.call.agent.id
            tally = tallies.setdefault(name, AgentTally(name))
            tally.count(outcome.trace, is_cached=outcome.is_cached)
    finally:
        runner.stop()
        _say_result(list(tallies.values()), budget, say)
    return _say_rest(plan, list(tallies.values()), options)


def _require_keys(calls: Sequence[Call]) -> None:
    """Ask for keys before the first call, and only for those of calls that are really made."""
    for call in {call.agent.id: call for call in calls if call.agent.model and not call.is_kept}.values():
        api_key(call.request)


def _choose_judge(options: ExploreOptions, runner: ProgramRunner) -> Judge:
    if options.scoring_command:
        return CommandJudge(options.scoring_command, runner, timeout_s=options.timeout)
    return RuleJudge()


def _with_progress(outcomes: Iterator[Outcome], total: int, *, is_shown: bool) -> Iterator[Outcome]:
    if not is_shown or not sys.stderr.isatty():
        return outcomes
    from tqdm import tqdm

    return iter(tqdm(outcomes, total=total, unit="run", file=sys.stderr, leave=False))


# --- what came of it ---


def _say_result(tallies: Sequence[AgentTally], budget: Budget, say: Callable[[str], None]) -> None:
    if not tallies:
        return
    from tabulate import tabulate

    say(tabulate(render_tallies(tallies), headers=_HEADERS, disable_numparse=True, stralign="left"))
    say(f"spent in this run: {budget.spent_usd:.6f} USD")


def _say_rest(plan: _Plan, tallies: Sequence[AgentTally], options: ExploreOptions) -> int:
    done = sum(tally.runs for tally in tallies)
    errors = sum(tally.errors for tally in tallies)
    remaining = len(plan.pending) - done
    if remaining:
        _say(f"stopped before --max-cost {options.max_cost:g} USD could be passed; {remaining} runs remain")
    if errors:
        _say(f"{errors} calls failed outside; they are logged as errors, and --retry-errors runs them again")
    elif plan.old_errors and not options.retry_errors:
        _say(f"the log holds {plan.old_errors} errors of earlier runs; --retry-errors runs them again")
    if errors:
        return EXIT_OUTSIDE
    return EXIT_NO if remaining else EXIT_OK
