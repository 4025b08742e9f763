"""Retries with exponential back-off around any completer."""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import blake2b

from skillctl.errors import OutsideError
from skillctl.llm.base import Completer, Completion, Request, request_key

DEFAULT_RETRIES = 4
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
# A service that asks for more than this is not going to answer within the run.
LONGEST_ASKED_PAUSE_S = 300.0


class RetryingCompleter:
    """Repeats a call that may succeed later, waiting as long as the service asked, or twice as long each time.

    Args:
        completer: Makes the calls.
        retries: How often a call is repeated at most.
        seed: Of the jitter, which is a function of seed, request and attempt, and so the same in every run.
        sleep: Waits; given by tests.
    """

    def __init__(
        self,
        completer: Completer,
        *,
        retries: int = DEFAULT_RETRIES,
        seed: int = 0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._completer = completer
        self._retries = retries
        self._seed = seed
        self._sleep = sleep

    def complete(self, request: Request) -> Completion:
        """Return the first reply that succeeds, or raise the last error."""
        attempt = 0
        while True:
            try:
                return self._completer.complete(request)
            except OutsideError as error:
                if not error.retryable or attempt >= self._retries:
                    raise
                if (error.retry_after_s or 0.0) > LONGEST_ASKED_PAUSE_S:
                    raise
                pause = self._pause_s(request, attempt, error.retry_after_s)
            self._sleep(pause)
            attempt += 1

    def _pause_s(self, request: Request, attempt: int, asked_s: float | None) -> float:
        if asked_s is not None:
            return asked_s
        pause = min(FIRST_PAUSE_S * 2.0**attempt, LONGEST_PAUSE_S)
        return pause * (0.5 + 0.5 * self._jitter(request, attempt))

    def _jitter(self, request: Request, attempt: int) -> float:
        name = f"{self._seed}:{attempt}:{request_key(request)}".encode()
        return int.from_bytes(blake2b(name, digest_size=8).digest(), "big") / 2.0**64
