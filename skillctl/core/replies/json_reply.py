"""JSON values in what a language model replied: fenced or bare, with prose and thinking around them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_OPENING = re.compile(r"[{\[]")
# A reply is untrusted: bounded work on it, whatever it holds.
_MAX_CHARACTERS = 200_000
_MAX_ATTEMPTS = 2_000


def strip_thinking(reply: str) -> str:
    """Return the reply without its thinking blocks; a block that is never closed reaches to the end."""
    return _THINKING.sub("", reply)


def find_json_values(reply: str) -> list[Any]:
    """Return every outermost JSON object and array in a reply, in order.

    Fences and prose are skipped because a value is recognised by decoding it, so fences within its strings do no
    harm; NaN and infinities are no JSON. A truncated value is not found, but whole values within it are.
    """
    return list(_decode_all(strip_thinking(reply)[:_MAX_CHARACTERS]))


def _decode_all(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(parse_constant=_refuse)
    position = 0
    for _ in range(_MAX_ATTEMPTS):
        opening = _OPENING.search(text, position)
        if opening is None:
            return
        try:
            value, position = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            position = opening.start() + 1
        else:
            yield value


def _refuse(constant: str) -> None:
    message = f"{constant} is not JSON"
    raise ValueError(message)


class ReplyFaultError(ValueError):
    """Says in words why a reply cannot be used: to people, and to the model that is asked to repair it."""
