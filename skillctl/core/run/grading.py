"""Scoring rules: whether an answer agrees with the reference, by a rule that the query declares."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple, cast, get_args

from skillctl.core.orchestrate.pattern_guard import find_pattern_fault
from skillctl.core.replies.json_reply import find_json_values
from skillctl.core.run.answers import find_number, find_option, normalise_words, strip_markup, strip_wrapping

Rule = Literal["exact", "normalized", "numeric", "choice", "contains", "regex", "json"]
RULES: tuple[str, ...] = get_args(Rule)

MAX_REGEX_ANSWER = 4_000  # characters; a pattern is not run on more
_PERCENT = 100
_SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class Scoring:
    """A rule with its settings.

    Attributes:
        rule: Name of the rule.
        tolerance: For ``numeric``: an answer may be off by so much.
        relative: For ``numeric``: or by this share of the reference.
        search: For ``regex``: whether the pattern may match a part of the answer.
    """

    rule: Rule = "exact"
    tolerance: float = 0.0
    relative: float = 0.0
    search: bool = False


class Verdict(NamedTuple):
    """Whether the answer is right, as a number from 0 to 1, and what was compared."""

    success: bool
    score: float
    detail: str


class UngradableError(ValueError):
    """An answer that the rule cannot be applied to; there is no verdict."""


def parse_scoring(value: object) -> Scoring:
    """Return the rule that a query declares: a name, or an object with ``rule`` and its settings.

    Raises:
        ValueError: In words, if it is neither.
    """
    settings: object = {"rule": value} if isinstance(value, str) else value
    if not isinstance(settings, Mapping):
        message = "scoring must be the name of a rule or an object with `rule`"
        raise ValueError(message)  # noqa: TRY004 - the caller reports one kind of fault
    rule: Any = settings.get("rule")
    if not isinstance(rule, str) or rule not in RULES:
        message = f"unknown scoring rule {rule!r}; use one of {', '.join(RULES)}"
        raise ValueError(message)
    allowed = {"numeric": {"tolerance", "relative"}, "regex": {"search"}}.get(rule, set())
    unknown = sorted(set(settings) - allowed - {"rule"})
    if unknown:
        message = f"the rule {rule!r} takes no {unknown[0]!r}"
        raise ValueError(message)
    return Scoring(
        rule=cast("Rule", rule),
        tolerance=_parse_amount(settings, "tolerance"),
        relative=_parse_amount(settings, "relative"),
        search=_parse_flag(settings, "search"),
    )


def _parse_amount(settings: Mapping[str, Any], key: str) -> float:
    value = settings.get(key, 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        message = f"{key} must be a number from 0 up"
        raise ValueError(message)
    return float(value)


def _parse_flag(settings: Mapping[str, Any], key: str) -> bool:
    value = settings.get(key, False)
    if not isinstance(value, bool):
        message = f"{key} must be true or false"
        raise ValueError(message)  # noqa: TRY004 - the caller reports one kind of fault
    return value


def find_reference_fault(reference: object, scoring: Scoring) -> str | None:
    """Return in words why the rule cannot be applied to a reference, ``None`` if it can.

    It is asked before any model is: a query that cannot be graded is a fault of the file.
    """
    for text in _texts(reference) if scoring.rule != "json" else ():
        fault = _find_text_fault(text, scoring)
        if fault:
            return fault
    return None


def _find_text_fault(text: str, scoring: Scoring) -> str | None:
    if scoring.rule == "numeric" and find_number(text) is None:
        return f"the reference {_shown(text)} holds no number"
    if scoring.rule == "choice" and find_option(text) is None:
        return f"the reference {_shown(text)} is no option letter"
    if scoring.rule in {"normalized", "contains"} and not normalise_words(text):
        return f"the reference {_shown(text)} holds no word"
    if scoring.rule == "regex":
        return find_pattern_fault(text)
    return None


def grade(answer: str, reference: object, scoring: Scoring) -> Verdict:
    """Return whether an answer agrees with the reference.

    Thinking blocks are taken off first. A reference that is a list gives alternatives, except for ``json``.

    Raises:
        UngradableError: If the rule cannot be applied, such as a pattern on a very long answer.
    """
    text = strip_wrapping(answer)
    if scoring.rule == "json":
        return _grade_json(text, reference)
    verdict = Verdict(success=False, score=0.0, detail="there is no reference")
    for alternative in _texts(reference):
        verdict = _GRADERS[scoring.rule](text, alternative, scoring)
        if verdict.success:
            break
    return verdict


def _texts(reference: object) -> list[str]:
    return [_text(item) for item in reference] if isinstance(reference, list) else [_text(reference)]


def _text(reference: object) -> str:
    return reference if isinstance(reference, str) else json.dumps(reference, ensure_ascii=False, sort_keys=True)


def _verdict(is_right: bool, found: object, wanted: object) -> Verdict:  # noqa: FBT001 - the verdict itself
    detail = f"{_shown(found)} {'agrees' if is_right else 'disagrees'} with {_shown(wanted)}"
    return Verdict(success=is_right, score=float(is_right), detail=detail)


def _shown(value: object) -> str:
    text = str(value)
    return repr(text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…")


def _grade_exact(answer: str, reference: str, _: Scoring) -> Verdict:
    wanted = reference.strip()
    return _verdict(wanted in (answer, strip_markup(answer)), answer, wanted)


def _grade_normalized(answer: str, reference: str, _: Scoring) -> Verdict:
    found, wanted = normalise_words(strip_markup(answer)), normalise_words(reference)
    return _verdict(found == wanted, " ".join(found), " ".join(wanted))


def _grade_contains(answer: str, reference: str, _: Scoring) -> Verdict:
    """One direction only: the reference occurs in the answer, as whole words in a row."""
    is_in = any(
        _occurs(normalise_words(reference, keep_articles=keep), normalise_words(answer, keep_articles=keep))
        for keep in (True, False)
    )
    return _verdict(is_in, answer, reference)


def _occurs(part: list[str], words: list[str]) -> bool:
    return f" {' '.join(part)} " in f" {' '.join(words)} "


def _grade_numeric(answer: str, reference: str, scoring: Scoring) -> Verdict:
    found, wanted = find_number(answer), find_number(reference)
    if found is None or wanted is None:
        return _verdict(False, answer, reference)  # noqa: FBT003 - the verdict itself
    # 50% names 50 in "what percentage" and 0.5 elsewhere, so either reading of one percent sign may agree.
    readings = [(found.value, wanted.value)]
    if found.is_percent and not wanted.is_percent:
        readings.append((found.value / _PERCENT, wanted.value))
    if wanted.is_percent and not found.is_percent:
        readings.append((found.value, wanted.value / _PERCENT))
    is_near = any(_is_near(value, target, scoring) for value, target in readings)
    return _verdict(is_near, float(found.value), float(wanted.value))


def _is_near(value: Fraction, target: Fraction, scoring: Scoring) -> bool:
    # The decimal that was written is meant, not the double next to it: 10.01 is within 0.01 of 10.
    absolute, relative = Fraction(repr(scoring.tolerance)), Fraction(repr(scoring.relative))
    return abs(value - target) <= max(absolute, relative * abs(target))


def _grade_choice(answer: str, reference: str, _: Scoring) -> Verdict:
    found, wanted = find_option(answer), find_option(reference)
    return _verdict(found is not None and found == wanted, found or answer, wanted)


def _grade_regex(answer: str, reference: str, scoring: Scoring) -> Verdict:
    fault = find_pattern_fault(reference)
    if fault:
        raise UngradableError(fault)
    if len(answer) > MAX_REGEX_ANSWER:
        message = f"the answer has {len(answer)} characters; a pattern is run on {MAX_REGEX_ANSWER} at most"
        raise UngradableError(message)
    pattern = re.compile(reference)
    texts = {answer, strip_markup(answer)}
    matched = any(pattern.search(text) if scoring.search else pattern.fullmatch(text) for text in texts)
    return _verdict(matched, answer, reference)


def _grade_json(answer: str, reference: object) -> Verdict:
    wanted = _decode(reference) if isinstance(reference, str) else reference
    found = _find_json(answer)
    try:
        is_right = any(_is_same(value, wanted) for value in found[-1:])
    except RecursionError as error:
        message = "the JSON is nested too deeply"
        raise UngradableError(message) from error
    return _verdict(is_right, answer, wanted)


def _decode(text: str) -> object:
    """Return the JSON value that a text spells, or the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _find_json(answer: str) -> list[Any]:
    for text in (answer, strip_markup(answer)):
        try:
            return [json.loads(text)]
        except (ValueError, RecursionError):
            continue
    return find_json_values(answer)


def _is_same(left: object, right: object) -> bool:
    """Compare by value: 1 is 1.0 but not true, and the order of keys is free."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_is_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_is_same, left, right))
    return bool(left == right)


_GRADERS: dict[str, Callable[[str, str, Scoring], Verdict]] = {
    "exact": _grade_exact,
    "normalized": _grade_normalized,
    "numeric": _grade_numeric,
    "choice": _grade_choice,
    "contains": _grade_contains,
    "regex": _grade_regex,
}
