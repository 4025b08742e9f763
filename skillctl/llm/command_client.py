"""Agents that are programs: a JSON request on stdin, ``{"answer": "…"}`` on stdout."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from skillctl.errors import OutsideError
from skillctl.llm.base import Completion, Request, payload_of

if TYPE_CHECKING:
    from skillctl.llm.programs import ProgramRunner


class CommandClient:
    """Answers requests by running the agent's command in the handbook's folder.

    Args:
        runner: Runs the programs.
    """

    def __init__(self, runner: ProgramRunner) -> None:
        self._runner = runner

    def complete(self, request: Request) -> Completion:
        """Run the command and return its answer."""
        start = time.perf_counter()
        reply = self._runner.run(
            request.command, payload_of(request), folder=request.folder, timeout_s=request.timeout_s
        )
        latency_s = time.perf_counter() - start
        name = " ".join(request.command)
        if not isinstance(reply, dict) or not isinstance(reply.get("answer"), str):
            message = f'`{name}` must print {{"answer": "…"}} with a text as answer'
            raise OutsideError(message, code="bad_reply")
        return Completion(
            text=reply["answer"],
            prompt_tokens=_whole(reply, "prompt_tokens", name),
            completion_tokens=_whole(reply, "completion_tokens", name),
            cost_usd=_amount(reply, "cost_usd", name),
            latency_s=latency_s,
        )


def _amount(reply: dict[str, Any], field: str, name: str) -> float | None:
    value = reply.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        message = f"`{name}` printed a {field} that is no number from 0 up: {value!r}"
        raise OutsideError(message, code="bad_reply")
    return float(value)


def _whole(reply: dict[str, Any], field: str, name: str) -> int | None:
    value = _amount(reply, field, name)
    return None if value is None else int(value)
