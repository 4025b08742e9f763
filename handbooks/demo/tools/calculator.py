"""A calculator agent: finds one arithmetic expression in a query and evaluates it exactly.

Reads one JSON request on stdin, {"query": …, "messages": […], "mode": …, "agent": …}, and prints {"answer": …}.
"""

from __future__ import annotations

import ast
import json
import math
import re
import sys
from collections.abc import Callable
from fractions import Fraction

NOTHING_FOUND = "no arithmetic expression found"
MAX_QUERY_CHARS = 4_000
MAX_EXPRESSION_CHARS = 300
MAX_BITS = 1_000  # of any intermediate result; a float holds 1,023

_N = r"(?<![\w.])\(?(-?\d{1,40}(?:\.\d{1,40})?)\)?"

# How people say it, and how Python does. Applied in this order, so the longer phrases come first.
_PHRASES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"\d{4}-\d\d-\d\d|\d\d?:\d\d", " ; "),  # dates and clock times are not sums
        (r"(?<=\d),(?=\d{3}(?!\d))", ""),
        (r"[\u00d7\u00b7]", "*"),  # multiplication sign, middle dot
        (r"\u00f7", "/"),
        (r"[\u2212\u2013]", "-"),  # minus sign, en dash
        (r"\^", "**"),
        (rf"remainder (?:of|when|from) {_N} (?:is )?divided by {_N}", r"(\1 % \2)"),
        (rf"subtract {_N} from {_N}", r"(\2 - \1)"),
        (rf"(?:add|sum of) {_N} (?:to|and) {_N}", r"(\1 + \2)"),
        (rf"difference (?:of|between) {_N} and {_N}", r"(\1 - \2)"),
        (rf"(?:product of|multiply) {_N} (?:and|by|with) {_N}", r"(\1 * \2)"),
        (rf"(?:quotient of|divide) {_N} (?:and|by) {_N}", r"(\1 / \2)"),
        (rf"{_N} ?(?:%|percent|per cent) of {_N}", r"(\1 / 100 * \2)"),
        (rf"(\d+/\d+) of {_N}", r"(\1 * \2)"),
        (rf"square root of {_N}", r"((\1) ** 0.5)"),
        (rf"(?:{_N} squared|square of {_N})", r"((\1\2) ** 2)"),
        (rf"(?:{_N} cubed|cube of {_N})", r"((\1\2) ** 3)"),
        (r"(?:raised )?to the power (?:of )?(?=\d)", "** "),
        (r"\b(?:multiplied by|times)\b", "*"),
        (r"\bdivided by\b", "/"),
        (r"\bplus\b", "+"),
        (r"\bminus\b", "-"),
        (r"\bmod(?:ulo)?\b", "%"),
    )
)
_CANDIDATE = re.compile(r"[-+( \t]{0,40}(?<![\w.])\d(?:[\d \t()+\-*/%]|\.(?=\d))*(?!\w)")
_OPERATION = re.compile(r"[\d)]\s*(?:\*\*|//|[-+*/%])\s*[-+(\s]*\d")


def answer(query: str) -> str:
    """Evaluate the longest arithmetic expression in a query, or say that there is none."""
    text = query[:MAX_QUERY_CHARS]
    for pattern, replacement in _PHRASES:
        text = pattern.sub(replacement, text)
    candidates = (match[0].strip() for match in _CANDIDATE.finditer(text))
    for candidate in sorted(filter(_OPERATION.search, candidates), key=len, reverse=True):
        result = evaluate(candidate)
        if result is not None:
            return render(result)
    return NOTHING_FOUND


def evaluate(expression: str) -> Fraction | None:
    """Evaluate an arithmetic expression, or return None where it is malformed, undefined or too large."""
    if len(expression) > MAX_EXPRESSION_CHARS:
        return None
    trimmed = expression.rstrip(" \t+-*/%(")
    try:
        return _value(ast.parse(trimmed.strip(), mode="eval").body)
    except (ArithmeticError, MemoryError, RecursionError, SyntaxError, ValueError):
        return None


def render(number: Fraction) -> str:
    """Write a number as an integer where it is one, else as a decimal of up to ten places."""
    if number.denominator == 1:
        return str(number.numerator)
    return f"{float(number):.10f}".rstrip("0").rstrip(".")


def _value(node: ast.expr) -> Fraction:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return Fraction(str(number))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return _bounded(_OPERATORS[type(operator)](_value(left), _value(right)))
        case _:
            raise ValueError  # a name, a call, an operator that is not arithmetic


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent == Fraction(1, 2):
        return _square_root(base)
    if exponent.denominator != 1:
        raise ValueError  # an irrational result
    if _bits(base) * abs(exponent) > MAX_BITS:
        raise OverflowError
    return Fraction(base ** int(exponent))


def _square_root(number: Fraction) -> Fraction:
    if number < 0:
        raise ValueError  # not a real number
    root = Fraction(math.isqrt(number.numerator), math.isqrt(number.denominator))
    return root if root * root == number else Fraction(math.sqrt(number))


def _bounded(number: Fraction) -> Fraction:
    if _bits(number) > MAX_BITS:
        raise OverflowError
    return number


def _bits(number: Fraction) -> int:
    return max(number.numerator.bit_length(), number.denominator.bit_length())


_OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: Fraction(a // b),
    ast.Mod: lambda a, b: a % b,
    ast.Pow: _power,
}


def read_query(text: str) -> str:
    """Take the query out of a JSON request.

    Raises:
        ValueError: The text is not a JSON object with a query.
    """
    match json.loads(text):
        case {"query": str(query)}:
            return query
        case _:
            message = "not a JSON object with a query"
            raise ValueError(message)


def main() -> int:
    """Answer the request on stdin; return 2 when it is not a request."""
    try:
        query = read_query(sys.stdin.buffer.read().decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        sys.stderr.write(f"calculator: bad request on stdin: {error}\n")
        return 2
    sys.stdout.write(json.dumps({"answer": answer(query)}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
