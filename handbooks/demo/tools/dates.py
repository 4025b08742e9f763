"""A date and unit agent: weekdays, days between dates, shifted dates, leap years, and exact unit conversions.

Reads one JSON request on stdin, {"query": …, "messages": […], "mode": …, "agent": …}, and prints {"answer": …}.
"""

from __future__ import annotations

import calendar
import json
import re
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from fractions import Fraction

NOTHING_FOUND = "no date or unit question found"
MAX_QUERY_CHARS = 4_000

_MONTHS = {name.lower(): i for names in (calendar.month_name, calendar.month_abbr) for i, name in enumerate(names) if i}
_MONTH = "(?:" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_DATE = re.compile(
    r"\b(?P<y1>\d{4})-(?P<m1>\d\d)-(?P<d1>\d\d)\b"
    rf"|\b(?P<d2>\d\d?)(?:st|nd|rd|th)?(?: of)? (?P<m2>{_MONTH}),? (?P<y2>\d{{4}})\b"
    rf"|\b(?P<m3>{_MONTH}) (?P<d3>\d\d?)(?:st|nd|rd|th)?,? (?P<y3>\d{{4}})\b",
    re.IGNORECASE,
)
_NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_COUNT = r"(?P<count>\d{1,6}|" + "|".join(_NUMBER_WORDS) + ")"
_OFFSET = re.compile(
    rf"\b{_COUNT} (?P<unit>day|week)s? (?P<way>after|later|from|before|earlier|prior)\b"
    r"|\bthe (?P<single>day) (?P<single_way>after|before)\b",
    re.IGNORECASE,
)

# Dimension, names, and size in the dimension's base unit: exact by definition.
_UNITS = (
    ("length", "millimetre, mm", "0.001"),
    ("length", "centimetre, cm", "0.01"),
    ("length", "metre, m", "1"),
    ("length", "kilometre, km", "1000"),
    ("length", "inch", "0.0254"),
    ("length", "foot, feet, ft", "0.3048"),
    ("length", "yard, yd", "0.9144"),
    ("length", "mile", "1609.344"),
    ("mass", "milligram, mg", "0.001"),
    ("mass", "gram, g", "1"),
    ("mass", "kilogram, kg", "1000"),
    ("mass", "tonne", "1000000"),
    ("mass", "ounce, oz", "28.349523125"),
    ("mass", "pound, lb", "453.59237"),
    ("time", "second", "1"),
    ("time", "minute", "60"),
    ("time", "hour", "3600"),
    ("time", "day", "86400"),
    ("time", "week", "604800"),
    ("months", "month", "1"),
    ("months", "year", "12"),
    ("volume", "millilitre, ml", "0.001"),
    ("volume", "centilitre, cl", "0.01"),
    ("volume", "litre, l", "1"),
    ("area", "square metre", "1"),
    ("area", "hectare", "10000"),
    ("area", "square kilometre", "1000000"),
    ("data", "byte", "1"),
    ("data", "kib", "1024"),
    ("data", "mib", "1048576"),
    ("data", "gib", "1073741824"),
    ("speed", "metres per second, m/s", "1"),
    ("speed", "kilometres per hour, km/h", "5/18"),
)
_SIZES = {name: (dimension, Fraction(size)) for dimension, names, size in _UNITS for name in names.split(", ")}
_NAMES = "|".join(re.escape(name) for name in sorted(_SIZES, key=len, reverse=True))
_UNIT = rf"(?:{_NAMES.replace('tre', 't(?:re|er)')})(?:e?s)?(?![\w/])"
_QUANTITY = re.compile(rf"(?<![\w.])(?P<number>\d+(?:,\d{{3}})*(?:\.\d+)?) ?(?P<unit>{_UNIT})", re.IGNORECASE)
_TARGET = re.compile(rf"\b(?:how many|in(?:to)?|to|as) (?P<unit>{_UNIT})", re.IGNORECASE)
_GIVEN_FACTOR = re.compile(rf"\b1 {_UNIT} (?:=|is|equals) [\d.,]+ ?{_UNIT}", re.IGNORECASE)
_DEGREES = re.compile(
    r"(?<![\w.])(?P<number>[-\u2212]?\d{1,40}(?:\.\d{1,40})?) ?(?:°|degrees?)? ?(?P<unit>celsius|fahrenheit|[CF]\b)",
    re.IGNORECASE,
)


def answer(query: str) -> str:
    """Answer a question about dates or units, or say that the query holds none."""
    text = query[:MAX_QUERY_CHARS]
    for solve in (solve_dates, solve_leap_year, solve_temperature, solve_conversion):
        try:
            result = solve(text)
        except (ValueError, OverflowError):  # no such day, or outside the calendar
            continue
        if result is not None:
            return result
    return NOTHING_FOUND


def find_dates(text: str) -> Iterator[date]:
    """Find the dates written in a text, in order.

    Raises:
        ValueError: A date does not exist.
    """
    for match in _DATE.finditer(text):
        form = next(form for form in "123" if match["y" + form])
        month = match["m" + form].lower().rstrip(".")
        number = int(month) if month.isdigit() else _MONTHS[month]
        yield date(int(match["y" + form]), number, int(match["d" + form]))


def solve_dates(text: str) -> str | None:
    """Answer with the days between two dates, a date's weekday, or the date some days away from one."""
    dates = list(find_dates(text))
    match dates:
        case []:
            return None
        case [first, second] if re.search(r"\bdays\b", text, re.IGNORECASE):
            return str(abs((second - first).days))
    if offset := _OFFSET.search(text):
        return (dates[0] + _read_offset(offset)).isoformat()
    if re.search(r"weekday|day of the week", text, re.IGNORECASE):
        return calendar.day_name[dates[-1].weekday()]
    return None


def _read_offset(match: re.Match[str]) -> timedelta:
    count, unit, way = match["count"] or "1", match["unit"] or match["single"], match["way"] or match["single_way"]
    number = int(count) if count.isdigit() else _NUMBER_WORDS.index(count.lower()) + 1
    days = number * (7 if unit.lower() == "week" else 1)
    return timedelta(days=-days if way.lower() in {"before", "earlier", "prior"} else days)


def solve_leap_year(text: str) -> str | None:
    """Answer whether a year is a leap year."""
    year = re.search(r"\b\d{4}\b", text)
    if year is None or not re.search(r"\bleap year\b", text, re.IGNORECASE):
        return None
    return "yes" if calendar.isleap(int(year[0])) else "no"


def solve_temperature(text: str) -> str | None:
    """Convert degrees Celsius to Fahrenheit or back."""
    given = _DEGREES.search(text)
    if given is None:
        return None
    degrees, unit = Fraction(given["number"].replace("\u2212", "-")), given["unit"][0].upper()
    rest = text[: given.start()] + text[given.end() :]
    if unit == "C" and re.search(r"fahrenheit|(?:°|degrees?) ?F\b", rest, re.IGNORECASE):
        return render(degrees * 9 / 5 + 32)
    if unit == "F" and re.search(r"celsius|(?:°|degrees?) ?C\b", rest, re.IGNORECASE):
        return render((degrees - 32) * 5 / 9)
    return None


def solve_conversion(text: str) -> str | None:
    """Convert a quantity, such as 2 hours and 15 minutes, to the unit asked for."""
    text = _GIVEN_FACTOR.sub(" ", text)
    target = _TARGET.search(text)
    quantities = [(match["number"], _unit_size(match["unit"])) for match in _QUANTITY.finditer(text)]
    if target is None or not quantities:
        return None
    dimension, size = _unit_size(target["unit"])
    if any(other != dimension for _, (other, _) in quantities):
        return None
    return render(sum(Fraction(number.replace(",", "")) * factor for number, (_, factor) in quantities) / size)


def _unit_size(name: str) -> tuple[str, Fraction]:
    name = name.lower().replace("meter", "metre").replace("liter", "litre")
    return next(_SIZES[key] for key in (name, name.removesuffix("s"), name.removesuffix("es")) if key in _SIZES)


def render(number: Fraction) -> str:
    """Write a number as an integer where it is one, else as a decimal of up to six places."""
    if number.denominator == 1:
        return str(number.numerator)
    return f"{float(number):.6f}".rstrip("0").rstrip(".")


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
        sys.stderr.write(f"dates: bad request on stdin: {error}\n")
        return 2
    sys.stdout.write(json.dumps({"answer": answer(query)}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
