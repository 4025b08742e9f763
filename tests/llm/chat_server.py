"""A loopback server that speaks enough of OpenAI's chat completions to play every fault."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Answer(NamedTuple):
    """What the server sends back."""

    body: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    delay_s: float = 0.0


def completion(text: str | None, *, model: str = "served-name", cached: int = 0) -> Answer:
    """Return an ordinary reply with usage: 100 tokens read, 10 written."""
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "total_tokens": 110,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": model, "choices": [choice], "usage": usage}
    return Answer(json.dumps(body).encode())


class ChatServer:
    """Answers by a function of the decoded request; remembers all requests.

    Args:
        reply: Gives the answer.
    """

    def __init__(self, reply: Callable[[dict[str, Any]], Answer]) -> None:
        self.reply = reply
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(body)
                outer.authorizations.append(self.headers.get("Authorization"))
                answer = outer.reply(body)
                time.sleep(answer.delay_s)
                try:
                    self._send(answer)
                except (BrokenPipeError, ConnectionResetError):
                    return

            def _send(self, answer: Answer) -> None:
                self.send_response(answer.status)
                for name, value in answer.headers:
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.api_base = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @contextmanager
    def running(self) -> Iterator[ChatServer]:
        """Serve until the block ends."""
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()
