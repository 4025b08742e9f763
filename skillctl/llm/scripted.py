"""A completer that replies from a script: the one fake, shipped so that users can try things offline too."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from skillctl.errors import OutsideError
from skillctl.llm.base import Completion, Request

Reply = str | Completion | OutsideError


class ScriptedCompleter:
    """Gives replies in order, or those of a function; remembers every request.

    Args:
        replies: Replies in the order of the requests, or a function of the request. An ``OutsideError`` is raised.
    """

    def __init__(self, replies: Iterable[Reply] | Callable[[Request], Reply]) -> None:
        self.requests: list[Request] = []
        self._reply = replies if callable(replies) else _in_order(replies)
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Completion:
        """Return or raise the next reply of the script."""
        with self._lock:
            self.requests.append(request)
            reply = self._reply(request)
        if isinstance(reply, OutsideError):
            raise reply
        return Completion(text=reply) if isinstance(reply, str) else reply


def _in_order(replies: Iterable[Reply]) -> Callable[[Request], Reply]:
    remaining = iter(replies)

    def reply(request: Request) -> Reply:
        try:
            return next(remaining)
        except StopIteration:
            message = f"the script has no reply left for a request to {request.agent!r}"
            return OutsideError(message, code="script_ended")

    return reply
