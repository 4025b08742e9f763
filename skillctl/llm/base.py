"""The seam to everything that answers: a request, a completion, and the protocol between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol

import orjson

if TYPE_CHECKING:
    from pathlib import Path

    from skillctl.model.handbook import Agent

KEY_BYTES = 16
DEFAULT_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Request:
    """One question to one agent: a model, or a program instead of it.

    Attributes:
        agent: Agent id, for messages and limits; not part of what determines a model's reply.
        messages: The conversation in chat format.
        model: The name that litellm calls, ``None`` for a program.
        params: Passed to the model as they are.
        api_base: Endpoint of the model, or ``None``.
        api_key_env: Name of the environment variable that holds the key, or ``None``.
        command: Program and arguments, ``()`` for a model.
        folder: Where a program runs; its script files are looked up there.
        query: Text of the query, for a program.
        query_id: Id of the query, for a program.
        mode: Mode, for a program.
        timeout_s: Seconds after which the call is given up.
    """

    agent: str
    messages: tuple[Mapping[str, Any], ...]
    model: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    api_base: str | None = None
    api_key_env: str | None = None
    command: tuple[str, ...] = ()
    folder: Path | None = None
    query: str = ""
    query_id: str | int | None = None
    mode: str | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Step:
    """What a request to an agent is about.

    Attributes:
        query: Text of the query.
        query_id: Its id.
        mode: Mode of the step.
        folder: Where a program runs.
        timeout_s: Seconds after which the call is given up.
    """

    query: str
    query_id: str | int
    mode: str
    folder: Path
    timeout_s: float


def ask_agent(agent: Agent, messages: tuple[Mapping[str, Any], ...], step: Step) -> Request:
    """Return the request to an agent of a handbook, a model or a program."""
    return Request(
        agent=agent.id,
        messages=messages,
        model=agent.model,
        params=agent.params,
        api_base=agent.api_base,
        api_key_env=agent.api_key_env,
        command=agent.command,
        folder=step.folder,
        query=step.query,
        query_id=step.query_id,
        mode=step.mode,
        timeout_s=step.timeout_s,
    )


@dataclass(frozen=True, slots=True)
class Completion:
    """One reply; a number that is ``None`` is unknown.

    Attributes:
        text: The reply.
        served_model: The name that the service says it used.
        prompt_tokens: Tokens read, those from the provider's cache among them.
        completion_tokens: Tokens written.
        cached_tokens: The part of ``prompt_tokens`` that the provider had cached.
        cost_usd: What the client knows of the cost; the agent's own price goes before it.
        latency_s: Seconds of the call that succeeded.
        is_cached: Whether it came from our own cache and cost nothing now.
    """

    text: str
    served_model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    latency_s: float | None = None
    is_cached: bool = False


class Completer(Protocol):
    """Answers requests, from several threads at once."""

    def complete(self, request: Request) -> Completion:
        """Return the reply.

        Raises:
            OutsideError: If the service or program failed; it says whether a retry may help.
        """
        ...


def payload_of(request: Request) -> dict[str, Any]:
    """Return what a program reads on its stdin."""
    return {
        "query": request.query,
        "messages": [dict(message) for message in request.messages],
        "mode": request.mode,
        "agent": request.agent,
        "id": request.query_id,
    }


def request_key(request: Request) -> str:
    """Return a digest of everything that determines the reply, and of nothing else."""
    if request.command:
        content: dict[str, Any] = {
            "command": list(request.command),
            "scripts": _script_digests(request.command, request.folder),
            "payload": payload_of(request),
        }
    else:
        content = {
            "model": request.model,
            "api_base": request.api_base,
            "messages": [dict(message) for message in request.messages],
            "params": dict(request.params),
        }
    return blake2b(orjson.dumps(content, option=orjson.OPT_SORT_KEYS), digest_size=KEY_BYTES).hexdigest()


def _script_digests(command: tuple[str, ...], folder: Path | None) -> list[str]:
    """Digest the arguments that are files in the folder, so that an edited script is asked again."""
    if folder is None:
        return []
    root = folder.resolve()
    paths = [(folder / argument).resolve() for argument in command]
    return [
        blake2b(path.read_bytes(), digest_size=KEY_BYTES).hexdigest()
        for path in paths
        if path.is_relative_to(root) and path.is_file()
    ]
