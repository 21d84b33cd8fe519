"""One model's server over HTTP: JSON to JSON, with one deadline over all repetitions of a request."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import httpx
import orjson
import tenacity

from idxopt.errors import ConfigError, ModelError
from idxopt.models.answers import Unbilled
from idxopt.models.http.address import endpoint_url, trust
from idxopt.models.http.faults import (
    Again,
    excerpt,
    late,
    option_failure,
    status_failure,
    transport_failure,
    unanswered,
)
from idxopt.models.settings import ModelSettings

# Its lines name every request; they are for those who ask for them.
logging.getLogger("httpx").addHandler(logging.NullHandler())

ANSWER_BYTES = 64 * 1024 * 1024
"""An answer longer than this is not read to its end."""
CONNECT_S = 10.0
FIRST_WAIT_S = 0.25
LONGEST_WAIT_S = 10.0


class _Bearer(httpx.Auth):
    """Puts the key on each request; shows nothing of it."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __repr__(self) -> str:
        return "<key>"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {self._key}"
        yield request


class Client:
    """Requests to one endpoint of one server. Thread-safe; at most `concurrency` requests are under way.

    A request waits for its turn as long as it takes; `timeout_s` runs from then on, over all its repetitions.
    """

    def __init__(
        self, settings: ModelSettings, endpoint: str, *, key: str | None, place: str, answer_bytes: int = ANSWER_BYTES
    ) -> None:
        assert settings.url is not None  # validated settings of the provider http
        if key is not None and not (key and key.isascii() and key.isprintable()):
            raise ConfigError(
                "the key is empty or has characters that no HTTP header may hold",
                place=place,
                remedy="check what its reference names: one line of ASCII",
            )
        self.url = endpoint_url(settings.url, endpoint, place)
        self.place = f"{place} at {self.url.partition('?')[0]}"
        self.concurrency = settings.concurrency
        self._timeout_s = settings.timeout_s
        self._retries = settings.retries
        self._answer_bytes = answer_bytes
        self._blot = key
        self._turn = threading.BoundedSemaphore(settings.concurrency)
        self._http = httpx.Client(
            verify=trust(settings.ca, place),
            auth=_Bearer(key) if key else None,
            follow_redirects=False,
            limits=httpx.Limits(max_connections=settings.concurrency),
            headers={"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"},
        )

    def __repr__(self) -> str:
        return f"<Client {self.place}>"

    def close(self) -> None:
        self._http.close()

    def post(
        self, body: Mapping[str, Any], *, repeat_unanswered: bool = True, options: Sequence[str] = ()
    ) -> dict[str, Any]:
        """The JSON object that the server answers.

        Repeated after 429, 500, 502, 503, 504 and lost connections; when `repeat_unanswered` is false not after 502,
        504 or a lost connection of a request that was sent (it may have been paid for). `options`: names of parts of
        the body that not every server knows; a refusal that names one raises OptionRefused at once, whatever its
        status. Raises ModelError, Unbilled where the request certainly cost nothing.
        """
        content = _encoded(body)
        with self._turn:
            deadline = time.monotonic() + self._timeout_s
            tries = 0
            try:
                for attempt in tenacity.Retrying(
                    stop=lambda state: (
                        state.attempt_number > self._retries or time.monotonic() + state.upcoming_sleep >= deadline
                    ),
                    wait=_pause,
                    retry=tenacity.retry_if_exception_type(Again),
                    reraise=True,
                ):
                    tries += 1
                    with attempt:
                        return self._once(content, deadline, repeat_unanswered, options)
            except Again as last:
                raise _given_up(last, tries) from None
        raise AssertionError("tenacity ended without result or error")

    def _once(self, content: bytes, deadline: float, repeat_unanswered: bool, options: Sequence[str]) -> dict[str, Any]:
        left = max(0.001, deadline - time.monotonic())
        limits = httpx.Timeout(left, connect=min(left, CONNECT_S))
        try:
            with self._http.stream("POST", self.url, content=content, timeout=limits) as response:
                raw = self._read(response, deadline)
        except httpx.TransportError as failure:
            found = transport_failure(failure, self._timeout_s, self.place)
            if isinstance(found, Again) and (repeat_unanswered or isinstance(found.error, Unbilled)):
                raise found from None
            raise (found.error if isinstance(found, Again) else found) from None
        except (httpx.HTTPError, httpx.InvalidURL) as failure:
            raise ModelError(
                f"the answer cannot be read ({failure})", place=self.place, remedy="check the server, and `url`"
            ) from None
        answer = _decoded(raw)
        if response.status_code != 200:
            told = status_failure(response, excerpt(answer, raw, self._blot), self.place)
            if not repeat_unanswered:
                told = unanswered(told, response.status_code)
            raise option_failure(response.status_code, raw, options, told)
        if not isinstance(answer, dict):
            said = excerpt(answer, raw, self._blot)
            raise ModelError(
                f"the answer is no JSON object: {said}" if said else "the answer is empty",
                place=self.place,
                remedy="check that `url` is that of a model server, not of a web page or a login proxy",
            )
        return answer

    def _read(self, response: httpx.Response, deadline: float) -> bytes:
        """The body, as long as it is within its size and time."""
        raw = bytearray()
        for chunk in response.iter_bytes():
            raw += chunk
            if len(raw) > self._answer_bytes:
                raise ModelError(
                    f"the answer is longer than {self._answer_bytes:,} bytes",
                    place=self.place,
                    remedy="lower `batch_tokens` of this model in idxopt.toml, and check the server",
                )
            if time.monotonic() > deadline:
                raise late(self._timeout_s, self.place)
        return bytes(raw)


def _pause(state: tenacity.RetryCallState) -> float:
    """Exponential with jitter; never shorter than the server asks for."""
    backoff = tenacity.wait_random_exponential(multiplier=FIRST_WAIT_S, max=LONGEST_WAIT_S)(state)
    failure = state.outcome.exception() if state.outcome is not None else None
    asked = failure.after if isinstance(failure, Again) else None
    return max(backoff, asked or 0.0)


def _given_up(last: Again, tries: int) -> ModelError:
    """The last failure, with what was done about it."""
    error = last.error
    asked = f", which asks to wait {last.after:g} s" if last.after else ""
    repeated = f"; {tries} tries within the time-out" if tries > 1 else ""
    return type(error)(f"{error.message}{asked}{repeated}", place=error.place, remedy=error.remedy)


def _encoded(body: Mapping[str, Any]) -> bytes:
    """JSON; lone surrogates, which no server reads, become U+FFFD."""
    try:
        return orjson.dumps(body)
    except TypeError:
        text = json.dumps(body, ensure_ascii=False)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8")


def _decoded(raw: bytes) -> Any:
    """The JSON value, also with the NaN and Infinity that Python's servers write; None for anything else."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        try:
            return json.loads(raw)
        except (ValueError, RecursionError):
            return None
