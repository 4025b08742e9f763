"""Limits around a completer: calls of one agent at once, and money that must not be passed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import orjson

from skillctl.core.profile.pricing import Budget, Usage, bound_usage, price_usage
from skillctl.errors import InputError, OutsideError
from skillctl.llm.base import Completer, Completion, Request, request_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillctl.model.handbook import Price


class LaneCompleter:
    """Lets each agent answer a few requests at a time.

    Args:
        completer: Makes the calls.
        per_agent: So many at once.
    """

    def __init__(self, completer: Completer, per_agent: int) -> None:
        self._completer = completer
        self._per_agent = per_agent
        self._lanes: dict[str, threading.BoundedSemaphore] = {}
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Completion:
        """Return the reply when it is the request's turn."""
        with self._lock:
            lane = self._lanes.setdefault(request.agent, threading.BoundedSemaphore(self._per_agent))
        with lane:
            return self._completer.complete(request)


class BudgetSpentError(Exception):
    """The next call could pass the limit: the run ends here."""


class BudgetCompleter:
    """Sets the most that a call can cost aside before it is made, and books what it did cost.

    Args:
        completer: Makes the calls.
        budget: What may be spent.
        prices: By agent; ``None`` is unknown.
    """

    def __init__(self, completer: Completer, budget: Budget, prices: Mapping[str, Price | None]) -> None:
        self._completer = completer
        self._budget = budget
        self._prices = prices

    def complete(self, request: Request) -> Completion:
        """Return the reply.

        Raises:
            BudgetSpentError: If the call could pass the limit.
            InputError: If there is a limit and the price is unknown.
        """
        key = request_key(request)
        price = self._prices.get(request.agent)
        if self._budget.is_limited and not self._budget.reserve(key, self._bound(request, price)):
            raise BudgetSpentError
        try:
            completion = self._completer.complete(request)
        except OutsideError as error:
            if error.code != "timeout":  # a call that timed out may be billed, so its reserve stays
                self._budget.settle(key, 0.0)
            raise
        usage = Usage(completion.prompt_tokens, completion.completion_tokens, completion.cached_tokens)
        cost = price_usage(price, usage)
        self._budget.settle(key, (completion.cost_usd if cost is None else cost) or 0.0)
        return completion

    @staticmethod
    def _bound(request: Request, price: Price | None) -> float:
        params = request.params
        limit = next((params[name] for name in ("max_completion_tokens", "max_tokens") if name in params), None)
        size = len(orjson.dumps([list(request.messages), params]))
        usage = bound_usage(size, len(request.messages), max_tokens=limit, context_tokens=None)
        bound = price_usage(price, usage)
        if bound is None:
            message = f"--max-cost cannot hold, as the price is unknown of: {request.agent}"
            raise InputError(message, hint="give the agent a `price`, or leave it out with --agent")
        return bound
