from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from skillctl.core.run.conversation import Conversation, Decision, Turn
from skillctl.errors import OutsideError
from skillctl.llm.acting import ModeActor, Tools, describe_result, read_limits
from skillctl.llm.base import Completion
from skillctl.llm.programs import ProgramRunner
from skillctl.llm.sandbox import Sandbox, SandboxLimits, SandboxResult
from skillctl.llm.scripted import Reply, ScriptedCompleter
from skillctl.model.handbook import Action, Agent, AgentId, Handbook, Mode, ModeId, Price

if TYPE_CHECKING:
    from pathlib import Path

ASK = Conversation("q1", "What is 6 * 7?", ({"role": "user", "content": "What is 6 * 7?"},))
ACTIONS = {
    "answer": None,
    "code": Action("code", is_final=True),
    "draft": Action("code"),
    "search": Action("search", corpus="c", results=1),
    "shell": Action("command", command=("python", "tool.py")),
}
BOOK = Handbook(
    "h",
    modes={ModeId(name): Mode(ModeId(name), action=action) for name, action in ACTIONS.items()},
    agents={
        AgentId("m"): Agent(AgentId("m"), model="x", price=Price(1.0, 2.0)),
        AgentId("u"): Agent(AgentId("u"), model="x"),
        AgentId("library"): Agent(AgentId("library")),
    },
)


class Shelf:
    def search(self, terms: str, results: int) -> list[tuple[str, str]]:
        return [("Products", f"about {terms}")][:results] if "6" in terms else []


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    script = "import json, sys\nr = json.load(sys.stdin)\nprint(json.dumps({'answer': r['reply'].upper() or None}))"
    (tmp_path / "tool.py").write_text(script, encoding="utf-8")
    return tmp_path


def act(reply: Reply, mode: str, folder: Path, agent: str = "m") -> Turn:
    sandbox = Sandbox(SandboxLimits(timeout_s=5))
    tools = Tools({"search": Shelf()}, {"code": sandbox, "draft": sandbox}, ProgramRunner())
    actor = ModeActor(BOOK, folder, ScriptedCompleter([reply]), tools, timeout_s=5)
    return actor.act(ASK, Decision(mode, agent))


def test_an_answer_is_what_the_model_says_at_the_agents_price(tmp_path: Path) -> None:
    turn = act(Completion("42", prompt_tokens=1000, completion_tokens=500), "answer", tmp_path)
    assert (turn.observation, turn.is_answer, turn.succeeded) == ("42", True, None)
    assert turn.cost_usd == pytest.approx(0.002)
    assert (turn.prompt_tokens, turn.completion_tokens) == (1000, 500)


def test_a_price_that_nobody_knows_stays_unknown(tmp_path: Path) -> None:
    assert act(Completion("42", prompt_tokens=1000), "answer", tmp_path, "u").cost_usd is None


def test_code_that_prints_is_an_answer_where_the_mode_is_final_and_a_finding_elsewhere(tmp_path: Path) -> None:
    reply = "```python\nprint(6 * 7)\n```"
    final, draft = act(reply, "code", tmp_path), act(reply, "draft", tmp_path)
    assert (final.action, final.observation, final.is_answer, final.succeeded) == ("print(6 * 7)\n", "42", True, None)
    assert (draft.observation, draft.is_answer, draft.succeeded) == ("42", False, True)


@pytest.mark.parametrize(
    ("reply", "observation"),
    [
        ("It is 42.", "the reply holds no program"),
        ("```python\nx = 1\n```", "the program printed nothing"),
        ("```python\n1 / 0\n```", "ZeroDivisionError: division by zero"),
    ],
)
def test_code_that_comes_to_nothing_is_a_failure_of_the_agent(tmp_path: Path, reply: str, observation: str) -> None:
    turn = act(reply, "code", tmp_path)
    assert (turn.is_answer, turn.succeeded, turn.error) == (False, False, None)
    assert observation in turn.observation


def test_an_agent_without_a_model_looks_the_query_up_for_nothing(tmp_path: Path) -> None:
    turn = act("unused", "search", tmp_path, "library")
    assert (turn.action, turn.observation) == ("What is 6 * 7?", "Products: about What is 6 * 7?")
    assert (turn.succeeded, turn.is_answer, turn.cost_usd) == (True, False, 0.0)


def test_a_search_that_finds_nothing_failed(tmp_path: Path) -> None:
    turn = act("zeppelin", "search", tmp_path)
    assert (turn.action, turn.observation, turn.succeeded) == ("zeppelin", "nothing was found", False)


def test_a_command_gets_the_reply_and_says_what_came_of_it(tool: Path) -> None:
    turn = act("abc", "shell", tool)
    assert (turn.observation, turn.succeeded) == ("ABC", True)
    assert act("", "shell", tool).succeeded is False


def test_an_outside_failure_is_a_turn_with_an_error(tmp_path: Path) -> None:
    turn = act(OutsideError("too late", code="timeout"), "answer", tmp_path)
    assert (turn.error, turn.error_message, turn.succeeded) == ("timeout", "too late", None)
    broken = act("x", "shell", tmp_path)  # there is no such program
    assert broken.error == "command_failed"


def test_what_was_stopped_says_why() -> None:
    result = SandboxResult("", "", -9, "timeout")
    assert describe_result(result) == "the program was stopped (timeout)"
    assert describe_result(replace(result, output=" 42\n", exit_code=0, fault=None)) == "42"


def test_a_mode_sets_the_limits_of_its_sandbox() -> None:
    assert read_limits(Action("code", timeout_s=2.5, memory_mb=64)) == SandboxLimits(timeout_s=2.5, memory_mb=64)
    assert read_limits(Action("code")) == SandboxLimits()
