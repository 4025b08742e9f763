"""How an agent is told what to do in a step: its playbook, else that of the skill, else that of the mode."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from skillctl.core.run.answers import strip_wrapping
from skillctl.model.handbook import Playbook, PlaybookId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillctl.core.run.conversation import Conversation, Decision
    from skillctl.model.handbook import ActionKind, Agent, Handbook

OBSERVATION_CHARS = 2_000
BUILT_IN: Mapping[ActionKind, Playbook] = {
    "answer": Playbook(PlaybookId("answer")),
    "code": Playbook(
        PlaybookId("code"),
        instructions="You write short Python programs that use the standard library only.",
        # After the question: a model follows what it reads last, such as "answer with the number only".
        input=(
            "{observations}\n\nQuestion: {query}\n\nDo not answer the question. Write a Python program that computes "
            "the answer and prints it. Reply with the program in one ```python block."
        ),
    ),
    "search": Playbook(
        PlaybookId("search"),
        instructions=(
            "Name the words to look up in a document search so that the question can be answered. "
            "Reply with two to six words and nothing else."
        ),
    ),
    "command": Playbook(PlaybookId("command")),
}
_FENCE = re.compile(r"```[ \t]*(?:python3?|py)?[ \t]*\r?\n(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
_SLOT = re.compile(r"\{(query|observations)\}")


def choose_playbook(handbook: Handbook, agent: Agent, decision: Decision) -> Playbook:
    """Return the playbook of a step: the agent's own, that of the heaviest skill or its nearest ancestor, the mode's.

    A skill's playbook that needs tools which the agent does not have is passed over.

    Raises:
        KeyError: If a playbook is named that the handbook does not have.
    """
    mode = next(mode for mode in handbook.modes.values() if mode.id == decision.mode)
    name = agent.playbook or _find_skill_playbook(handbook, agent, decision) or mode.playbook
    return handbook.playbooks[name] if name else BUILT_IN[mode.action.kind if mode.action else "answer"]


def _find_skill_playbook(handbook: Handbook, agent: Agent, decision: Decision) -> PlaybookId | None:
    skills = {str(skill.id): skill for skills in handbook.skills.values() for skill in skills}
    for name, _ in sorted(decision.skills.items(), key=lambda item: (-item[1], item[0])):
        skill = skills.get(name)
        while skill is not None:
            if skill.playbook is not None and set(handbook.playbooks[skill.playbook].tools) <= set(agent.tools):
                return skill.playbook
            skill = skills.get(skill.parent) if skill.parent else None
    return None


def build_messages(playbook: Playbook, conversation: Conversation) -> tuple[Mapping[str, Any], ...]:
    """Return what a model is sent in a step.

    A first step without instructions gets the query's own messages, so that its reply is shared with explore.
    """
    found = "\n\n".join(
        f"[{turn.decision.mode}] {turn.observation[:OBSERVATION_CHARS]}" for turn in conversation.observations
    )
    if not playbook.instructions and not playbook.input and not found:
        return conversation.messages
    template = playbook.input or ("{observations}\n\n{query}" if found else "{query}")
    values = {"query": conversation.text, "observations": found}
    content = _SLOT.sub(lambda slot: values[slot[1]], template)
    system = [{"role": "system", "content": playbook.instructions}] if playbook.instructions else []
    return (*system, {"role": "user", "content": content})


def find_code(reply: str) -> str | None:
    """Return the Python program in a reply: its last fenced block, or all of it where that is Python by itself."""
    text = strip_wrapping(reply)
    blocks = [block for block in _FENCE.findall(text) if block.strip()]
    if blocks:
        return str(blocks[-1])
    text = text.strip()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    # One word or one number is Python too, but no program.
    is_program = any(not isinstance(node, ast.Expr) or isinstance(node.value, ast.Call) for node in tree.body)
    return text if is_program else None
