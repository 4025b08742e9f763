"""Builds prompts: our own words from files, and everything else as data between fences that it cannot close."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

Messages = tuple["Mapping[str, str]", ...]
_FENCE_BYTES = 12


@cache
def load_template(name: str) -> Template:
    """Return the text of a prompt with its places."""
    return Template((files("skillctl.llm") / "prompts" / f"{name}.txt").read_text(encoding="utf-8"))


def build_messages(name: str, data: str, **words: str) -> Messages:
    """Return a prompt as system message, and the data between fences as the user's.

    The fence is a digest of the data: whoever wrote the data could not put it there, and the same data gives the same
    prompt, whose reply is in the cache. The system message is the same for all data, so that providers can keep it.
    """
    fence = blake2b(f"{name}\0{data}".encode("utf-8", "replace"), digest_size=_FENCE_BYTES).hexdigest()
    return (
        {"role": "system", "content": load_template(name).substitute(words)},
        {"role": "user", "content": f"<<<{fence}\n{data}\n{fence}>>>\nReply with the JSON alone."},
    )


def build_repair(messages: Messages, reply: str, fault: str) -> Messages:
    """Return the conversation that asks to repair a reply."""
    words = load_template("repair").substitute(fault=fault)
    return (*messages, {"role": "assistant", "content": reply}, {"role": "user", "content": words})
