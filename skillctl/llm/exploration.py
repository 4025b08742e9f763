"""Exploration: which calls are to be made, what they may cost, and the traces that come of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from skillctl.core.profile.pricing import Budget, Usage, bound_usage, expect_usage, is_priced, price_usage
from skillctl.core.run.exploring import Attempt, ExploreQuery, build_trace, is_error, name_trace
from skillctl.core.run.grading import UngradableError
from skillctl.errors import InputError, OutsideError
from skillctl.llm.base import Completer, Completion, Request, Step, ask_agent, request_key
from skillctl.llm.dispatch import Dispatcher, Limits

if TYPE_CHECKING:
    from pathlib import Path

    from skillctl.llm.judging import Judge
    from skillctl.model.handbook import Agent, ModeId, Price


@dataclass(frozen=True, slots=True)
class Call:
    """One agent's attempt at one query, before it is made.

    Attributes:
        query: What is asked.
        agent: Who is asked.
        mode: In which mode.
        request: What is sent.
        key: Of the reply in the cache.
        trace_id: Of the trace that it gives.
        price: The agent's own price, else what is known of the model, ``None`` for unknown.
        is_kept: Whether the reply is in the cache already.
    """

    query: ExploreQuery
    agent: Agent
    mode: ModeId
    request: Request
    key: str
    trace_id: str
    price: Price | None = None
    is_kept: bool = False

    def expected_usd(self) -> float | None:
        """Return what the call will probably cost, ``None`` for unknown."""
        if self.is_kept:
            return 0.0
        cost = self.agent.profiles[self.mode].cost if self.mode in self.agent.profiles else None
        profile = Usage(completion=cost.completion_tokens) if cost else Usage()
        limits = _token_limits(self.agent)
        usage = expect_usage(self._prompt_bytes(), profile=profile, **limits)
        expected = price_usage(self.price, usage)
        return cost.mean_usd if expected is None and cost else expected

    def bound_usd(self) -> float:
        """Return more than the call can cost.

        Raises:
            ValueError: If the price is unknown.
        """
        if self.is_kept:
            return 0.0
        replies = self.agent.params.get("n")
        usage = bound_usage(
            self._prompt_bytes(),
            len(self.request.messages),
            **_token_limits(self.agent),
            replies=replies if isinstance(replies, int) else 1,
        )
        bound = price_usage(self.price, usage)
        if bound is None:
            message = f"the price of {self.agent.id!r} is unknown"
            raise ValueError(message)
        return bound

    def _prompt_bytes(self) -> int:
        extras = {key: self.agent.params[key] for key in ("tools", "response_format") if key in self.agent.params}
        return len(orjson.dumps([self.request.messages, extras]))


def _token_limits(agent: Agent) -> dict[str, int | None]:
    limits = (agent.params.get(name) for name in ("max_completion_tokens", "max_tokens"))
    max_tokens = next((limit for limit in limits if isinstance(limit, int) and limit > 0), None)
    return {"max_tokens": max_tokens, "context_tokens": agent.capabilities.context_tokens}


def plan_calls(
    queries: Iterable[ExploreQuery], agents: Sequence[Agent], *, mode: ModeId, folder: Path, timeout_s: float
) -> list[Call]:
    """Return all calls: queries in order, and for each query the agents in order."""
    return [_plan_call(query, agent, mode, folder, timeout_s) for query in queries for agent in agents]


def _plan_call(query: ExploreQuery, agent: Agent, mode: ModeId, folder: Path, timeout_s: float) -> Call:
    request = ask_agent(agent, query.messages, Step(query.text, query.id, mode, folder, timeout_s))
    key = request_key(request)
    return Call(query, agent, mode, request, key, name_trace(query.id, agent.id, mode, key), price=agent.price)


def find_pending(calls: Iterable[Call], logged: Iterable[Mapping[str, Any]], *, retry_errors: bool) -> list[Call]:
    """Return the calls whose traces are not in the log yet.

    With ``retry_errors`` a call whose last trace is an error is pending too. Its new trace gets an id of its own:
    the log only grows, so that what was counted of it before stays counted once.
    """
    errors = {str(trace.get("trace_id")): is_error(trace) for trace in logged}
    pending = []
    for call in calls:
        attempt, trace_id = 0, call.trace_id
        while retry_errors and errors.get(trace_id):
            attempt += 1
            trace_id = name_trace(call.query.id, call.agent.id, call.mode, call.key, attempt)
        if trace_id not in errors:
            pending.append(replace(call, trace_id=trace_id))
    return pending


def mark_kept(calls: Iterable[Call], is_kept: Callable[[str], bool]) -> list[Call]:
    """Return the calls with those marked whose reply is in the cache."""
    return [replace(call, is_kept=True) if is_kept(call.key) else call for call in calls]


def add_known_prices(calls: Iterable[Call], price_of: Callable[[str], Price | None]) -> list[Call]:
    """Return the calls with the public price of their model where the agent has none of its own."""
    prices: dict[str, Price | None] = {}
    priced = []
    for call in calls:
        model = call.agent.model
        if call.price is None and model is not None and not call.is_kept:
            if model not in prices:
                prices[model] = price_of(model)
            priced.append(replace(call, price=prices[model]))
        else:
            priced.append(call)
    return priced


def refuse_unpriced(calls: Iterable[Call]) -> None:
    """Refuse to run under a limit of cost what may cost anything.

    Raises:
        InputError: If the price of an agent that is to be called is unknown.
    """
    unknown = sorted({call.agent.id for call in calls if not call.is_kept and not is_priced(call.price)})
    if unknown:
        message = f"--max-cost cannot hold, as the price is unknown of: {', '.join(unknown)}"
        raise InputError(message, hint="give the agent a `price`, or leave it out with --agent")


class Outcome(NamedTuple):
    """A finished call: its trace, and whether the reply came from the cache."""

    call: Call
    trace: dict[str, Any]
    is_cached: bool


class Explorer:
    """Makes calls and turns what comes of them into traces, in the order of the calls.

    Args:
        completer: Answers; also for agents that are programs.
        judge: Grades the answers.
        budget: What may be spent.
        limits: How much may run at once.
    """

    def __init__(self, completer: Completer, judge: Judge, *, budget: Budget, limits: Limits) -> None:
        self._completer = completer
        self._judge = judge
        self._budget = budget
        self._limits = limits

    def run(self, calls: Sequence[Call]) -> Iterator[Outcome]:
        """Yield outcomes up to the first call that the budget does not allow."""
        dispatcher: Dispatcher[Call, Outcome] = Dispatcher(
            self._answer, lane=lambda call: call.agent.id, limits=self._limits, may_start=self._may_start
        )
        return dispatcher.run(calls)

    def _may_start(self, call: Call) -> bool:
        return not self._budget.is_limited or self._budget.reserve(call.trace_id, call.bound_usd())

    def _answer(self, call: Call) -> Outcome:
        try:
            completion = self._completer.complete(call.request)
        except OutsideError as error:
            if error.code != "timeout":  # a call that timed out may be billed, so its reserve stays
                self._budget.settle(call.trace_id, 0.0)
            attempt = Attempt(error_code=error.code, error_message=error.message)
            return self._outcome(call, attempt, is_cached=False)
        cost = _cost_usd(call.agent, completion)
        self._budget.settle(call.trace_id, 0.0 if completion.is_cached else cost or 0.0)
        return self._outcome(call, self._graded(call, completion, cost), is_cached=completion.is_cached)

    def _graded(self, call: Call, completion: Completion, cost_usd: float | None) -> Attempt:
        attempt = Attempt(
            answer=completion.text,
            cost_usd=cost_usd,
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
            latency_s=completion.latency_s,
        )
        try:
            return replace(attempt, verdict=self._judge.judge(call.query, completion.text))
        except (UngradableError, OutsideError) as error:
            return replace(attempt, error_code="scoring_failed", error_message=str(error))

    @staticmethod
    def _outcome(call: Call, attempt: Attempt, *, is_cached: bool) -> Outcome:
        return Outcome(call, build_trace(call.trace_id, call.query, call.agent, call.mode, attempt), is_cached)


def _cost_usd(agent: Agent, completion: Completion) -> float | None:
    """Price by the agent's own price first, then by what the client knows; unknown stays unknown."""
    usage = Usage(completion.prompt_tokens, completion.completion_tokens, completion.cached_tokens)
    own = price_usage(agent.price, usage)
    return completion.cost_usd if own is None else own
