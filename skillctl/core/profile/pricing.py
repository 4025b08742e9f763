"""What runs cost and will cost; unknown is never 0."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillctl.model.handbook import Price

_TOKENS_PER_MTOK = 1_000_000
_BYTES_PER_TOKEN = 4  # of English text; only for what is expected, never for limits
# What a chat template adds to each message, as an upper bound.
_TEMPLATE_TOKENS = 32
DEFAULT_COMPLETION_TOKENS = 256
DEFAULT_CONTEXT_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a call; ``None`` is unknown. ``cached`` is a part of ``prompt``."""

    prompt: float | None = None
    completion: float | None = None
    cached: float | None = None


def price_usage(price: Price | None, usage: Usage) -> float | None:
    """Return the cost of a call in US dollars, ``None`` where the price or the tokens are unknown.

    Cached tokens are part of the prompt's and cost their own price; without one, that of the others.
    """
    if price is None:
        return None
    cached = usage.cached or 0.0
    uncached = None if usage.prompt is None else max(0.0, usage.prompt - cached)
    cached_price = price.prompt_usd_per_mtok if price.cached_usd_per_mtok is None else price.cached_usd_per_mtok
    parts = (
        _product(price.prompt_usd_per_mtok, uncached),
        _product(cached_price, cached),
        _product(price.completion_usd_per_mtok, usage.completion),
    )
    known = [part for part in parts if part is not None]
    return sum(known) / _TOKENS_PER_MTOK if len(known) == len(parts) else None


def _product(price: float | None, tokens: float | None) -> float | None:
    """Multiply; nothing of an unknown price and any number of tokens that are free are both 0."""
    if price == 0 or tokens == 0:
        return 0.0
    return None if price is None or tokens is None else price * tokens


def is_priced(price: Price | None) -> bool:
    """Tell whether the cost of any call can be said."""
    return price is not None and price.prompt_usd_per_mtok is not None and price.completion_usd_per_mtok is not None


def expect_usage(
    prompt_bytes: int, *, profile: Usage, max_tokens: int | None, context_tokens: int | None = None
) -> Usage:
    """Return the tokens to expect of a call: the profile's mean where there is one, else a guess from the text."""
    completion = profile.completion
    if completion is None:
        completion = min(max_tokens or DEFAULT_COMPLETION_TOKENS, context_tokens or DEFAULT_CONTEXT_TOKENS)
    return Usage(prompt=float(-(-prompt_bytes // _BYTES_PER_TOKEN)), completion=float(completion))


def bound_usage(
    prompt_bytes: int, messages: int, *, max_tokens: int | None, context_tokens: int | None, replies: int = 1
) -> Usage:
    """Return more tokens than a call can take: a token is at least one byte."""
    longest = max_tokens or context_tokens or DEFAULT_CONTEXT_TOKENS
    return Usage(prompt=float(prompt_bytes + _TEMPLATE_TOKENS * (messages + 1)), completion=float(longest * replies))


def sum_known(costs: Iterable[float | None]) -> tuple[float, int]:
    """Return the sum of the known costs, and how many are unknown."""
    total, unknown = 0.0, 0
    for cost in costs:
        if cost is None:
            unknown += 1
        else:
            total += cost
    return total, unknown


class Budget:
    """Money that must not be passed: an upper bound is set aside before a call, the cost is booked after it.

    It is used from several threads at once.

    Args:
        limit_usd: The most to spend, ``None`` for no limit.
    """

    def __init__(self, limit_usd: float | None) -> None:
        self._limit_usd = limit_usd
        self._reserved: dict[str, float] = {}
        self._lock = threading.Lock()
        self.spent_usd = 0.0

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return self._limit_usd is not None

    def reserve(self, call: str, bound_usd: float) -> bool:
        """Set the bound of a call aside; ``False`` if that could pass the limit."""
        with self._lock:
            held = self.spent_usd + sum(self._reserved.values())
            if self._limit_usd is not None and held + bound_usd > self._limit_usd:
                return False
            self._reserved[call] = bound_usd
        return True

    def settle(self, call: str, cost_usd: float) -> None:
        """Book what a call really cost."""
        with self._lock:
            self._reserved.pop(call, None)
            self.spent_usd += cost_usd
