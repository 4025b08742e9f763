"""Language models that a command asks: opened once, limited, cached, and accounted for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from skillctl.core.profile.pricing import Budget, Usage, expect_usage, is_priced, price_usage
from skillctl.errors import InputError, UsageError
from skillctl.llm.base import Request, request_key
from skillctl.llm.language_orchestrator import LanguageOrchestrator, WeighingTally
from skillctl.llm.limiting import BudgetCompleter
from skillctl.llm.litellm_client import LitellmClient, api_key
from skillctl.llm.reply_cache import CachingCompleter, ReplyCache
from skillctl.llm.retrying import RetryingCompleter
from skillctl.llm.structured import DEFAULT_CONCURRENCY, Endpoint
from skillctl.store.atomic import write_atomic
from skillctl.store.cache_dir import cache_root

if TYPE_CHECKING:
    from skillctl.cli.llm_options import LlmOptions
    from skillctl.core.orchestrate.orchestration import Orchestrator
    from skillctl.llm.base import Completer
    from skillctl.model.handbook import Handbook, ModeId, Price

_SHOWN = 5
_EXPECTED_TOKENS = 120  # a short JSON object


class LanguageModels:
    """All models of one run, under one budget.

    Args:
        options: How they are asked.
        say: Prints a line on standard error, or nothing when the run is quiet.
        client: Makes the calls; litellm without it.
    """

    def __init__(self, options: LlmOptions, say: Callable[[str], None], *, client: Completer | None = None) -> None:
        self._options = options
        self.say = say
        self._client = client
        self._budget = Budget(options.max_cost) if options.budget is None else options.budget
        self._prices: dict[str, Price | None] = {}
        self._tallies: dict[str, WeighingTally] = {}
        self._cache = ReplyCache(cache_root() / "replies", write_atomic)
        self._planned: set[str] = set()
        self._unpriced = 0

    @cached_property
    def _litellm(self) -> LitellmClient:
        return LitellmClient()

    @property
    def concurrency(self) -> int:
        """Calls at once: one under a limit of cost, so that what a call could cost keeps no other one waiting."""
        return 1 if self._budget.is_limited else DEFAULT_CONCURRENCY

    @cached_property
    def completer(self) -> Completer:
        """The model behind cache, budget and retries, in this order."""
        client = self._litellm if self._client is None else self._client
        retrying = RetryingCompleter(client, retries=self._options.retries)
        return CachingCompleter(BudgetCompleter(retrying, self._budget, self._prices), self._cache)

    def find_endpoint(self, name: str, handbook: Handbook) -> Endpoint:
        """Return the model of that name: an agent of the handbook, or a model as litellm names it.

        Raises:
            UsageError: If the name can be neither.
        """
        agent = next((agent for agent in handbook.agents.values() if agent.id == name and agent.model), None)
        if agent is not None and agent.model is not None:
            if agent.price is not None:
                self._prices[name] = agent.price
            params = {key: value for key, value in agent.params.items() if key not in {"max_tokens", "stop", "n"}}
            base = self._options.api_base or agent.api_base
            return Endpoint(name, agent.model, base, agent.api_key_env, params, self._options.timeout)
        if "/" not in name and self._options.api_base is None:
            message = f"there is no orchestrator {name!r}, and no language model has that name"
            raise UsageError(
                message,
                hint="name a model with its provider, such as openai/gpt-4o-mini, or an agent that has one",
            )
        return Endpoint(name, name, self._options.api_base, timeout_s=self._options.timeout)

    def open_orchestrator(self, name: str, handbook: Handbook, mode: ModeId) -> Orchestrator:
        """Return a language model as orchestrator of one mode."""
        endpoint = self.find_endpoint(name, handbook)
        return LanguageOrchestrator(
            handbook,
            mode,
            endpoint,
            self.completer,
            tally=self._tallies.setdefault(name, WeighingTally()),
            on_plan=lambda requests: self.announce(endpoint, requests),
            concurrency=self.concurrency,
        )

    def announce(self, endpoint: Endpoint, requests: Sequence[Request], *, more: int = 0) -> None:
        """Say how many calls come and what they will probably cost, and refuse what a limit cannot hold.

        Args:
            endpoint: The model.
            requests: Those that are made for sure.
            more: At most so many may follow.

        Raises:
            InputError: If there is a limit of cost and the price is unknown, or a key is missing.
        """
        keys = {request_key(request): request for request in requests}
        made = [request for key, request in keys.items() if key not in self._planned and key not in self._cache]
        self._planned.update(keys)
        up_to = f" and at most {more} more" if more else ""
        cost = self._expect_cost(endpoint, made)
        self._unpriced += len(made) if cost is None else 0
        shown = "unknown, as the price is" if cost is None else f"{cost:.6f} USD"
        if requests:
            self.say(
                f"{endpoint.name}: {len(made)} calls to make{up_to}, {len(keys) - len(made)} answered from the cache; "
                f"expected cost: {shown}"
            )
        if made:
            api_key(made[0])
        if made and self._options.max_cost is not None and not is_priced(self._prices.get(endpoint.name)):
            message = f"--max-cost cannot hold, as the price of {endpoint.name} is unknown"
            raise InputError(message, hint="leave --max-cost out, or name an agent of the handbook with a `price`")

    def _expect_cost(self, endpoint: Endpoint, made: Sequence[Request]) -> float | None:
        if not made:
            return 0.0
        price = self.find_price(endpoint)
        profile = Usage(completion=_EXPECTED_TOKENS)
        sizes = [sum(len(str(message["content"]).encode("utf-8", "replace")) for message in r.messages) for r in made]
        usages = [expect_usage(size, profile=profile, max_tokens=None) for size in sizes]
        costs = [price_usage(price, usage) for usage in usages]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    def find_price(self, endpoint: Endpoint) -> Price | None:
        """Return the price of a model: that of its agent, else what litellm knows."""
        if endpoint.name not in self._prices:
            self._prices[endpoint.name] = self._litellm.price(endpoint.model)
        return self._prices[endpoint.name]

    def say_result(self) -> None:
        """Say what became of the replies, and what was spent."""
        for name, tally in self._tallies.items():
            self.say_tally(name, tally)
        if self._tallies or self._planned:
            unknown = f", and unknown for {self._unpriced} calls" if self._unpriced else ""
            self.say(f"spent on language models in this run: {self._budget.spent_usd:.6f} USD{unknown}")

    def say_tally(self, name: str, tally: WeighingTally) -> None:
        """Say what became of the replies of one model."""
        if tally.faults:
            count = tally.faults.total()
            self.say(
                f"warning: {count} of {tally.requests} replies of {name} could not be used, so the mode as a whole "
                f"stands for their skills: {show_counts(tally.faults)}"
            )
        if tally.unknown:
            self.say(f"warning: {tally.unknown.total()} skill ids of {name} are unknown: {show_counts(tally.unknown)}")
        if tally.lost:
            self.say(f"{name} found no skill for {tally.lost} of {tally.requests} states")


def show_counts(counts: Mapping[str, int]) -> str:
    """Return what was counted, the most frequent first."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{' '.join(text.split())[:120]} ({count})" for text, count in ranked[:_SHOWN])
    return f"{shown}, …" if len(counts) > _SHOWN else shown
