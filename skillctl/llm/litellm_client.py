"""Models through litellm: the only place that imports it, and only when a model is really called."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import sys
import threading
import time
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from skillctl.errors import InputError, OutsideError
from skillctl.llm.base import Completion, Request
from skillctl.model.handbook import Price

# What a server on this machine gets instead of a key, so that no real key leaves for it.
NO_KEY = "none"
_TOKENS_PER_MTOK = 1_000_000
_SHOWN_ERROR_CHARS = 400

# By HTTP status: code and whether the same call may succeed later.
_STATUS_CODES: dict[int, tuple[str, bool]] = {
    400: ("bad_request", False),
    401: ("auth", False),
    402: ("payment", False),
    403: ("auth", False),
    404: ("not_found", False),
    408: ("timeout", True),
    413: ("bad_request", False),
    422: ("bad_request", False),
    429: ("rate_limit", True),
}


class LitellmClient:
    """Calls models; litellm's own retries, telemetry, price download and banners are off."""

    def __init__(self) -> None:
        self._import_lock = threading.Lock()

    def complete(self, request: Request) -> Completion:
        """Call the model once and return its reply."""
        litellm = self._imported()
        start = time.perf_counter()
        try:
            response = litellm.completion(
                **{
                    **request.params,
                    "model": request.model,
                    "messages": [dict(message) for message in request.messages],
                    "api_base": request.api_base,
                    "api_key": api_key(request),
                    "timeout": request.timeout_s,
                    "num_retries": 0,
                    "max_retries": 0,
                    "stream": False,
                }
            )
        except _errors_of(litellm) as error:
            raise _outside_error(error, request) from error
        return self._read(response, request, time.perf_counter() - start)

    def price(self, model: str) -> Price | None:
        """Return the price that litellm's table has for a model, or ``None``."""
        entry = self._price_entry(model)
        if entry is None:
            return None
        cached = entry.get("cache_read_input_token_cost")
        return Price(
            prompt_usd_per_mtok=entry["input_cost_per_token"] * _TOKENS_PER_MTOK,
            completion_usd_per_mtok=entry["output_cost_per_token"] * _TOKENS_PER_MTOK,
            cached_usd_per_mtok=None if cached is None else cached * _TOKENS_PER_MTOK,
        )

    def _imported(self) -> Any:  # noqa: ANN401 - a module without types
        with self._import_lock:
            return self._litellm

    @cached_property
    def _litellm(self) -> Any:  # noqa: ANN401
        # Without it litellm fetches its price table from GitHub at import.
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        with contextlib.redirect_stdout(sys.stderr):
            import litellm  # it takes seconds
        litellm.suppress_debug_info = True
        litellm.telemetry = False
        litellm.drop_params = False
        return litellm

    def _price_entry(self, model: str) -> dict[str, Any] | None:
        """Look a model up by its configured name; a name that litellm does not know has no price, not price 0."""
        litellm = self._imported()
        names = (model, model.partition("/")[2])
        for name in names:
            entry = litellm.model_cost.get(name)
            if entry and "input_cost_per_token" in entry and "output_cost_per_token" in entry:
                return dict(entry)
        return None

    def _read(self, response: object, request: Request, latency_s: float) -> Completion:
        text = _text(response)
        if not text:
            message = f"{request.model} answered with an empty reply"
            raise OutsideError(message, code="empty_reply", retryable=True)
        usage = getattr(response, "usage", None)
        details = getattr(usage, "prompt_tokens_details", None)
        return Completion(
            text=text,
            served_model=getattr(response, "model", None),
            # A server that reports no usage makes litellm count for itself, so that these are always there.
            prompt_tokens=getattr(usage, "prompt_tokens", None),
            completion_tokens=getattr(usage, "completion_tokens", None),
            cached_tokens=getattr(details, "cached_tokens", None),
            cost_usd=self._cost_usd(response, request),
            latency_s=latency_s,
        )

    def _cost_usd(self, response: object, request: Request) -> float | None:
        """Price by the configured model: the served name may be an alias that has another price or none."""
        if request.model is None or self._price_entry(request.model) is None:
            return None
        litellm = self._imported()
        try:
            cost = litellm.completion_cost(completion_response=response, model=request.model)
        except Exception:  # noqa: BLE001 - litellm raises bare Exception where it knows no price
            return None
        return float(cost)


def api_key(request: Request) -> str | None:
    """Return the key for a request, ``None`` where litellm looks for it itself.

    Raises:
        InputError: If the agent names an environment variable that is not set.
    """
    if request.api_key_env:
        key = os.environ.get(request.api_key_env)
        if not key:
            message = f"agent {request.agent!r} takes its key from {request.api_key_env}, which is not set"
            raise InputError(message, hint=f"export {request.api_key_env}=…")
        return key
    if request.api_base and (_is_loopback(request.api_base) or _is_keyless_openai(request)):
        return NO_KEY
    return None


def _is_keyless_openai(request: Request) -> bool:
    return (request.model or "").startswith("openai/") and not os.environ.get("OPENAI_API_KEY")


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _text(response: object) -> str:
    choices = getattr(response, "choices", None)
    if not choices:
        return ""
    content = getattr(choices[0].message, "content", None)
    return content if isinstance(content, str) and content.strip() else ""


def _errors_of(litellm: Any) -> tuple[type[Exception], ...]:  # noqa: ANN401
    """Return what a call can raise: litellm derives its errors from openai's, and lets those of its parsers through."""
    import openai

    own = (openai.OpenAIError, litellm.exceptions.BudgetExceededError)
    return (*own, ValueError, TypeError, AttributeError, KeyError, IndexError, OSError)


def _outside_error(error: Exception, request: Request) -> OutsideError:
    status = getattr(error, "status_code", None)
    code, retryable = _classify(_names_of(error), status if isinstance(status, int) else None)
    text = " ".join(str(error).split())[:_SHOWN_ERROR_CHARS]
    return OutsideError(
        f"{request.model}: {text or type(error).__name__}",
        code=code,
        retryable=retryable,
        retry_after_s=_retry_after_s(error),
    )


def _names_of(error: BaseException | None) -> list[str]:
    """Return the names of an error and its causes: litellm calls a refused connection a server error."""
    names = []
    while error is not None:
        names.append(type(error).__name__)
        error = error.__cause__ or error.__context__
    return names


def _classify(names: list[str], status: int | None) -> tuple[str, bool]:
    if "Timeout" in names[0]:
        return "timeout", True
    if names[0] == "ContextWindowExceededError":
        return "context_window", False
    if any(name in {"APIConnectionError", "ConnectError"} for name in names):
        return "connection", True
    if status in _STATUS_CODES:
        return _STATUS_CODES[status]
    if status is not None and status >= 500:  # noqa: PLR2004 - the class of server errors
        return "server_error", True
    return "bad_reply", False


def _retry_after_s(error: Exception) -> float | None:
    """Read ``Retry-After`` in seconds or as an HTTP date, wherever litellm left the headers."""
    headers = getattr(error, "litellm_response_headers", None)
    if headers is None:
        headers = getattr(getattr(error, "response", None), "headers", None)
    value = headers.get("retry-after") if headers is not None else None
    if not isinstance(value, str):
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        return _seconds_until(value)


def _seconds_until(http_date: str) -> float | None:
    from email.utils import parsedate_to_datetime  # rare, and pulls in the email package

    try:
        return max(0.0, parsedate_to_datetime(http_date).timestamp() - time.time())
    except ValueError:
        return None
