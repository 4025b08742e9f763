"""What ``run`` does: load, plan, converse, log, and say what came of it."""

from __future__ import annotations

import contextlib
import os
import sys
from hashlib import blake2b
from typing import TYPE_CHECKING, cast

import click
import orjson

from skillctl.cli.named_orchestrators import EMBEDDED
from skillctl.cli.query_sources import read_queries
from skillctl.cli.run_orchestrator import open_run_orchestrator
from skillctl.cli.run_parts import (
    RunOptions,
    Setting,
    make_chooser,
    make_completer,
    open_sandboxes,
    open_searchers,
)
from skillctl.core.profile.pricing import Budget
from skillctl.core.route.batch_routing import RouteOptions, Router
from skillctl.core.route.routing_table import compile_table, expect_cost
from skillctl.core.run.exploring import is_error
from skillctl.core.run.loop import Loop
from skillctl.core.run.run_summary import RunSummary
from skillctl.core.run.run_trace import name_run
from skillctl.core.run.transitions import LoopPolicy, RouterChooser, read_modes
from skillctl.errors import EXIT_NO, EXIT_OK, EXIT_OUTSIDE, InputError
from skillctl.llm.acting import ModeActor, Tools
from skillctl.llm.conversing import Conversations, DryActor, Job, Result
from skillctl.llm.judging import CommandChecker, CommandJudge, Judge, RuleJudge
from skillctl.llm.programs import ProgramRunner
from skillctl.model.problem import Problem
from skillctl.store.handbook_dir import handbook_files, load_handbook
from skillctl.store.orchestrators import index_key, open_orchestrator
from skillctl.store.selections import apply_selection
from skillctl.store.trace_log import TraceLog, peek_log

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from skillctl.core.orchestrate.orchestration import Orchestrator
    from skillctl.core.route.routing import Policy
    from skillctl.core.run.exploring import ExploreQuery
    from skillctl.core.run.loop import Actor, Chooser
    from skillctl.core.run.state_weighing import StateWeigher


def run_batch(options: RunOptions, *, verbosity: int) -> int:
    """Run the command and return its exit code."""
    setting = _load(options, is_quiet=verbosity < 1 and not options.dry_run)
    queries, bad_lines = read_queries(options)
    say: Callable[[str], None] = _say if verbosity > 0 else lambda _text: None
    if options.dry_run:
        jobs = find_jobs(queries, peek_log(options.out), setting.digest, retry_errors=options.retry_errors)
        unroutable = _say_plan(setting, queries, jobs, options, _say)
        _say_unroutable(unroutable, setting, options)
        return EXIT_NO if bad_lines or unroutable else EXIT_OK
    # Standard output is for traces: what libraries print goes to standard error.
    with TraceLog(options.out) as log, contextlib.redirect_stdout(sys.stderr):
        jobs = find_jobs(queries, log.read(), setting.digest, retry_errors=options.retry_errors)
        _say_plan(setting, queries, jobs, options, say)
        code = _converse(setting, jobs, log, options, say=say)
    return code or (EXIT_NO if bad_lines else EXIT_OK)


def _say(text: str) -> None:
    click.echo(text, err=True)


# --- what is run ---


def _load(options: RunOptions, *, is_quiet: bool) -> Setting:
    # One thread a process: products here are small, and threads would only compete with the conversations.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    handbook = load_handbook(options.handbook)
    _refuse_unknown("agent", options.agents, handbook.agents, options)
    _refuse_unknown("mode", (*options.modes, *options.path), handbook.modes, options)
    _refuse_unknown("agent", [options.mode_chooser] if options.mode_chooser else [], handbook.agents, options)
    _refuse_unknown("mode", [mode for mode, _ in options.fixed], handbook.modes, options)
    _refuse_unknown("agent", [agent for _, agent in options.fixed], handbook.agents, options)
    modes = read_modes(handbook, options.path or options.modes)
    if not any(mode.ends for mode in modes.values()):
        message = "no mode gives an answer"
        raise InputError(
            message, where=str(options.handbook), hint="name one with --mode, or set `is_final: true` in one"
        )
    table = compile_table(handbook, {mode: index_key(handbook.skills.get(mode, ())) for mode in handbook.modes})
    explores = options.policy in {"thompson", "ucb"}
    policy = cast("Policy", options.policy) if explores else "greedy"
    route = RouteOptions(cost_weight=options.cost_weight, policy=policy, seed=options.seed)
    by_name = {str(mode): mode for mode in handbook.modes}

    def open_one(mode: str) -> Orchestrator:
        """Open the orchestrator with the skills that were selected for it, as route does."""
        inner, key = open_orchestrator(handbook, by_name[mode]), table.modes[mode].index_key
        return apply_selection(options.handbook, "embedded", key, mode, inner=inner, load=lambda: handbook)

    router = Router(table, open_one, route)
    budget = Budget(options.max_cost)
    orchestrator = open_run_orchestrator(options, handbook, table, budget=budget, is_quiet=is_quiet)

    def open_chooser(weigher: StateWeigher | None) -> RouterChooser:
        return RouterChooser(
            router,
            modes,
            policy="handbook" if explores else cast("LoopPolicy", options.policy),
            agents=options.agents,
            fixed=dict(options.fixed),
            path=options.path,
            seed=options.seed,
            weigher=weigher,
        )

    return Setting(handbook, modes, open_chooser, _digest(options), budget, orchestrator)


def _refuse_unknown(what: str, names: Sequence[str], known: Collection[str], options: RunOptions) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        message = f"there is no {what} {unknown[0]!r}"
        raise InputError(message, where=str(options.handbook), hint=f"it has {', '.join(known)}")


def _digest(options: RunOptions) -> str:
    """Return a digest of everything that a conversation depends on: with another handbook it is another run."""
    files = [(str(path.relative_to(options.handbook)), path.read_bytes()) for path in handbook_files(options.handbook)]
    content = blake2b(digest_size=16)
    for name, data in files:
        content.update(f"{name}\0{len(data)}\0".encode() + data)
    rest = [
        sorted(options.agents),
        sorted(options.modes),
        list(options.path),
        sorted(options.fixed),
        options.policy,
        options.mode_chooser,
        options.cost_weight,
        options.max_turns,
        options.max_query_cost,
        list(options.checker),
        options.seed if options.policy in {"random", "thompson"} else 0,
    ]
    if options.orchestrator != EMBEDDED:
        rest += [options.orchestrator, options.api_base]
    content.update(orjson.dumps(rest))
    return content.hexdigest()


def find_jobs(
    queries: Sequence[ExploreQuery], logged: Sequence[Mapping[str, object]], setting: str, *, retry_errors: bool
) -> list[Job]:
    """Return the queries whose traces are not in the log yet; with ``retry_errors``, also those that ended in one."""
    errors = {str(trace.get("trace_id")): is_error(trace) for trace in logged}
    jobs = []
    for query in queries:
        attempt, trace_id = 0, name_run(query, setting)
        while retry_errors and errors.get(trace_id):
            attempt += 1
            trace_id = name_run(query, setting, attempt)
        if trace_id not in errors:
            jobs.append(Job(query, trace_id))
    return jobs


def _say_plan(
    setting: Setting,
    queries: Sequence[ExploreQuery],
    jobs: Sequence[Job],
    options: RunOptions,
    say: Callable[[str], None],
) -> list[Result]:
    """Say what the run will probably take, and return the conversations that nobody can have."""
    agents = {str(name): agent for name, agent in setting.handbook.agents.items()}
    modes = {str(mode): mode for mode in setting.handbook.modes}
    actor = DryActor(setting.modes, lambda agent, mode: expect_cost(agents[agent], modes[mode]))
    weigher, announce = setting.orchestrator.plan() if setting.orchestrator else (None, None)
    loop = _make_loop(setting.open_chooser(weigher), actor, None, options)
    conversations = Conversations(loop, RuleJudge(), concurrency=1)
    summary, unroutable = RunSummary(), []
    for result in conversations.run(jobs):
        if result.trace is None:
            unroutable.append(result)
        else:
            summary.count(result.trace)
    say(f"{len(queries)} conversations: {len(queries) - len(jobs)} logged already, about {summary.turns} turns to make")
    note = f", and unknown for {summary.unknown_costs} conversations" if summary.unknown_costs else ""
    say(f"expected cost: {summary.cost_usd:.6f} USD{note}")
    if announce is not None:
        announce()
    return unroutable


# --- running ---


def _make_loop(chooser: Chooser, actor: Actor, runner: ProgramRunner | None, options: RunOptions) -> Loop:
    checker = CommandChecker(options.checker, runner, timeout_s=options.timeout) if options.checker and runner else None
    return Loop(chooser, actor, checker, options.limits())


def _converse(
    setting: Setting, jobs: list[Job], log: TraceLog, options: RunOptions, *, say: Callable[[str], None]
) -> int:
    runner, summary = ProgramRunner(), RunSummary()
    sandboxes = open_sandboxes(setting, options, say)
    tools = Tools(open_searchers(setting, options), sandboxes, runner)
    completer = make_completer(setting, runner, options)
    actor = ModeActor(setting.handbook, options.handbook, completer, tools, timeout_s=options.timeout)
    judge: Judge = RuleJudge()
    if options.scoring_command:
        judge = CommandJudge(options.scoring_command, runner, timeout_s=options.timeout)
    loop = _make_loop(make_chooser(setting, completer, options), actor, runner, options)
    unroutable: list[Result] = []
    try:
        for result in Conversations(loop, judge, concurrency=options.concurrency).run(jobs):
            if result.trace is None:
                unroutable.append(result)
                continue
            log.append(result.trace)
            summary.count(result.trace)
    finally:
        for sandbox in sandboxes.values():
            sandbox.stop()
        runner.stop()
        _say_result(summary, setting, say)
    _say_unroutable(unroutable, setting, options)
    return _say_rest(summary, len(jobs), len(unroutable), options)


# --- what came of it ---


def _say_result(summary: RunSummary, setting: Setting, say: Callable[[str], None]) -> None:
    if setting.orchestrator is not None:
        setting.orchestrator.say_result()
    if not summary.conversations:
        return
    from tabulate import tabulate

    say(tabulate(summary.render(), tablefmt="plain", disable_numparse=True))
    say(f"spent in this run: {setting.budget.spent_usd:.6f} USD")


def _say_unroutable(results: Sequence[Result], setting: Setting, options: RunOptions) -> None:
    """Say of each query that no agent can serve why, as ``route`` does."""
    chooser = setting.open_chooser(None)
    for result in results:
        for error in chooser.find_refusal(result.finished.conversation):
            _say(str(Problem(options.queries, result.job.query.line, "$", f"{error.code}: {error.message}")))
    if results:
        _say(f"queries left out, as no agent is open to them: {len(results)}")


def _say_rest(summary: RunSummary, jobs: int, unroutable: int, options: RunOptions) -> int:
    remaining = jobs - summary.conversations - unroutable
    if remaining and options.max_cost is not None:
        _say(f"stopped before --max-cost {options.max_cost:g} USD could be passed; {remaining} conversations remain")
    if summary.errors:
        _say(f"{summary.errors} conversations failed outside; they are logged, and --retry-errors runs them again")
        return EXIT_OUTSIDE
    return EXIT_NO if remaining or unroutable else EXIT_OK
