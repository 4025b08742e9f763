"""All agents behind one completer: models go to litellm, programs are run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillctl.llm.command_client import CommandClient
from skillctl.llm.litellm_client import LitellmClient

if TYPE_CHECKING:
    from skillctl.llm.base import Completion, Request
    from skillctl.llm.programs import ProgramRunner


class AgentCompleter:
    """Sends each request to whoever can answer it.

    Args:
        runner: Runs the programs.
    """

    def __init__(self, runner: ProgramRunner) -> None:
        self.models = LitellmClient()
        self._programs = CommandClient(runner)

    def complete(self, request: Request) -> Completion:
        """Return the reply of the model or program."""
        return self._programs.complete(request) if request.command else self.models.complete(request)
