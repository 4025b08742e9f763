"""Jobs at once within limits, results in order."""

# ruff: noqa: FBT001 - drawn by hypothesis
from __future__ import annotations

import threading
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillctl.llm import dispatch
from skillctl.llm.dispatch import Dispatcher, Limits


class Meter:
    """Work that takes a moment and measures how much runs at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.most_in_all = 0
        self.started: list[tuple[str, int]] = []

    def work(self, job: tuple[str, int]) -> tuple[str, int]:
        lane = job[0]
        with self.lock:
            self.started.append(job)
            self.running[lane] += 1
            self.most[lane] = max(self.most[lane], self.running[lane])
            self.most_in_all = max(self.most_in_all, self.running.total())
        time.sleep(0.001 * (job[1] % 3))
        with self.lock:
            self.running[lane] -= 1
        return job


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from("abc"), max_size=30), st.integers(1, 5), st.integers(1, 3), st.booleans())
def test_every_result_comes_once_in_order_and_within_the_limits(
    lanes: list[str],
    total: int,
    per_lane: int,
    in_order: bool,
) -> None:
    jobs = [(lane, number) for number, lane in enumerate(lanes)]
    meter = Meter()
    limits = Limits(total, per_lane, in_order=in_order)
    assert list(Dispatcher(meter.work, lane=lambda job: job[0], limits=limits).run(jobs)) == jobs
    assert meter.most_in_all <= total
    assert all(most <= per_lane for most in meter.most.values())


def test_a_fast_lane_runs_ahead_of_a_slow_one_but_not_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "LOOKAHEAD", 6)
    release = threading.Event()
    done: list[int] = []

    def work(job: int) -> int:
        if job == 0:
            assert release.wait(10)
        done.append(job)
        return job

    def release_when_full() -> None:
        while len(done) < 5:
            time.sleep(0.001)
        time.sleep(0.02)
        assert len(done) == 5
        release.set()

    watcher = threading.Thread(target=release_when_full)
    watcher.start()
    results = Dispatcher(work, lane=lambda job: "slow" if job == 0 else "fast", limits=Limits(8, 1)).run(range(20))
    assert list(results) == list(range(20))
    watcher.join()


def test_what_may_not_start_waits_for_running_jobs_and_then_ends_the_run() -> None:
    open_jobs = {0, 1}
    results = Dispatcher(
        lambda job: job, lane=str, limits=Limits(in_order=True), may_start=lambda job: job in open_jobs
    ).run(range(5))
    assert list(results) == [0, 1]


def test_an_exception_is_raised_to_the_reader() -> None:
    def work(job: int) -> int:
        if job == 1:
            message = "broken"
            raise ZeroDivisionError(message)
        return job

    with pytest.raises(ZeroDivisionError, match="broken"):
        list(Dispatcher(work, lane=str, limits=Limits(1, 1)).run(range(3)))
