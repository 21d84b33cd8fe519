"""The proxy itself: HTTP/1.1, in this process, on a thread with an event loop of its own."""

import asyncio
import threading
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp import web
from yarl import URL

from tests.faults.rules import Answer, DroppedError, Forward, Request, Rule

# About the connection, not the message; the body passes unpacked, so that rules can read it.
NOT_FORWARDED = {
    "host",
    "connection",
    "keep-alive",
    "transfer-encoding",
    "content-length",
    "content-encoding",
    "expect",
}
NOT_RETURNED = {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "content-type"}
LARGEST_BODY = 1 << 31
KEPT_BODY = 64 * 1024


@dataclass
class Seen:
    """A request that reached the proxy. `status` is what the client got, None while it waits or when it got nothing.

    `count` numbers the requests with the same method and path, from 1. `body` is kept up to 64 kB.
    """

    method: str
    path: str
    target: str
    count: int
    body: bytes
    status: int | None = None

    @property
    def key(self) -> tuple[str, str, int]:
        return self.method, self.path, self.count


class FaultProxy:
    """`with FaultProxy(node_url) as proxy:` then talk to `proxy.url`; rules may be added and removed at any time.

    Rules apply in the order of `rules`, the first outermost. `seen` lists all requests in the order of their arrival.
    """

    def __init__(self, upstream: str, *rules: Rule) -> None:
        self.upstream = upstream.rstrip("/")
        self.rules: list[Rule] = list(rules)
        self.seen: list[Seen] = []
        self.url = ""
        self._counts: Counter[tuple[str, str]] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault-proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._open())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def count(self, method: str, path: str) -> int:
        """How many requests with exactly this method and path have come."""
        return self._counts[method, path]

    def _call(self, work: Coroutine[object, object, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=30)

    async def _open(self) -> None:
        self._session = aiohttp.ClientSession(
            auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None), connector=aiohttp.TCPConnector(limit=0)
        )
        application = web.Application(client_max_size=LARGEST_BODY)
        application.router.add_route("*", "/{any:.*}", self._handle)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        _, port = self._runner.addresses[0][:2]
        self.url = f"http://127.0.0.1:{port}"

    async def _close(self) -> None:
        await self._runner.cleanup()
        await self._session.close()

    async def _handle(self, incoming: web.Request) -> web.StreamResponse:
        body = await incoming.read()
        key = incoming.method, incoming.path
        self._counts[key] += 1
        request = Request(*key, incoming.raw_path, dict(incoming.headers), body, self._counts[key])
        seen = Seen(*key, incoming.raw_path, request.count, body[:KEPT_BODY])
        self.seen.append(seen)
        try:
            answer = await self._chain(tuple(self.rules))(request)
        except (DroppedError, aiohttp.ClientError, OSError):
            # A node that is gone looks to the client like one that was never there, not like a gateway's error.
            if incoming.transport is not None:
                incoming.transport.abort()
            return web.Response()
        seen.status = answer.status
        headers = {**answer.headers, "Content-Type": answer.content_type} if answer.content_type else answer.headers
        return web.Response(status=answer.status, body=answer.body, headers=headers)

    def _chain(self, rules: tuple[Rule, ...]) -> Forward:
        if not rules:
            return self._forward
        rest = self._chain(rules[1:])

        async def step(request: Request) -> Answer:
            return await rules[0].apply(request, rest)

        return step

    async def _forward(self, request: Request) -> Answer:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in NOT_FORWARDED}
        headers["Accept-Encoding"] = "identity"
        url = URL(self.upstream + request.target, encoded=True)
        async with self._session.request(request.method, url, data=request.body or None, headers=headers) as answer:
            body = await answer.read()
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in NOT_RETURNED}
            return Answer(answer.status, body, answer.headers.get("Content-Type", ""), kept)
