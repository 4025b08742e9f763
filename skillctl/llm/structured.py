"""Structured replies: many requests at once, each reply parsed, what cannot be used said in words."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from skillctl.core.replies.json_reply import ReplyFaultError
from skillctl.errors import OutsideError
from skillctl.llm.base import DEFAULT_TIMEOUT_S, Completer, Completion, Request
from skillctl.llm.dispatch import Dispatcher, Limits
from skillctl.llm.limiting import BudgetSpentError

if TYPE_CHECKING:
    from skillctl.llm.prompt_texts import Messages

Value = TypeVar("Value")

DEFAULT_CONCURRENCY = 4
# No other request can fare better than the first that fails so.
_HOPELESS = frozenset({"auth", "not_found", "payment"})
# Failures in a row, with no success before them, after which the service counts as gone.
_PATIENCE = 3


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A language model: what every request to it has in common.

    Attributes:
        name: For messages and limits.
        model: As litellm names it.
        api_base: Endpoint, or ``None`` for the provider's own.
        api_key_env: Environment variable that holds the key, or ``None``.
        params: Passed to the model.
        timeout_s: Of a call.
    """

    name: str
    model: str
    api_base: str | None = None
    api_key_env: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    timeout_s: float = DEFAULT_TIMEOUT_S

    def request(self, messages: Messages, max_tokens: int) -> Request:
        """Return a request whose reply is as repeatable as the model allows."""
        # Models that take no temperature or name the limit otherwise get what they take.
        params = {"temperature": 0, "max_tokens": max_tokens, "drop_params": True, **self.params}
        return Request(
            agent=self.name,
            messages=messages,
            model=self.model,
            params=params,
            api_base=self.api_base,
            api_key_env=self.api_key_env,
            timeout_s=self.timeout_s,
        )


@dataclass(frozen=True, slots=True)
class Reply(Generic[Value]):
    """What came of a request.

    Attributes:
        value: The parsed reply, or ``None``.
        completion: The reply as it is, ``None`` where there was none.
        fault: Why there is no value.
        is_unspent: Whether it was not asked, as the budget did not allow it.
    """

    value: Value | None = None
    completion: Completion | None = None
    fault: str = ""
    is_unspent: bool = False

    @property
    def text(self) -> str | None:
        """The text of the reply, ``None`` where there was none."""
        return None if self.completion is None else self.completion.text


class Breaker:
    """Ends a run whose service does not answer at all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._has_answered = False

    def answered(self) -> None:
        """Note a reply."""
        with self._lock:
            self._has_answered = True

    def failed(self, error: OutsideError) -> None:
        """Note a failure, and raise it where no further call is worth making."""
        with self._lock:
            self._failures += 1
            is_gone = self._failures >= _PATIENCE and not self._has_answered
        if error.code in _HOPELESS or is_gone:
            raise error


def ask_all(
    completer: Completer,
    requests: Sequence[Request],
    parse: Callable[[int, str], Value],
    *,
    concurrency: int = DEFAULT_CONCURRENCY,
    breaker: Breaker | None = None,
) -> list[Reply[Value]]:
    """Ask all requests and return their replies in order.

    Args:
        completer: Answers, within its budget.
        requests: What to ask.
        parse: Gets the place of the request and the text; raises ``ReplyFaultError`` for one that cannot be used.
        concurrency: So many requests at once.
        breaker: Remembers from one batch to the next whether the service answers.

    Raises:
        OutsideError: If the service refuses us, or the first requests all fail.
    """
    switch, is_spent = breaker or Breaker(), threading.Event()

    def ask(place: int) -> Reply[Value]:
        if is_spent.is_set():
            return Reply(fault="not asked", is_unspent=True)
        try:
            completion = completer.complete(requests[place])
        except BudgetSpentError:
            is_spent.set()
            return Reply(fault="not asked", is_unspent=True)
        except OutsideError as error:
            switch.failed(error)
            return Reply(fault=f"{error.code}: {error.message}")
        switch.answered()
        try:
            return Reply(parse(place, completion.text), completion)
        except ReplyFaultError as fault:
            return Reply(None, completion, str(fault))

    dispatcher: Dispatcher[int, Reply[Value]] = Dispatcher(
        ask, lane=lambda _place: "", limits=Limits(concurrency, concurrency)
    )
    # Standard output is for results: what libraries print goes to standard error.
    with contextlib.redirect_stdout(sys.stderr):
        return list(dispatcher.run(range(len(requests))))
