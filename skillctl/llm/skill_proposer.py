"""Asks a language model which abilities tell a success from a failure on the same query."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from skillctl.core.discover.contrast import Key, key_of
from skillctl.core.discover.proposals import (
    EXAMPLE,
    EXAMPLE_GROUP,
    Group,
    Parsed,
    Proposal,
    keep_telling_indicators,
    merge_duplicates,
    parse_groups,
    parse_proposals,
)
from skillctl.core.orchestrate.features import cut_text
from skillctl.errors import BudgetError, OutsideError, SkillctlError
from skillctl.llm.prompt_texts import build_messages, build_repair
from skillctl.llm.structured import DEFAULT_CONCURRENCY, Endpoint, Reply, ask_all

if TYPE_CHECKING:
    from skillctl.core.discover.contrast import Contrast
    from skillctl.core.orchestrate.features import WordEmbedder
    from skillctl.core.outcomes import Outcomes
    from skillctl.llm.base import Completer, Request

PAIRS = 40
PAIRS_A_PROMPT = 5
MOST_CALLS = 12  # 8 prompts, 1 that groups, and 3 repairs
MAX_TOKENS = 900
_MOST_GROUPS = 6
_GROUP_FROM = 4  # fewer proposals need no coarse skills
_QUERY_CHARS, _QUERY_HEAD = 700, 450
_ANSWER_CHARS, _ANSWER_HEAD = 450, 200
_REPLY_CHARS, _REPLY_HEAD = 1500, 1200
_NO_ANSWER = "(not recorded)"


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is asked about.

    Attributes:
        outcomes: Of one mode.
        contrasts: The chosen pairs.
        trajectories: What agents did, by query and agent, as far as it is recorded.
    """

    outcomes: Outcomes
    contrasts: Sequence[Contrast]
    trajectories: Mapping[Key, str]

    def batches(self) -> list[Sequence[Contrast]]:
        """Return the pairs of each prompt."""
        return [
            self.contrasts[start : start + PAIRS_A_PROMPT] for start in range(0, len(self.contrasts), PAIRS_A_PROMPT)
        ]


class Proposals(NamedTuple):
    """What a model proposed.

    Attributes:
        proposals: Cleaned, without near-duplicates.
        groups: Coarse skills above them, by place.
        calls: Requests, those answered from the cache among them.
        faults: Replies that could not be used, by reason.
        dropped: Entries of usable replies that could not be used.
        merged: Proposals that were near-duplicates of another.
        is_cut: Whether the budget ended before all was asked.
    """

    proposals: tuple[Proposal, ...]
    groups: tuple[Group, ...]
    calls: int
    faults: Mapping[str, int]
    dropped: int
    merged: int
    is_cut: bool = False


def plan_requests(lesson: Lesson, endpoint: Endpoint) -> list[Request]:
    """Return the requests that are surely made; repairs and the grouping come on top."""
    words = {"most": str(PAIRS_A_PROMPT), "example": json.dumps(EXAMPLE)}
    return [
        endpoint.request(build_messages("propose", _show_pairs(lesson, batch), **words), MAX_TOKENS)
        for batch in lesson.batches()
    ]


def propose_skills(
    lesson: Lesson,
    endpoint: Endpoint,
    completer: Completer,
    schema: Mapping[str, Any],
    embedder: WordEmbedder,
    *,
    concurrency: int = DEFAULT_CONCURRENCY,
) -> Proposals:
    """Ask a model for skills, in at most ``MOST_CALLS`` calls.

    Args:
        lesson: What is asked about.
        endpoint: The model.
        completer: Makes the calls; its cache and budget hold.
        schema: The JSON Schema ``skill_proposals``.
        embedder: To tell near-duplicates.
        concurrency: So many calls at once.

    Raises:
        OutsideError: If no reply can be used.
        BudgetError: If the budget allows no call.
    """
    asker = _Asker(lesson, endpoint, completer, schema, concurrency)
    replies = asker.ask()
    found = [proposal for reply in replies if reply.value for proposal in reply.value.proposals]
    merged = keep_telling_indicators(merge_duplicates(found, embedder), lesson.outcomes.texts)
    groups = asker.group(merged)
    return Proposals(
        proposals=tuple(merged),
        groups=groups,
        calls=asker.calls,
        faults=dict(sorted(asker.faults.items())),
        dropped=sum(reply.value.dropped for reply in replies if reply.value),
        merged=len(found) - len(merged),
        is_cut=any(reply.is_unspent for reply in replies),
    )


class _Asker:
    def __init__(
        self,
        lesson: Lesson,
        endpoint: Endpoint,
        completer: Completer,
        schema: Mapping[str, Any],
        concurrency: int,
    ) -> None:
        self.calls = 0
        self.faults: Counter[str] = Counter()
        self._endpoint = endpoint
        self._completer = completer
        self._schema = schema
        self._concurrency = concurrency
        self._requests = plan_requests(lesson, endpoint)
        self._rows = [[contrast.row for contrast in batch] for batch in lesson.batches()]

    def ask(self) -> list[Reply[Parsed]]:
        """Return the replies to all prompts, those that could not be used asked once more."""
        replies = self._send(self._requests, self._parse)
        broken = [place for place, reply in enumerate(replies) if reply.value is None and reply.text is not None]
        broken = broken[: MOST_CALLS - 1 - self.calls]
        repairs = [self._repair(self._requests[place], replies[place]) for place in broken]
        mended = self._send(repairs, lambda number, text: self._parse(broken[number], text))
        for place, reply in zip(broken, mended, strict=True):
            replies[place] = reply if reply.value is not None else replies[place]
        self.faults.update(reply.fault for reply in replies if reply.value is None)
        if replies and all(reply.value is None for reply in replies):
            raise self._refuse(replies)
        return replies

    def group(self, proposals: Sequence[Proposal]) -> tuple[Group, ...]:
        """Ask which proposals belong together; without a usable reply they stand alone."""
        if len(proposals) < _GROUP_FROM or self.calls >= MOST_CALLS:
            return ()
        data = "\n".join(f"{number}. {one.name}: {one.description}" for number, one in enumerate(proposals, 1))
        words = {"most": str(_MOST_GROUPS), "example": json.dumps(EXAMPLE_GROUP)}
        request = self._endpoint.request(build_messages("group", data, **words), MAX_TOKENS)
        parse = partial(parse_groups, schema=self._schema, count=len(proposals))
        (reply,) = self._send([request], lambda _place, text: parse(text))
        if reply.value is None:
            self.faults[f"grouping: {reply.fault}"] += 1
        return reply.value or ()

    def _send(self, requests: Sequence[Request], parse: Callable[[int, str], Any]) -> list[Reply[Any]]:
        replies = ask_all(self._completer, requests, parse, concurrency=self._concurrency)
        self.calls += sum(not reply.is_unspent for reply in replies)
        return replies

    def _parse(self, place: int, text: str) -> Parsed:
        return parse_proposals(text, self._schema, self._rows[place])

    def _repair(self, request: Request, reply: Reply[Parsed]) -> Request:
        said = cut_text(reply.text or "", _REPLY_CHARS, _REPLY_HEAD)
        return self._endpoint.request(build_repair(request.messages, said, reply.fault), MAX_TOKENS)

    def _refuse(self, replies: Sequence[Reply[Parsed]]) -> SkillctlError:
        reason, count = self.faults.most_common(1)[0]
        name = self._endpoint.model
        if all(reply.is_unspent for reply in replies):
            return BudgetError(f"--max-cost allows no call to {name}", hint="raise it")
        message = f"no reply of {name} could be used; {count} of {len(replies)}: {reason}"
        return OutsideError(message, code="unusable_replies")


def _show_pairs(lesson: Lesson, batch: Sequence[Contrast]) -> str:
    return "\n\n".join(_show_pair(lesson, number, contrast) for number, contrast in enumerate(batch, 1))


def _show_pair(lesson: Lesson, number: int, contrast: Contrast) -> str:
    """Show a query and two attempts; who made them is no matter of ability."""
    outcomes = lesson.outcomes
    attempts = [
        lesson.trajectories.get(key_of(outcomes, contrast.row, column)) or _NO_ANSWER
        for column in (contrast.winner, contrast.loser)
    ]
    good, bad = (cut_text(text, _ANSWER_CHARS, _ANSWER_HEAD) for text in attempts)
    query = cut_text(outcomes.texts[contrast.row], _QUERY_CHARS, _QUERY_HEAD)
    return f"PAIR {number}\nQUERY: {query}\nATTEMPT THAT SUCCEEDED: {good}\nATTEMPT THAT FAILED: {bad}"
