"""What answers and failures of a model's server mean: worth repeating or not, paid for or not, and what to do."""

from __future__ import annotations

import email.utils
import ssl
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx

from idxopt.errors import ModelError
from idxopt.models.answers import Unbilled

REPEATED = frozenset({429, 500, 502, 503, 504})
EXCERPT = 200
_GATEWAYS = frozenset({502, 504})
_REFUSALS = frozenset({400, 422, 500, 501})
_READ = 65_536

_REMEDIES = {
    401: "check the key of this model in idxopt.toml",
    403: "check the rights of the key of this model in idxopt.toml",
    404: "check `url` and `model` of this model in idxopt.toml",
    413: "lower `batch_tokens` of this model in idxopt.toml, or raise the server's limit",
    429: "lower `concurrency` or raise `timeout_s` of this model in idxopt.toml, or ask for a higher rate limit",
}
_SERVER = "look at the server's log; then run again"


class Again(Exception):
    """A failure that may pass. `after`: seconds that the server asks to wait, when it does."""

    def __init__(self, error: ModelError, after: float | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.after = after


class OptionRefused(Unbilled):
    """The server does not know a part of the request; `option` is its name."""

    def __init__(self, error: ModelError, option: str) -> None:
        super().__init__(error.message, place=error.place, remedy=error.remedy)
        self.option = option


def option_failure(status: int, raw: bytes, options: Sequence[str], failure: ModelError | Again) -> ModelError | Again:
    """OptionRefused where a refusal names one of the options, else the failure as it was.

    500 counts as a refusal: llama.cpp's Python server answers that to a body that it does not accept.
    """
    if status in _REFUSALS:
        said = raw[:_READ].decode("utf-8", "replace")
        for option in options:
            if option in said:
                return OptionRefused(failure.error if isinstance(failure, Again) else failure, option)
    return failure


def status_failure(response: httpx.Response, said: str, place: str) -> ModelError | Again:
    """The failure behind an answer that is not 200. `said`: what the answer says, as text."""
    status = response.status_code
    if response.is_redirect:
        host = _host(response.headers.get("location", "")) or "another path"
        return Unbilled(
            f"the server redirects to {host}; the request and its key are not sent there",
            place=place,
            remedy="write the final address in `url` of this model in idxopt.toml",
        )
    told = f": {said}" if said else ""
    remedy = _REMEDIES.get(
        status, _SERVER if status >= 500 else "check the model's settings, and what the server takes"
    )
    error = Unbilled(f"the server answered {status}{told}", place=place, remedy=remedy)
    if status in REPEATED:
        return Again(error, retry_after(response.headers.get("retry-after")))
    return error


def unanswered(failure: ModelError | Again, status: int) -> ModelError | Again:
    """For a request that must not be paid twice: a gateway that lost the server behind it (502, 504) cannot say whether
    that one did the work.
    """
    if status not in _GATEWAYS or not isinstance(failure, Again):
        return failure
    error = failure.error
    return ModelError(f"{error.message}; it may have been paid for", place=error.place, remedy=error.remedy)


def transport_failure(failure: httpx.TransportError, timeout_s: float, place: str) -> ModelError | Again:
    """The failure of a request without an answer."""
    if _tls(failure):
        kind = Unbilled if isinstance(failure, httpx.ConnectError) else ModelError  # later: it was sent already
        return kind(
            f"the server's certificate is not accepted ({_reason(failure)})",
            place=place,
            remedy="give the authority's certificate as `ca`, and use the name that the server's certificate lists",
        )
    if isinstance(failure, httpx.ConnectError | httpx.ConnectTimeout):
        remedy = "start the server, or correct `url` of this model in idxopt.toml"
        return Again(Unbilled(f"no server answers ({_reason(failure)})", place=place, remedy=remedy))
    if isinstance(failure, httpx.NetworkError | httpx.RemoteProtocolError):
        return Again(ModelError(f"the connection broke off ({_reason(failure)})", place=place, remedy=_SERVER))
    if isinstance(failure, httpx.TimeoutException):
        return late(timeout_s, place)
    return ModelError(f"the request failed ({_reason(failure)})", place=place, remedy="check `url` of this model")


def late(timeout_s: float, place: str) -> ModelError:
    return ModelError(
        f"no whole answer within {timeout_s:g} s",
        place=place,
        remedy="raise `timeout_s` of this model in idxopt.toml, or lower `concurrency` and `batch_tokens`",
    )


def retry_after(header: str | None) -> float | None:
    """Seconds that a Retry-After header asks for: a number or a date. None for one that says nothing usable."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds == seconds else None


def excerpt(answer: Any, raw: bytes, key: str | None) -> str:
    """What an error answer says, in short, on one line, with the key blotted out."""
    text = _message(answer) or raw[: 10 * EXCERPT].decode("utf-8", "replace")
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    if key:
        line = line.replace(key, "***")
    return line if len(line) <= EXCERPT else f"{line[:EXCERPT]}..."


def _message(answer: Any) -> str:
    """OpenAI: error.message; FastAPI: detail; Cohere: message; others: error."""
    if not isinstance(answer, dict):
        return ""
    for name in ("error", "detail", "message"):
        value = answer.get(name)
        if isinstance(value, dict):
            value = value.get("message")
        if isinstance(value, str) and value:
            return value
    return ""


def _host(location: str) -> str | None:
    try:
        return urlsplit(location).hostname
    except ValueError:
        return None


def _tls(failure: BaseException | None) -> bool:
    while failure is not None:
        if isinstance(failure, ssl.SSLError):
            return not isinstance(failure, ssl.SSLEOFError | ssl.SSLZeroReturnError)
        failure = failure.__cause__ or failure.__context__
    return False


def _reason(failure: Exception) -> str:
    return str(failure) or type(failure).__name__
