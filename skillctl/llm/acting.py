"""Carries decisions out: asks the agent, then answers, runs code, searches or calls a program, as the mode says."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from skillctl.core.profile.pricing import Usage, price_usage
from skillctl.core.run.conversation import Conversation, Decision, Turn
from skillctl.core.run.playbooks import build_messages, choose_playbook, find_code
from skillctl.errors import OutsideError
from skillctl.llm.base import Completer, Completion, Request, Step, ask_agent, payload_of
from skillctl.llm.programs import read_cost
from skillctl.llm.sandbox import Sandbox, SandboxLimits, SandboxResult
from skillctl.model.handbook import Action

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from skillctl.llm.programs import ProgramRunner
    from skillctl.llm.search import Searcher
    from skillctl.model.handbook import Agent, Handbook

DEFAULT_RESULTS = 3
_ANSWER = Action("answer")
_NOTE_CHARS = 500


@dataclass(frozen=True, slots=True)
class Tools:
    """What modes are bound to.

    Attributes:
        searchers: By mode.
        sandboxes: By mode.
        runner: Runs programs.
    """

    searchers: Mapping[str, Searcher]
    sandboxes: Mapping[str, Sandbox]
    runner: ProgramRunner


class _Outcome(NamedTuple):
    action: str
    observation: str
    is_found: bool
    tool_usd: float | None = 0.0


class ModeActor:
    """Acts for the modes and agents of a handbook; used from several threads at once.

    Args:
        handbook: The handbook.
        folder: Where programs run.
        completer: Answers for models and programs.
        tools: What the modes are bound to.
        timeout_s: Of a call of an agent.
    """

    def __init__(
        self, handbook: Handbook, folder: Path, completer: Completer, tools: Tools, *, timeout_s: float
    ) -> None:
        self._handbook = handbook
        self._folder = folder
        self._completer = completer
        self._tools = tools
        self._timeout_s = timeout_s
        self._agents = {str(name): agent for name, agent in handbook.agents.items()}
        self._actions = {str(name): mode.action or _ANSWER for name, mode in handbook.modes.items()}
        self._carriers: dict[str, Callable[[Request, str, Action], _Outcome]] = {
            "code": self._run_code,
            "search": self._search,
            "command": self._run_command,
        }

    def act(self, conversation: Conversation, decision: Decision) -> Turn:
        """Return what came of a decision; an outside failure is a turn with an error."""
        agent = self._agents[decision.agent]
        request = self._build_request(agent, conversation, decision)
        started = time.perf_counter()
        turn = Turn(decision)
        try:
            completion = self._ask(agent, request)
            turn = self._with_costs(turn, agent, completion)
            turn = self._carry_out(turn, request, completion)
        except OutsideError as error:
            return replace(turn, error=error.code, error_message=error.message)
        asked_s = completion.latency_s or 0.0
        spent_s = asked_s if completion.is_cached else max(asked_s, time.perf_counter() - started)
        return replace(turn, latency_s=round(spent_s, 3))

    def _build_request(self, agent: Agent, conversation: Conversation, decision: Decision) -> Request:
        messages = build_messages(choose_playbook(self._handbook, agent, decision), conversation)
        step = Step(conversation.text, conversation.query_id, decision.mode, self._folder, self._timeout_s)
        return ask_agent(agent, messages, step)

    def _ask(self, agent: Agent, request: Request) -> Completion:
        """Return the agent's reply; one without a model and a program passes the query on, free of charge."""
        if agent.model or agent.command:
            return self._completer.complete(request)
        return Completion(text=request.query, cost_usd=0.0, latency_s=0.0)

    @staticmethod
    def _with_costs(turn: Turn, agent: Agent, completion: Completion) -> Turn:
        usage = Usage(completion.prompt_tokens, completion.completion_tokens, completion.cached_tokens)
        own = price_usage(agent.price, usage)
        return replace(
            turn,
            cost_usd=completion.cost_usd if own is None else own,
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
        )

    def _carry_out(self, turn: Turn, request: Request, completion: Completion) -> Turn:
        action = self._actions[turn.decision.mode]
        if action.kind == "answer":
            return replace(turn, observation=completion.text, is_answer=action.ends, succeeded=None)
        outcome = self._carriers[action.kind](request, completion.text, action)
        return replace(
            turn,
            action=outcome.action,
            observation=outcome.observation,
            is_answer=action.ends and outcome.is_found,
            succeeded=(None if action.ends else True) if outcome.is_found else False,
            tool_usd=outcome.tool_usd,
        )

    def _run_code(self, request: Request, reply: str, _: Action) -> _Outcome:
        code = find_code(reply)
        if code is None:
            return _Outcome(reply, "the reply holds no program", is_found=False)
        result = self._tools.sandboxes[request.mode or ""].run(code)
        return _Outcome(code, describe_result(result), is_found=result.is_ok and bool(result.output.strip()))

    def _search(self, request: Request, reply: str, action: Action) -> _Outcome:
        terms = " ".join(reply.split())
        passages = self._tools.searchers[request.mode or ""].search(terms, action.results or DEFAULT_RESULTS)
        text = "\n".join(f"{title}: {text}" if title else text for title, text in passages)
        return _Outcome(terms, text or "nothing was found", is_found=bool(passages))

    def _run_command(self, request: Request, reply: str, action: Action) -> _Outcome:
        payload = {**payload_of(request), "reply": reply}
        timeout_s = action.timeout_s or self._timeout_s
        answer = self._tools.runner.run(action.command, payload, folder=self._folder, timeout_s=timeout_s)
        if not isinstance(answer, dict) or not isinstance(answer.get("answer"), str | None):
            message = f'`{" ".join(action.command)}` must print {{"answer": "…"}} with a text or null as answer'
            raise OutsideError(message, code="bad_reply")
        text = answer.get("answer")
        return _Outcome(reply, text or "no answer", is_found=bool(text), tool_usd=read_cost(answer))


def describe_result(result: SandboxResult) -> str:
    """Return what a model is shown of a run of its code."""
    if result.is_ok:
        return result.output.strip() or "the program printed nothing"
    if result.fault is not None:
        return f"the program was stopped ({result.fault})"
    return f"the program failed: {result.notes.strip()[-_NOTE_CHARS:]}"


def read_limits(action: Action) -> SandboxLimits:
    """Return the limits of a mode's sandbox."""
    limits = SandboxLimits()
    return replace(
        limits,
        timeout_s=action.timeout_s or limits.timeout_s,
        memory_mb=action.memory_mb or limits.memory_mb,
    )
