from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from skillctl.errors import OutsideError
from skillctl.llm.search import HttpSearcher

Reply = Callable[[dict[str, object]], tuple[int, bytes]]


@contextmanager
def _serving(reply: Reply) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, body = reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except BrokenPipeError:
                return

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/search"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _passages(*texts: str) -> bytes:
    return json.dumps({"passages": [{"title": "T", "text": text} for text in texts]}).encode()


def test_an_endpoint_gives_passages_and_never_more_than_asked_for() -> None:
    asked: list[dict[str, object]] = []

    def reply(request: dict[str, object]) -> tuple[int, bytes]:
        asked.append(request)
        return 200, _passages("one", "two", "three")

    with _serving(reply) as url:
        assert HttpSearcher(url, timeout_s=5).search("tower", 2) == [("T", "one"), ("T", "two")]
    assert asked == [{"query": "tower", "results": 2}]


@pytest.mark.parametrize(
    ("status", "body", "code", "retryable"),
    [
        (500, b"", "search_failed", True),
        (429, b"", "search_failed", True),
        (404, b"", "search_failed", False),
        (200, b"no json", "bad_reply", False),
        (200, b'{"hits": []}', "bad_reply", False),
        (200, b'{"passages": [{"title": "x"}]}', "bad_reply", False),
        (200, b'{"passages": ["x"]}', "bad_reply", False),
    ],
)
def test_a_faulty_endpoint_is_an_outside_failure(status: int, body: bytes, code: str, *, retryable: bool) -> None:
    with _serving(lambda _: (status, body)) as url, pytest.raises(OutsideError, match="the search at http") as caught:
        HttpSearcher(url, timeout_s=5).search("x", 1)
    assert (caught.value.code, caught.value.retryable) == (code, retryable)


def test_a_slow_and_an_absent_endpoint_are_outside_failures() -> None:
    def reply(_: dict[str, object]) -> tuple[int, bytes]:
        time.sleep(0.5)
        return 200, _passages()

    with _serving(reply) as url:
        with pytest.raises(OutsideError) as slow:
            HttpSearcher(url, timeout_s=0.1).search("x", 1)
        assert slow.value.code == "timeout"
    with pytest.raises(OutsideError) as absent:
        HttpSearcher(url, timeout_s=1).search("x", 1)
    assert absent.value.code == "connection"
