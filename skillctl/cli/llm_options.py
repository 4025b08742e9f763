"""Options that all commands share which may ask a language model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from skillctl.core.profile.pricing import Budget

Command = Callable[..., Any]
# Where a command that runs others leaves the budget that they share, in click's ``meta``.
SHARED_BUDGET = "skillctl.budget"


@dataclass(frozen=True, slots=True)
class LlmOptions:
    """How a language model is asked.

    Attributes:
        api_base: Endpoint, instead of the provider's own.
        max_cost: The most to spend in US dollars, ``None`` for no limit.
        timeout: Seconds of a call.
        retries: Repeats of a call that failed outside.
        budget: Shared with what else spends; without it the models have ``max_cost`` for themselves.
    """

    api_base: str | None = None
    max_cost: float | None = None
    timeout: float = 120.0
    retries: int = 4
    budget: Budget | None = None

    def to_words(self) -> tuple[str, ...]:
        """Return the options as a command line gives them."""
        given = {
            "--api-base": self.api_base,
            "--max-cost": self.max_cost,
            "--timeout": self.timeout,
            "--retries": self.retries,
        }
        return tuple(word for name, value in given.items() if value is not None for word in (name, str(value)))


_OPTIONS = (
    click.option("--api-base", metavar="URL", help="Endpoint of the language model."),
    click.option(
        "--max-cost", type=click.FloatRange(min=0), metavar="USD", help="Stop before a model would cost more than this."
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=120,
        show_default=True,
        help="Seconds of a call of the model.",
    ),
    click.option(
        "--retries", type=click.IntRange(min=0), default=4, show_default=True, help="Repeats of a call that failed."
    ),
)

llm_option = click.option(
    "--llm",
    metavar="MODEL",
    help="A language model as litellm names it, such as openai/gpt-4o-mini, or an agent of the handbook.",
)


def llm_options(command: Command) -> Command:
    """Add the options of how a model is asked; the command gets them as ``model_options``."""

    @wraps(command)
    def pack(
        *args: object, api_base: str | None, max_cost: float | None, timeout: float, retries: int, **rest: object
    ) -> object:
        shared = click.get_current_context().meta.get(SHARED_BUDGET)
        return command(*args, model_options=LlmOptions(api_base, max_cost, timeout, retries, shared), **rest)

    for option in reversed(_OPTIONS):
        pack = option(pack)
    return pack
