"""Replies kept by content: the same request is never paid twice, in one run or across runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING

import orjson

from skillctl.llm.base import Completer, Completion, Request, request_key

if TYPE_CHECKING:
    from pathlib import Path

_FORMAT = 1
_STORED = tuple(field.name for field in fields(Completion) if field.name != "is_cached")
_OPTIONAL_NUMBERS = ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd", "latency_s")


class ReplyCache:
    """A folder with one small file for each reply; may be deleted at any time.

    Args:
        folder: Where the files are.
        write: Writes a file whole or not at all.
    """

    def __init__(self, folder: Path, write: Callable[[Path, bytes], None]) -> None:
        self._folder = folder
        self._write = write

    def __contains__(self, key: str) -> bool:
        """Say whether a readable reply is there."""
        return self.get(key) is not None

    def get(self, key: str) -> Completion | None:
        """Return the reply; an entry that cannot be read or understood is no reply."""
        try:
            entry = orjson.loads(self._path(key).read_bytes())
        except (OSError, orjson.JSONDecodeError):
            return None
        return _decode(entry)

    def put(self, key: str, completion: Completion) -> None:
        """Keep a reply."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        stored = {name: value for name, value in asdict(completion).items() if name in _STORED}
        self._write(path, orjson.dumps({"format": _FORMAT, **stored}, option=orjson.OPT_INDENT_2))

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"


def _decode(entry: object) -> Completion | None:
    if not isinstance(entry, dict) or entry.get("format") != _FORMAT or not isinstance(entry.get("text"), str):
        return None
    numbers = [entry.get(name) for name in _OPTIONAL_NUMBERS]
    if any(isinstance(number, bool) or not isinstance(number, int | float | None) for number in numbers):
        return None
    return Completion(**{**{name: entry.get(name) for name in _STORED}, "text": entry["text"]}, is_cached=True)


class CachingCompleter:
    """Asks the cache first, and makes identical requests that run at once wait for the first of them.

    Args:
        completer: Makes the calls.
        cache: Keeps the replies.
    """

    def __init__(self, completer: Completer, cache: ReplyCache) -> None:
        self._completer = completer
        self._cache = cache
        self._running: dict[str, Future[Completion]] = {}
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Completion:
        """Return the kept reply, or call and keep it; errors are not kept."""
        key = request_key(request)
        own: Future[Completion] = Future()
        with self._lock:
            first = self._running.setdefault(key, own)
        if first is not own:
            return replace(first.result(), is_cached=True)
        try:
            completion = self._ask(key, request)
        except BaseException as error:
            own.set_exception(error)
            raise
        else:
            own.set_result(completion)
            return completion
        finally:
            with self._lock:
                del self._running[key]

    def _ask(self, key: str, request: Request) -> Completion:
        kept = self._cache.get(key)
        if kept is not None:
            return kept
        completion = self._completer.complete(request)
        self._cache.put(key, completion)
        return completion
