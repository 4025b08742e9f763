"""Evidence that decays with age, in runs or in time."""

from __future__ import annotations

import re
from typing import NamedTuple

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PATTERN = re.compile(r"(\d+(?:\.\d+)?)([a-z]*)")


class HalfLife(NamedTuple):
    """The age at which evidence counts half.

    Attributes:
        amount: In runs of the same agent in the same mode, or in seconds.
        is_time: Whether it is in seconds.
    """

    amount: float
    is_time: bool


def parse_half_life(text: str) -> HalfLife:
    """Return the half-life that a text says: ``500`` (runs), ``30d``, ``12h``, ``2w``, ``90m`` or ``45s``.

    Raises:
        ValueError: In words, if the text says none.
    """
    match = _PATTERN.fullmatch(text)
    unit = match[2] if match else "?"
    if match is None or (unit and unit not in _SECONDS) or float(match[1]) <= 0:
        message = f"{text!r} is no half-life; give a number of runs such as 500, or a time such as 12h, 30d or 2w"
        raise ValueError(message)
    return HalfLife(float(match[1]) * _SECONDS.get(unit, 1.0), bool(unit))
