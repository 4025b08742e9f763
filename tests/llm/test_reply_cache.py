"""The reply cache: by content, whole or not at all, and one call for equal requests."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from skillctl.errors import OutsideError
from skillctl.llm.base import Completion, Request, request_key
from skillctl.llm.reply_cache import CachingCompleter, ReplyCache
from skillctl.llm.scripted import ScriptedCompleter
from skillctl.store.atomic import write_atomic

if TYPE_CHECKING:
    from pathlib import Path

REQUEST = Request("a", ({"role": "user", "content": "x"},), "m", params={"temperature": 0})
FULL = Completion("hé\n", "served", 3, 4, 1, 0.25, 1.5)


@pytest.fixture
def cache(tmp_path: Path) -> ReplyCache:
    return ReplyCache(tmp_path / "replies", write_atomic)


def test_a_reply_is_given_back_as_it_was(cache: ReplyCache) -> None:
    cache.put("abc", FULL)
    assert cache.get("abc") == replace(FULL, is_cached=True)
    assert "abc" in cache
    assert "other" not in cache


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"{}", b'{"format": 1, "text": 3}', b'{"format": 9, "text": "x"}']
)
def test_a_damaged_entry_is_asked_again(cache: ReplyCache, tmp_path: Path, damage: bytes) -> None:
    script = ScriptedCompleter(["one", "two"])
    completer = CachingCompleter(script, cache)
    completer.complete(REQUEST)
    (entry,) = (path for path in (tmp_path / "replies").rglob("*.json"))
    entry.write_bytes(damage)
    assert completer.complete(REQUEST).text == "two"
    assert cache.get(request_key(REQUEST)) == Completion("two", is_cached=True)


def test_a_reply_with_a_wrong_number_is_no_reply(cache: ReplyCache, tmp_path: Path) -> None:
    cache.put("abc", FULL)
    path = tmp_path / "replies" / "ab" / "abc.json"
    path.write_text(path.read_text(encoding="utf-8").replace("0.25", '"free"'), encoding="utf-8")
    assert cache.get("abc") is None


def test_a_second_run_calls_nothing(cache: ReplyCache) -> None:
    CachingCompleter(ScriptedCompleter(["one"]), cache).complete(REQUEST)
    reply = CachingCompleter(ScriptedCompleter([]), cache).complete(replace(REQUEST, agent="b", timeout_s=1.0))
    assert (reply.text, reply.is_cached) == ("one", True)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "n"},
        {"api_base": "http://x"},
        {"params": {"temperature": 1}},
        {"messages": ({"role": "user", "content": "y"},)},
    ],
    ids=str,
)
def test_whatever_determines_the_reply_makes_another_request(change: dict[str, object]) -> None:
    assert request_key(replace(REQUEST, **change)) != request_key(REQUEST)  # type: ignore[arg-type]


def test_a_program_is_another_one_once_its_script_changes(tmp_path: Path) -> None:
    script = tmp_path / "tool.py"
    script.write_text("1")
    request = Request("a", (), command=("python", "tool.py"), folder=tmp_path, query="q")
    before = request_key(request)
    assert request_key(request) == before
    script.write_text("2")
    assert request_key(request) != before


def test_a_program_is_the_same_one_in_another_folder(tmp_path: Path) -> None:
    keys = set()
    for name in ("x", "y"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "tool.py").write_text("1")
        keys.add(request_key(Request("a", (), command=("python", "tool.py"), folder=folder)))
    assert len(keys) == 1


def test_errors_are_not_kept(cache: ReplyCache) -> None:
    completer = CachingCompleter(ScriptedCompleter([OutsideError("no", code="auth"), "ok"]), cache)
    with pytest.raises(OutsideError, match="no"):
        completer.complete(REQUEST)
    assert completer.complete(REQUEST).text == "ok"


@pytest.mark.parametrize("fails", [False, True])
def test_equal_requests_at_the_same_time_are_sent_once(cache: ReplyCache, *, fails: bool) -> None:
    started, release = threading.Event(), threading.Event()

    class Slow:
        calls = 0

        def complete(self, _request: Request) -> Completion:
            self.calls += 1
            started.set()
            assert release.wait(10)
            if fails:
                raise OutsideError("no", code="auth")  # noqa: EM101 - the message does not matter
            return Completion("one")

    slow = Slow()
    completer = CachingCompleter(slow, cache)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(completer.complete, REQUEST)
        assert started.wait(10)
        second = threads.submit(completer.complete, replace(REQUEST, agent="b"))
        threading.Timer(0.05, release.set).start()
        errors = [future.exception() for future in (first, second)]
    assert slow.calls == 1
    assert [error is not None for error in errors] == [fails, fails]
