"""Search over HTTP: JSON out, passages in."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Protocol

import orjson

from skillctl.errors import OutsideError

MAX_REPLY_BYTES = 5_000_000
_RETRYABLE_STATUS = 500
_RATE_LIMITED = 429


class Searcher(Protocol):
    """Finds passages; used from several threads at once."""

    def search(self, terms: str, results: int) -> Sequence[tuple[str, str]]:
        """Return titles and texts, best first.

        Raises:
            OutsideError: If a service failed.
        """
        ...


class HttpSearcher:
    """Posts ``{"query", "results"}`` and reads ``{"passages": [{"title", "text"}]}``.

    Args:
        url: The endpoint.
        timeout_s: Of a request.
    """

    def __init__(self, url: str, *, timeout_s: float) -> None:
        self._url = url
        self._timeout_s = timeout_s

    def search(self, terms: str, results: int) -> list[tuple[str, str]]:
        """Return what the endpoint finds."""
        body = orjson.dumps({"query": terms, "results": results})
        request = urllib.request.Request(  # noqa: S310 - the schema allows http and https alone
            self._url, data=body, headers={"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as reply:  # noqa: S310
                data = reply.read(MAX_REPLY_BYTES)
        except urllib.error.HTTPError as error:
            with error:
                is_busy = error.code == _RATE_LIMITED or error.code >= _RETRYABLE_STATUS
                reason = f"status {error.code}"
                raise _failed(self._url, reason, "search_failed", retryable=is_busy) from error
        except TimeoutError as error:
            reason = f"no reply within {self._timeout_s:g} s"
            raise _failed(self._url, reason, "timeout", retryable=True) from error
        except OSError as error:
            raise _failed(self._url, str(error), "connection", retryable=True) from error
        return self._read(data)[:results]

    def _read(self, data: bytes) -> list[tuple[str, str]]:
        try:
            passages = orjson.loads(data)["passages"]
            return [(str(passage.get("title", "")), str(passage["text"])) for passage in passages]
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            message = '{"passages": [{"title": "…", "text": "…"}]} is expected'
            raise _failed(self._url, message, "bad_reply") from error


def _failed(url: str, what: str, code: str, *, retryable: bool = False) -> OutsideError:
    return OutsideError(f"the search at {url} failed: {what}", code=code, retryable=retryable)
