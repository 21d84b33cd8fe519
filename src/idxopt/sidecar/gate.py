"""What every request passes first, as plain ASGI: the token, the size of the body and the time that it takes to come,
the room for all bodies, the count and the clock.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from idxopt.sidecar.failures import Refusal
from idxopt.sidecar.metrics import Metrics
from idxopt.sidecar.settings import SidecarSettings

OPEN = {"/health", "/ready"}
"""Answered without a token: probes have none."""
_RETRY_S = 1


class _Room:
    """Bytes of the bodies of all requests that are being read or answered."""

    def __init__(self, limit: int) -> None:
        self._free = limit

    def take(self, size: int) -> None:
        """Raises Refusal (429) where there is no room."""
        if size > self._free:
            message = f"the bodies of other requests fill the memory set aside for them; try again in {_RETRY_S} s"
            headers = {"Retry-After": str(_RETRY_S), "Connection": "close"}
            raise Refusal("bodies_full", message, headers=headers)
        self._free -= size

    def give_back(self, size: int) -> None:
        self._free += size


class Gate:
    """Checks token and size before the application sees a request."""

    def __init__(self, app: ASGIApp, *, token: str | None, settings: SidecarSettings, metrics: Metrics) -> None:
        self._app = app
        self._token = None if token is None else token.encode()
        self._limit = settings.max_body_bytes
        self._body_s = settings.body_s
        self._room = _Room(settings.max_held_bytes)
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            self._check_token(scope)
            await self._with_body(scope, receive, counted)
        except Refusal as refusal:
            await refuse(refusal, counted)
        except asyncio.CancelledError:  # the time for draining is over
            if status:
                raise
            await refuse(Refusal("shutting_down", "the server is shutting down; send the request again"), counted)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.request(route, status or 500, time.perf_counter() - began)

    def _check_token(self, scope: Scope) -> None:
        if self._token is None or scope["path"] in OPEN:
            return
        kind, _, given = _header(scope, b"authorization").partition(b" ")
        if kind.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self._token):
            raise Refusal(
                "unauthorized",
                "the token is missing or wrong; send `Authorization: Bearer TOKEN`",
                headers={"WWW-Authenticate": "Bearer"},
            )

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Runs the application on the whole body; the body's room is free again when it has answered."""
        length = _header(scope, b"content-length")
        if length.isdigit() and int(length) > self._limit:
            raise self._too_large()
        parts: list[bytes] = []
        try:
            try:
                async with asyncio.timeout(self._body_s):
                    whole = await self._read(receive, parts)
            except TimeoutError:
                message = f"the body was not here within {self._body_s:g} s"
                raise Refusal("body_too_slow", message, headers={"Connection": "close"}) from None
            if whole:
                await self._app(scope, _replayed(b"".join(parts), receive), send)
        finally:
            self._room.give_back(sum(map(len, parts)))

    async def _read(self, receive: Receive, parts: list[bytes]) -> bool:
        """Reads the body into `parts`, which hold what was taken of the room; False when the client went away."""
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return False
            part = message.get("body", b"")
            size += len(part)
            if size > self._limit:
                raise self._too_large()
            self._room.take(len(part))
            parts.append(part)
            if not message.get("more_body", False):
                return True

    def _too_large(self) -> Refusal:
        return Refusal("too_large", f"the body is over {self._limit:,} bytes; send fewer texts at once")


async def refuse(refusal: Refusal, send: Send) -> None:
    """Sends a refusal as the whole answer."""
    headers = {"Content-Type": "application/json", **refusal.headers}
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    body = refusal.body()
    raw.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": refusal.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def _header(scope: Scope, name: bytes) -> bytes:
    found: list[tuple[bytes, bytes]] = scope["headers"]
    return next((value for key, value in found if key == name), b"")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body once more, then whatever comes (the client going away)."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        message: dict[str, Any] = {"type": "http.request", "body": body, "more_body": False}
        return message

    return replay
