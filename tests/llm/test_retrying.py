"""Retries: when, how often, and how long apart."""

from __future__ import annotations

import pytest

from skillctl.errors import OutsideError
from skillctl.llm.base import Request
from skillctl.llm.retrying import RetryingCompleter
from skillctl.llm.scripted import ScriptedCompleter

REQUEST = Request("a", ({"role": "user", "content": "x"},), "m")


def limited(retry_after_s: float | None = None) -> OutsideError:
    return OutsideError("slow down", code="rate_limit", retryable=True, retry_after_s=retry_after_s)


def test_a_retryable_failure_is_repeated_until_it_succeeds() -> None:
    script = ScriptedCompleter([limited(), limited(), "ok"])
    pauses: list[float] = []
    assert RetryingCompleter(script, sleep=pauses.append).complete(REQUEST).text == "ok"
    assert len(pauses) == 2
    assert 0.5 <= pauses[0] <= 1.0 <= pauses[1] <= 2.0


def test_the_pauses_are_the_same_in_every_run_and_differ_by_seed() -> None:
    def pauses(seed: int) -> list[float]:
        found: list[float] = []
        script = ScriptedCompleter([limited(), limited(), limited(), "ok"])
        RetryingCompleter(script, seed=seed, sleep=found.append).complete(REQUEST)
        return found

    assert pauses(1) == pauses(1) != pauses(2)


def test_the_service_says_how_long_to_wait() -> None:
    pauses: list[float] = []
    RetryingCompleter(ScriptedCompleter([limited(7.5), "ok"]), sleep=pauses.append).complete(REQUEST)
    assert pauses == [7.5]


def test_a_service_that_asks_for_hours_is_given_up_at_once() -> None:
    script = ScriptedCompleter([limited(7200.0), "ok"])
    with pytest.raises(OutsideError, match="slow down"):
        RetryingCompleter(script).complete(REQUEST)


def test_retries_end() -> None:
    script = ScriptedCompleter(lambda _request: limited())
    with pytest.raises(OutsideError, match="slow down"):
        RetryingCompleter(script, retries=2, sleep=lambda _pause: None).complete(REQUEST)
    assert len(script.requests) == 3


def test_what_no_retry_can_mend_is_not_repeated() -> None:
    script = ScriptedCompleter([OutsideError("no", code="auth"), "ok"])
    with pytest.raises(OutsideError, match="no"):
        RetryingCompleter(script).complete(REQUEST)
    assert len(script.requests) == 1


def test_a_script_that_ends_says_so() -> None:
    with pytest.raises(OutsideError, match="no reply left"):
        ScriptedCompleter([]).complete(REQUEST)
