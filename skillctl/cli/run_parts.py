"""The options of ``run``, and what follows from them: agents, tools and choosers that work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from skillctl.core.profile.pricing import is_priced
from skillctl.core.run.loop import LoopLimits
from skillctl.errors import InputError
from skillctl.llm.acting import read_limits
from skillctl.llm.agents import AgentCompleter
from skillctl.llm.limiting import BudgetCompleter, LaneCompleter
from skillctl.llm.mode_choice import ModelModeChooser
from skillctl.llm.reply_cache import CachingCompleter, ReplyCache
from skillctl.llm.retrying import RetryingCompleter
from skillctl.llm.sandbox import MEASURES, Sandbox, find_uncontained, refuse_uncontained
from skillctl.llm.search import HttpSearcher, Searcher
from skillctl.store.atomic import write_atomic
from skillctl.store.cache_dir import cache_root
from skillctl.store.corpus import Corpus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skillctl.cli.run_orchestrator import RunOrchestrator
    from skillctl.core.profile.pricing import Budget
    from skillctl.core.run.loop import Chooser
    from skillctl.core.run.state_weighing import StateWeigher
    from skillctl.core.run.transitions import ModeFacts, RouterChooser
    from skillctl.llm.programs import ProgramRunner
    from skillctl.model.handbook import Handbook, Price


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of the command, parsed."""

    handbook: Path
    queries: str
    out: str
    agents: tuple[str, ...]
    modes: tuple[str, ...]
    path: tuple[str, ...]
    fixed: tuple[tuple[str, str], ...]
    policy: str
    orchestrator: str
    api_base: str | None
    mode_chooser: str | None
    cost_weight: float | None
    limit: int | None
    max_turns: int
    max_query_cost: float | None
    max_cost: float | None
    checker: tuple[str, ...]
    scoring: str
    scoring_command: tuple[str, ...]
    concurrency: int
    agent_concurrency: int
    timeout: float
    retries: int
    retry_errors: bool
    unsafe_sandbox: bool
    seed: int
    dry_run: bool

    def limits(self) -> LoopLimits:
        """Return the limits of each conversation."""
        return LoopLimits(turns=self.max_turns, cost_usd=self.max_query_cost)


class Setting(NamedTuple):
    """What holds for a whole run.

    Attributes:
        handbook: The handbook.
        modes: Those that may be entered.
        open_chooser: Returns who chooses, with somebody else to name the skills or without.
        digest: Of all that the run depends on.
        budget: What may be spent.
        orchestrator: The language model that names the skills, if any.
    """

    handbook: Handbook
    modes: dict[str, ModeFacts]
    open_chooser: Callable[[StateWeigher | None], RouterChooser]
    digest: str
    budget: Budget
    orchestrator: RunOrchestrator | None


def make_completer(setting: Setting, runner: ProgramRunner, options: RunOptions) -> CachingCompleter:
    """Return what answers: cached replies first, then within the budget, few at a time, with retries.

    Raises:
        InputError: If there is a limit of cost and the price of an agent is unknown.
    """
    agents = AgentCompleter(runner)
    prices: dict[str, Price | None] = {}
    for agent in setting.handbook.agents.values():
        is_used = not options.agents or agent.id in {*options.agents, options.mode_chooser}
        known = agents.models.price(agent.model) if is_used and agent.price is None and agent.model else agent.price
        prices[agent.id] = known
        if options.max_cost is not None and is_used and (agent.model or agent.command) and not is_priced(known):
            message = f"--max-cost cannot hold, as the price is unknown of: {agent.id}"
            raise InputError(message, hint="give the agent a `price`, or leave it out with --agent")
    retrying = RetryingCompleter(agents, retries=options.retries, seed=options.seed)
    limited = LaneCompleter(BudgetCompleter(retrying, setting.budget, prices), options.agent_concurrency)
    return CachingCompleter(limited, ReplyCache(cache_root() / "replies", write_atomic))


def make_chooser(setting: Setting, completer: CachingCompleter, options: RunOptions) -> Chooser:
    """Return who chooses: language models name the skills and the modes where the user wants that."""
    inner = setting.open_chooser(setting.orchestrator.ask() if setting.orchestrator else None)
    if options.mode_chooser is None:
        return inner
    agent = next(one for name, one in setting.handbook.agents.items() if name == options.mode_chooser)
    if agent.model is None:
        message = f"agent {agent.id!r} is no language model, and cannot name modes"
        raise InputError(message, where=str(options.handbook), hint="name one with a `model`")
    return ModelModeChooser(
        inner,
        setting.modes,
        {mode.id: mode.description for mode in setting.handbook.modes.values()},
        agent=agent,
        completer=completer,
        timeout_s=options.timeout,
    )


def open_searchers(setting: Setting, options: RunOptions) -> dict[str, Searcher]:
    """Return the searchers of the modes that search."""
    searchers: dict[str, Searcher] = {}
    for mode in setting.handbook.modes.values():
        action = mode.action
        if mode.id not in setting.modes or action is None or action.kind != "search":
            continue
        if action.url:
            searchers[mode.id] = HttpSearcher(action.url, timeout_s=action.timeout_s or options.timeout)
        elif action.corpus:
            searchers[mode.id] = Corpus(options.handbook / action.corpus)
    return searchers


def open_sandboxes(setting: Setting, options: RunOptions, say: Callable[[str], None]) -> dict[str, Sandbox]:
    """Return the sandboxes of the modes that run code.

    Raises:
        InputError: If this machine cannot contain code, and the user has not accepted that.
    """
    actions = {
        mode.id: mode.action
        for mode in setting.handbook.modes.values()
        if mode.id in setting.modes and mode.action is not None and mode.action.kind == "code"
    }
    if not actions:
        return {}
    missing = find_uncontained()
    if options.unsafe_sandbox and missing:
        say(f"warning: code that models write is run without a limit of {', '.join(missing)}")
    elif missing:
        refuse_uncontained(missing)
    required = tuple(measure for measure in MEASURES if measure not in missing)
    return {mode: Sandbox(read_limits(action), required=required) for mode, action in actions.items()}
