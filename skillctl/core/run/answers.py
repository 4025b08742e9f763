"""What an answer says, under the words that a language model wraps around it: text, a number, an option."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

from skillctl.core.replies.json_reply import strip_thinking

_ORPHAN_THINKING = re.compile(r"\A.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"\A```[^\n`]*\n(.*?)\n?```\Z", re.DOTALL)
_EMPHASIS = re.compile(r"\A(\*\*\*|\*\*|\*|__|`)(?!\s)([^\n]*?)(?<!\s)\1\Z")


def strip_wrapping(answer: str) -> str:
    """Return the answer without thinking blocks and outer whitespace.

    Some chat templates open the thinking block in the prompt, so that a reply only closes it.
    """
    return _ORPHAN_THINKING.sub("", strip_thinking(answer)).strip()


def strip_markup(text: str) -> str:
    """Return the content of a text that is one fenced block or one emphasised line, else the text."""
    fence = _FENCE.match(text)
    if fence:
        return fence[1].strip()
    emphasis = _EMPHASIS.match(text)
    if emphasis and emphasis[1] not in emphasis[2]:
        return emphasis[2].strip()
    return text


# --- words ---

_DELETED = frozenset(".'\N{RIGHT SINGLE QUOTATION MARK}")
_KEPT = frozenset("%#&@")  # they tell C from C# and 50 from 50%
_ARTICLES = frozenset({"a", "an", "the"})
_DIGIT_GROUP = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")


def normalise_words(text: str, *, keep_articles: bool = False) -> list[str]:
    """Return the words of a text: compatible forms, case, articles, punctuation and spacing made equal.

    As the SQuAD evaluation script does, but a decimal point, a minus sign and symbols with a meaning stay, and an
    article at the end stays, where it is a name (``vitamin A``).
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    folded = _DIGIT_GROUP.sub("", folded.replace("\N{MINUS SIGN}", "-"))
    words = "".join(_plain(folded, at) for at in range(len(folded))).split()
    if keep_articles:
        return words
    return [word for at, word in enumerate(words) if word not in _ARTICLES or at == len(words) - 1]


def _plain(text: str, at: int) -> str:
    character = text[at]
    if not unicodedata.category(character).startswith("P") or character in _KEPT:
        return character
    before = text[at - 1] if at else " "
    after = text[at + 1] if at + 1 < len(text) else " "
    is_in_number = after.isdecimal() and (
        (character == "." and (before.isdecimal() or before.isspace())) or (character == "-" and before.isspace())
    )
    if is_in_number:
        return character
    return "" if character in _DELETED else " "


# --- numbers ---

MAX_CHARACTERS = 200  # longer numbers are no answer
MAX_EXPONENT = 100

# An answer settles at its end; what is looked through is bounded, as some of the patterns are quadratic.
MAX_SETTLING = 10_000

_SPACES = "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"
_WHOLE = rf"[0-9]{{1,3}}(?:(?:,[0-9]{{2,3}})*,[0-9]{{3}}|(?:[{_SPACES}'_][0-9]{{3}})+)(?![0-9])|[0-9]+"
_DECIMAL = rf"(?:(?:{_WHOLE})(?:\.[0-9]+)?|\.[0-9]+)"
_NUMBER = re.compile(
    rf"(?<![\w^.])(?P<sign>[-+])?"
    rf"(?:(?:(?P<units>[0-9]+)\s+)?(?:\\[dt]?frac\{{(?P<tex_over>-?[0-9]+)\}}\{{(?P<tex_under>[0-9]+)\}}"
    rf"|(?P<over>[0-9]+)\s?[/\N{{FRACTION SLASH}}]\s?(?P<under>[0-9]+)(?![0-9/.]))"
    rf"|(?P<decimal>{_DECIMAL})"
    rf"(?:[eE](?P<exponent>[-+]?[0-9]+)(?!\w)"
    rf"|\s?(?:[x*]|\\times|\\cdot)\s?10\s?\^\s?\{{?(?P<power>[-+]?[0-9]+)\}}?)?)"
    rf"(?P<percent>\s?\\?%)?"
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_POWER_OF_TEN = re.compile(r"(?<=10)[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_LOOKALIKES = str.maketrans(
    {
        **{chr(ord("\N{FULLWIDTH DIGIT ZERO}") + digit): str(digit) for digit in range(10)},
        **dict.fromkeys("\N{MINUS SIGN}\N{FIGURE DASH}\N{NON-BREAKING HYPHEN}\N{FULLWIDTH HYPHEN-MINUS}", "-"),
        **dict.fromkeys("\N{MULTIPLICATION SIGN}\N{DOT OPERATOR}\N{MIDDLE DOT}", "x"),
        "\N{VULGAR FRACTION ONE HALF}": " 1/2",
        "\N{VULGAR FRACTION ONE QUARTER}": " 1/4",
        "\N{VULGAR FRACTION THREE QUARTERS}": " 3/4",
        **dict.fromkeys("$\N{EURO SIGN}\N{POUND SIGN}*`", " "),
    }
)
# Digits that are no quantity: dates, times, versions; masked before numbers are looked for.
_NO_QUANTITY = re.compile(
    r"(?<![\w.])(?:[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}|[0-9]{1,2}[/.][0-9]{1,2}[/.][0-9]{2,4}"
    r"|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?|[0-9]+(?:\.[0-9]+){2,})(?![\w])"
)
_ENUMERATOR = re.compile(r"^[ \t]*[0-9]{1,3}[.)](?=\s+\S)", re.MULTILINE)
_SIGNED_MONEY = re.compile(r"-\s?\\?(?=[$\N{EURO SIGN}\N{POUND SIGN}])(.)")
_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_MARKER = re.compile(r"(?:\banswer\b[^\n]{0,80}?(?:\bis\b|:|=)|####)", re.IGNORECASE)
_EQUALS = re.compile(r"(?<![=<>!:+*/%-])=(?!=)\s*(?=[-+]?\s?\\?[.0-9d\\])")
_SENTENCE_END = re.compile(r"[.!?](?=\s|\Z)|\n")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


class Number(NamedTuple):
    """A number that a text names, and whether it is followed by a percent sign."""

    value: Fraction
    is_percent: bool


def find_number(answer: str) -> Number | None:
    r"""Return the number that an answer settles on.

    That is one in ``\boxed{}``, else one after a word that announces the answer, else one after the last equals
    sign of the last sentence that has a number, else the last one. Blocks of code count only where no other text has
    a number: their assignments and literals are the way and not the result.
    """
    tail = answer[-MAX_SETTLING:]
    return _find_settled(_CODE.sub("\n", tail)) or _find_settled(tail)


def _find_settled(answer: str) -> Number | None:
    text = _NO_QUANTITY.sub(" ", _spell_out(answer))
    boxed = _BOXED.findall(text)
    if boxed:
        return _last_number(boxed[-1])
    for marker in reversed(list(_MARKER.finditer(text))):
        announced = _announced_number(text[marker.end() :])
        if announced is not None:
            return announced
    return _concluding_number(_ENUMERATOR.sub(" ", text)) or _last_number(text)


def _concluding_number(text: str) -> Number | None:
    """Look in the last sentence that has a number; what equals something there goes first."""
    for sentence in reversed(_SENTENCE_END.split(text)):
        found = _number_after_equals(sentence) or _last_number(sentence)
        if found is not None:
            return found
    return None


def _spell_out(answer: str) -> str:
    text = _POWER_OF_TEN.sub(lambda match: "^" + match[0].translate(_SUPERSCRIPTS), answer)
    text = _SIGNED_MONEY.sub(r"\1-", text.replace("\N{MINUS SIGN}", "-"))
    return text.translate(_LOOKALIKES).replace("\\$", " ").replace("\\,", "")


def _announced_number(rest: str) -> Number | None:
    """Look in the sentence that announces the answer, then in all that follows."""
    sentence = _SENTENCE_END.split(rest.lstrip(), maxsplit=1)[0]
    return _number_after_equals(sentence) or _first_number(sentence) or _first_number(rest)


def _number_after_equals(text: str) -> Number | None:
    for equals in reversed(list(_EQUALS.finditer(text))):
        match = _NUMBER.match(text, equals.end())
        if match:
            return _read_number(match)
    return None


def _first_number(text: str) -> Number | None:
    return next((number for match in _NUMBER.finditer(text) if (number := _read_number(match))), None)


def _last_number(text: str) -> Number | None:
    numbers = [number for match in _NUMBER.finditer(text) if (number := _read_number(match))]
    return numbers[-1] if numbers else None


def _read_number(match: re.Match[str]) -> Number | None:
    if len(match[0]) > MAX_CHARACTERS:
        return None
    value = _read_fraction(match) if match["decimal"] is None else _read_decimal(match)
    if value is None:
        return None
    is_negative = (match["sign"] or "").startswith("-")
    return Number(-value if is_negative else value, match["percent"] is not None)


def _read_fraction(match: re.Match[str]) -> Fraction | None:
    over, under = int(match["over"] or match["tex_over"]), int(match["under"] or match["tex_under"])
    return Fraction(over, under) + int(match["units"] or 0) if under else None


def _read_decimal(match: re.Match[str]) -> Fraction | None:
    exponent = int(match["exponent"] or match["power"] or 0)
    if abs(exponent) > MAX_EXPONENT:
        return None
    return Fraction(re.sub(rf"[,'_{_SPACES}]", "", match["decimal"])) * Fraction(10) ** exponent


# --- options ---

_ONLY_OPTION = re.compile(r"\A\W*(?:option|choice|answer)?\W*([A-Za-z])\W*\Z", re.IGNORECASE)
_AFTER = r"(?=\s*(?:\Z|[\n).,:;*\]}]|[-\N{EN DASH}\N{EM DASH}]|\b(?:because|since|as|which|and)\b))"
_ANNOUNCED = re.compile(
    rf"(?i:\b(?:answer|choice|option)\b[^\n.]{{0,60}}?(?:\bis\b|:)|\bboxed\{{)(?i:\s*(?:option|choice)\b)?[\s*(\[{{]*"
    rf"(?:([B-HJ-Z])\b|([A-Za-z]){_AFTER})"
)
_LEADING = re.compile(r"^[\s*(\[]*([A-Z])[)\].:]", re.MULTILINE)
_STANDING = re.compile(rf"(?<![\w'])(?:\(([A-Za-z])\)|([B-HJ-Z])(?![\w'])|([AI])(?![\w']){_AFTER})")
_DENIED = re.compile(
    r"\b(?:not|than|except|isn't|n't)\s+(?:(?:option|choice)\s+)?[*(]*([A-Z])\b"
    r"|(?:option|choice)?\s*[*(]*\b([A-Z])\b[*)]*\s+(?:is|are)\s+(?:not|wrong|incorrect|false)\b"
)


MAX_CHOOSING = 1_000  # characters at either end, for patterns that are quadratic


def find_option(answer: str) -> str | None:
    """Return the upper-case letter of the option that an answer chooses, ``None`` if it is none or several."""
    if len(answer) > 2 * MAX_CHOOSING:
        answer = f"{answer[:MAX_CHOOSING]}\n{answer[-MAX_CHOOSING:]}"
    only = _ONLY_OPTION.match(answer)
    if only:
        return only[1].upper()
    denied = {letter for match in _DENIED.finditer(answer) for letter in match.groups() if letter}
    for pattern in (_ANNOUNCED, _LEADING, _STANDING):
        found = {letter.upper() for match in pattern.finditer(answer) for letter in match.groups() if letter}
        if found - denied:
            return (found - denied).pop() if len(found - denied) == 1 else None
    return None
