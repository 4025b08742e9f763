"""``refine --llm``: a language model gives second opinions on edits, and names."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillctl.cli.language_models import LanguageModels
    from skillctl.core.refine.advice import Adviser
    from skillctl.llm.edit_adviser import AdviceTally
    from skillctl.model.handbook import Handbook


@contextmanager
def open_adviser(name: str | None, models: LanguageModels | None, handbook: Handbook) -> Iterator[Adviser | None]:
    """Open a language model as adviser, and say at the end what became of its replies; ``None`` without a name.

    Raises:
        UsageError: If no language model can have that name.
    """
    if name is None or models is None:
        yield None
        return
    from skillctl.llm.edit_adviser import EditAdviser
    from skillctl.store.schema import load_schema

    endpoint = models.find_endpoint(name, handbook)
    adviser = EditAdviser(
        endpoint,
        models.completer,
        load_schema("edit_advice"),
        on_plan=lambda requests: models.announce(endpoint, requests, more=len(requests)),
    )
    try:
        yield adviser
    finally:
        for sentence in _say_tally(name, adviser.tally):
            models.say(sentence)


def _say_tally(name: str, tally: AdviceTally) -> Iterator[str]:
    from skillctl.cli.language_models import show_counts

    if tally.edits:
        yield f"{name} agrees with {tally.agreed} of {tally.edits} proposals and disagrees with {tally.disagreed}"
    if tally.faults:
        yield (
            f"warning: {tally.faults.total()} of {tally.edits} proposals have no second opinion, and offline names, "
            f"as no reply could be used: {show_counts(tally.faults)}"
        )
    if tally.dropped:
        yield f"warning: {tally.dropped} names or groups in the replies of {name} could not be used"
    if tally.unasked:
        reason = "before --max-cost could be passed" if tally.is_cut else f"as {name} does not answer"
        yield f"warning: stopped asking {reason}: {tally.unasked} proposals have no second opinion"
