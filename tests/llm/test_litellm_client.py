"""Models through the real litellm against a real server on loopback. litellm takes seconds to import: keep it lean."""

# ruff: noqa: FBT001 - expected values are columns of the tables
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from chat_server import Answer, ChatServer, completion

from skillctl.errors import InputError, OutsideError
from skillctl.llm.base import Completion, Request
from skillctl.llm.litellm_client import LitellmClient
from skillctl.llm.retrying import RetryingCompleter

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("default")  # litellm and its libraries deprecate much


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(lambda _body: completion("42")).running() as running:
        yield running


@pytest.fixture(scope="module")
def client() -> LitellmClient:
    return LitellmClient()


def request_to(server: ChatServer, **fields: Any) -> Request:  # noqa: ANN401 - fields of the dataclass
    fields = {"model": "openai/gpt-4o", "messages": ({"role": "user", "content": "6*7?"},), **fields}
    return Request(agent="a", api_base=server.api_base, **{"timeout_s": 10.0, **fields})


def test_a_reply_brings_text_tokens_and_latency_and_goes_out_as_configured(
    server: ChatServer, client: LitellmClient, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-real-key")
    reply = client.complete(request_to(server, params={"temperature": 0, "max_tokens": 5}))
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens) == ("42", 100, 10, 0)
    assert reply.latency_s is not None
    assert reply.served_model == "served-name"
    (sent,) = server.requests
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("gpt-4o", 0, 5)
    assert server.authorizations == ["Bearer none"]  # a real key stays at home
    assert capsys.readouterr().out == ""


def test_the_key_comes_from_the_variable_that_the_agent_names(
    server: ChatServer, client: LitellmClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = request_to(server, api_key_env="MY_KEY")
    with pytest.raises(InputError, match="MY_KEY, which is not set"):
        client.complete(request)
    assert server.requests == []
    monkeypatch.setenv("MY_KEY", "k")
    client.complete(request)
    assert server.authorizations == ["Bearer k"]


def test_a_known_model_is_priced_by_its_configured_name_and_cached_tokens_once(
    server: ChatServer, client: LitellmClient
) -> None:
    server.reply = lambda _body: completion("42", model="some-alias", cached=40)
    price = client.price("openai/gpt-4o")
    assert price is not None
    cost = client.complete(request_to(server)).cost_usd
    assert price.prompt_usd_per_mtok is not None
    assert price.completion_usd_per_mtok is not None
    assert price.cached_usd_per_mtok is not None
    expected = 60 * price.prompt_usd_per_mtok + 40 * price.cached_usd_per_mtok + 10 * price.completion_usd_per_mtok
    assert cost == pytest.approx(expected / 1e6)


def test_an_unknown_model_has_an_unknown_cost_and_not_0(server: ChatServer, client: LitellmClient) -> None:
    server.reply = lambda _body: completion("42", model="gpt-4o")
    assert client.complete(request_to(server, model="openai/local-thing")).cost_usd is None
    assert client.price("openai/local-thing") is None


ERROR = json.dumps({"error": {"message": "no", "type": "x", "code": "x"}}).encode()


@pytest.mark.parametrize(
    ("answer", "code", "retryable"),
    [
        (Answer(ERROR, 401), "auth", False),
        (Answer(ERROR, 403), "auth", False),
        (Answer(ERROR, 400), "bad_request", False),
        (Answer(ERROR, 404), "not_found", False),
        (Answer(ERROR, 429, (("Retry-After", "7"),)), "rate_limit", True),
        (Answer(ERROR, 500), "server_error", True),
        (Answer(b"<html>busy</html>", 503), "server_error", True),
        (completion(None), "empty_reply", True),
        (completion("  \n"), "empty_reply", True),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_each_failure_has_a_code_and_says_whether_a_retry_helps(
    server: ChatServer,
    client: LitellmClient,
    answer: Answer,
    code: str,
    retryable: bool,
) -> None:
    server.reply = lambda _body: answer
    with pytest.raises(OutsideError) as caught:
        client.complete(request_to(server))
    assert (caught.value.code, caught.value.retryable) == (code, retryable)
    assert caught.value.retry_after_s == (7.0 if code == "rate_limit" else None)
    assert len(server.requests) == 1  # litellm repeats nothing by itself


@pytest.mark.parametrize(
    "body", [b'{"choices": []}', b"{}", b"not json", b'{"choices": [{"message"', b"[]", b"null", b""]
)
def test_a_200_without_a_usable_reply_is_an_outside_failure(
    server: ChatServer, client: LitellmClient, body: bytes
) -> None:
    server.reply = lambda _body: Answer(body)
    with pytest.raises(OutsideError) as caught:
        client.complete(request_to(server))
    assert caught.value.code in {"empty_reply", "bad_reply", "server_error", "connection"}


def test_a_slow_server_is_a_timeout(server: ChatServer, client: LitellmClient) -> None:
    server.reply = lambda _body: completion("42")._replace(delay_s=1.0)
    with pytest.raises(OutsideError) as caught:
        client.complete(request_to(server, timeout_s=0.2))
    assert (caught.value.code, caught.value.retryable) == ("timeout", True)


def test_a_server_that_is_not_there_is_a_connection_failure(client: LitellmClient) -> None:
    with pytest.raises(OutsideError) as caught:
        client.complete(Request("a", ({"role": "user", "content": "x"},), "openai/x", api_base="http://127.0.0.1:9/v1"))
    assert (caught.value.code, caught.value.retryable) == ("connection", True)


def test_a_rate_limit_is_waited_out_as_long_as_asked(server: ChatServer, client: LitellmClient) -> None:
    answers = iter([Answer(ERROR, 429, (("Retry-After", "7"),)), Answer(ERROR, 500), completion("42")])
    server.reply = lambda _body: next(answers)
    pauses: list[float] = []
    reply = RetryingCompleter(client, sleep=pauses.append).complete(request_to(server))
    assert isinstance(reply, Completion)
    assert pauses[0] == 7.0
    assert 1.0 <= pauses[1] <= 2.0
    assert len(server.requests) == 3


# --- whole runs, as processes ---


def explore(folder: Path, out: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "skillctl", "explore", "pool.json", "--queries", "q.jsonl", "--out", out]
    environment = {**os.environ, "SKILLCTL_CACHE_DIR": str(folder / "cache")}
    return subprocess.Popen(
        [*command, "--agent-concurrency", "1"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def write_inputs(folder: Path, server: ChatServer) -> None:
    agents = [
        {"agent": name, "model": f"openai/{name}", "api_base": server.api_base, "price": price}
        for name, price in (
            ("fast", {"prompt_usd_per_mtok": 1, "completion_usd_per_mtok": 2}),
            ("slow", {"prompt_usd_per_mtok": 3, "completion_usd_per_mtok": 4, "cached_usd_per_mtok": 1}),
        )
    ]
    (folder / "pool.json").write_text(json.dumps({"agents": agents}))
    lines = [json.dumps({"id": n, "query": f"{n} + 1?", "reference": n + 1, "scoring": "numeric"}) for n in range(12)]
    (folder / "q.jsonl").write_text("\n".join(lines))


def test_a_killed_run_goes_on_where_it_was_and_asks_no_model_twice(server: ChatServer, tmp_path: Path) -> None:
    def reply(body: dict[str, Any]) -> Answer:
        number = int(body["messages"][0]["content"].split()[0])
        delay_s = 0.12 if body["model"] == "slow" else 0.01
        return completion(f"It is {number + 1}.", cached=50)._replace(delay_s=delay_s)

    server.reply = reply
    write_inputs(tmp_path, server)
    out = tmp_path / "out.jsonl"
    first = explore(tmp_path, "out.jsonl")
    deadline = time.monotonic() + 240
    while (not out.exists() or out.read_bytes().count(b"\n") < 7) and time.monotonic() < deadline:
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    killed_after = out.read_bytes().count(b"\n")
    with out.open("ab") as file:
        file.write(b'{"trace_id": "torn')
    second = explore(tmp_path, "out.jsonl")
    stdout, stderr = second.communicate(timeout=240)
    assert (second.returncode, stdout) == (0, b""), stderr
    asked = Counter((body["model"], body["messages"][0]["content"]) for body in server.requests)
    # The call under way at the kill may have reached the server, which no client can know.
    assert sum(asked.values()) - len(asked) <= 2
    assert len(asked) == 24
    # The whole cache is there now: an undisturbed run into another file calls nothing and writes the same bytes.
    before = len(server.requests)
    third = explore(tmp_path, "again.jsonl")
    third.communicate(timeout=240)
    assert third.returncode == 0
    assert len(server.requests) == before
    assert (tmp_path / "again.jsonl").read_bytes() == out.read_bytes()
    assert 7 <= killed_after < 24
    traces = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(trace["query_id"], trace["agent"]) for trace in traces][:3] == [(0, "fast"), (0, "slow"), (1, "fast")]
    assert all(trace["success"] is True for trace in traces)
    assert {trace["cost_usd"] for trace in traces} == {0.00012, 0.00024}
