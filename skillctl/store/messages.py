"""A conversation in chat format, and what of it decides which skills are needed now.

The text is the last user message, followed by recent context that never outweighs it: first what came after that
message (tool calls, tool results, the assistant's words), then what came before, each newest first, together at most
as long as the user message or ``MIN_CONTEXT`` characters, whichever is more. System messages say how to behave rather
than what is asked; they count only where nothing else has text. The whole is cut at ``MAX_TEXT`` characters.

An agent failed in the conversation when an assistant message that carries its id (``agent``, else ``name``) says
``"success": false``, or when the message after it, of a tool or the user, says ``"success": false`` or
``"is_error": true``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

MAX_TEXT = 20_000  # characters
MIN_CONTEXT = 400  # characters


class Conversation(NamedTuple):
    """What routing needs of a conversation: its text now, and who failed in it, once per failure."""

    text: str
    failed: tuple[str, ...]


def read_conversation(messages: object) -> Conversation:
    """Return the text that decides and the agents that failed.

    Raises:
        ValueError: In words, if these are no chat messages.
    """
    if not isinstance(messages, list) or not messages:
        error = "messages must be a list that is not empty"
        raise ValueError(error)
    turns = [_read_turn(message, index) for index, message in enumerate(messages)]
    return Conversation(_choose_text(turns), _find_failed(messages))


class _Turn(NamedTuple):
    role: str
    text: str


def _read_turn(message: object, index: int) -> _Turn:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        error = f"messages[{index}] must be an object with a role"
        raise ValueError(error)  # noqa: TRY004 - the caller catches one kind
    parts = [_read_content(message.get("content"), index), *_read_tool_calls(message.get("tool_calls"))]
    return _Turn(message["role"], "\n".join(part for part in parts if part))


def _read_content(content: object, index: int) -> str:
    """Return the text of a message's content: text, or parts of which those without text are left out."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        error = f"messages[{index}].content must be text, a list of parts or null"
        raise ValueError(error)  # noqa: TRY004 - the caller catches one kind
    return "\n".join(text for part in content if (text := _read_part(part, index)))


def _read_part(part: object, index: int) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    if isinstance(part.get("text"), str):
        return str(part["text"])
    if part.get("type") == "tool_use":
        return _show_call(part.get("name"), part.get("input"))
    if part.get("type") == "tool_result":
        return _read_content(part.get("content"), index)
    return ""


def _read_tool_calls(calls: object) -> list[str]:
    if not isinstance(calls, list):
        return []
    functions = [call.get("function") for call in calls if isinstance(call, dict)]
    return [_show_call(call.get("name"), call.get("arguments")) for call in functions if isinstance(call, dict)]


def _show_call(name: object, arguments: object) -> str:
    shown = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode() if arguments else ""
    return f"{name or ''} {shown}".strip()


def _choose_text(turns: list[_Turn]) -> str:
    spoken = [turn for turn in turns if turn.role not in {"system", "developer"} and turn.text] or turns
    users = [index for index, turn in enumerate(spoken) if turn.role == "user"]
    now = users[-1] if users else len(spoken) - 1
    text = spoken[now].text[:MAX_TEXT]
    room = min(max(len(text), MIN_CONTEXT), MAX_TEXT - len(text))
    for turn in [*reversed(spoken[now + 1 :]), *reversed(spoken[:now])]:
        if room <= 1:
            break
        piece = turn.text[: room - 1]
        text += f"\n{piece}"
        room -= len(piece) + 1
    return text


def _find_failed(messages: list[Any]) -> tuple[str, ...]:
    failed = []
    for message, following in zip(messages, [*messages[1:], {}], strict=True):
        agent = message.get("agent") or message.get("name")
        if message["role"] != "assistant" or not isinstance(agent, str):
            continue
        was_refuted = following.get("role") in {"tool", "user"} and _is_failure(following)
        if message.get("success") is False or was_refuted:
            failed.append(agent)
    return tuple(failed)


def _is_failure(message: dict[str, Any]) -> bool:
    return message.get("success") is False or message.get("is_error") is True
