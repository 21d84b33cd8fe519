"""What every request passes first, as plain ASGI: the token, the size of the body, the count and the clock."""

from __future__ import annotations

import asyncio
import hmac
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from idxopt.sidecar.failures import Refusal
from idxopt.sidecar.metrics import Metrics

OPEN = {"/health", "/ready"}
"""Answered without a token: probes have none."""


class Gate:
    """Checks token and size before the application sees a request."""

    def __init__(self, app: ASGIApp, *, token: str | None, max_body_bytes: int, metrics: Metrics) -> None:
        self._app = app
        self._token = None if token is None else token.encode()
        self._limit = max_body_bytes
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
            body = await self._body(scope, receive)
            if body is not None:
                await self._app(scope, _replayed(body, receive), counted)
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

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The whole body; None when the client went away while sending it."""
        length = _header(scope, b"content-length")
        if length.isdigit() and int(length) > self._limit:
            raise self._too_large()
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            part = message.get("body", b"")
            size += len(part)
            if size > self._limit:
                raise self._too_large()
            parts.append(part)
            if not message.get("more_body", False):
                return b"".join(parts)

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
