"""A scripted client in the place of litellm, for tests of commands that ask a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from skillctl.llm.scripted import ScriptedCompleter
from skillctl.model.handbook import Price

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from skillctl.llm.base import Request

MODEL = "openai/scripted"


class Client(ScriptedCompleter):
    """Stands for litellm: replies by a function, and knows one price."""

    known: Price | None = Price(prompt_usd_per_mtok=1.0, completion_usd_per_mtok=1.0)

    def price(self, _: str) -> Price | None:
        """Return the same price for every model."""
        return self.known


class Install(Protocol):
    """Puts a scripted client in the place of litellm."""

    def __call__(self, reply: Callable[[Request], Any]) -> Client: ...


def make_install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return what puts a scripted client in the place of litellm until the test ends."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def install(reply: Callable[[Request], Any]) -> Client:
        client = Client(reply)
        monkeypatch.setattr("skillctl.cli.language_models.LitellmClient", lambda: client)
        return client

    return install


def asked(request: Request) -> str:
    """Return the data that a model is shown."""
    return str(request.messages[1]["content"])
