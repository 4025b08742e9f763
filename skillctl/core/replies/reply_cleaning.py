"""Words of a language model, made harmless: checked by a schema, on one line, and no orders to a later reader."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_SENTENCE = 240
_MAX_FAULT = 150
# What a description of an ability has no use for: links, and words that are meant for a reader that obeys.
_SUSPECT = re.compile(
    r"https?:|www\.|\b(ignore|disregard|forget|override)\b.{0,40}\b(instructions?|prompts?|rules|above|previous)\b"
    r"|\b(system prompt|you are now|as an ai)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")


def keep_valid(entries: Sequence[Any], schema: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the entries that are as a definition of the schema says."""
    validator = _validator(schema, kind)
    return [entry for entry in entries if validator.is_valid(entry)]


def find_fault(entries: Sequence[Any], schema: Mapping[str, Any], kind: str) -> tuple[str, str] | None:
    """Return where in an entry the first fault is and what it is, in bounded length."""
    errors = (error for entry in entries for error in _validator(schema, kind).iter_errors(entry))
    first = next(errors, None)
    if first is None:
        return None
    return ".".join(str(part) for part in first.path), clean_text(first.message, _MAX_FAULT)


def _validator(schema: Mapping[str, Any], kind: str) -> Any:  # noqa: ANN401 - the class is imported late
    from jsonschema import Draft202012Validator

    return Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": schema["$defs"]})


def is_suspect(text: str) -> bool:
    """Tell whether a text holds a link or an order to whoever reads it."""
    return _SUSPECT.search(text) is not None


def has_letters(text: str) -> bool:
    """Tell whether a text says anything."""
    return sum(char.isalpha() for char in text) > 1


def clean_text(text: str, limit: int) -> str:
    """Return a text on one line, without characters that cannot be seen, cut at a word."""
    kept = "".join(" " if char.isspace() else char for char in text if _is_shown(char))
    line = " ".join(kept.split())
    return line if len(line) <= limit else line[:limit].rsplit(" ", 1)[0]


def _is_shown(char: str) -> bool:
    return char.isspace() or unicodedata.category(char)[0] != "C"


def clean_sentence(text: str) -> str:
    """Return the first sentence with a capital and a full stop."""
    sentence = _SENTENCE_END.split(clean_text(text, MAX_SENTENCE), maxsplit=1)[0].rstrip(" .,;:")
    return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""
