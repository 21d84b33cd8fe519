"""A real HTTP server in a thread, whose answers a test writes: good ones, wrong ones, late ones, none."""

import asyncio
import base64
import hashlib
import json
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from aiohttp import web

from idxopt.models.settings import ModelSettings

Answer = Callable[["Request"], web.StreamResponse | Awaitable[web.StreamResponse]]
DIMENSION = 8


@dataclass
class Request:
    """What arrived: the parsed body, the headers, which try it is (from 0), and aiohttp's own request."""

    path: str
    body: Any
    headers: dict[str, str]
    number: int
    raw: web.Request


@dataclass
class ModelServer:
    """A server at `url`; `requests` in the order of arrival. `answer` may be set anew at any time."""

    url: str
    answer: Answer
    requests: list[Request] = field(default_factory=list)
    busy: int = 0
    busiest: int = 0

    async def handle(self, raw: web.Request) -> web.StreamResponse:
        text = await raw.text()
        request = Request(raw.path, json.loads(text), dict(raw.headers), len(self.requests), raw)
        self.requests.append(request)
        self.busy += 1
        self.busiest = max(self.busiest, self.busy)
        try:
            found = self.answer(request)
            return found if isinstance(found, web.StreamResponse) else await found
        finally:
            self.busy -= 1


@contextmanager
def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> Iterator[ModelServer]:
    """The server runs until the block ends."""
    loop = asyncio.new_event_loop()
    server = ModelServer("", answer)

    async def start() -> web.AppRunner:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", server.handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        return runner

    runner = loop.run_until_complete(start())
    scheme = "https" if tls else "http"
    server.url = (
        f"{scheme}://localhost:{runner.addresses[0][1]}" if tls else f"http://127.0.0.1:{runner.addresses[0][1]}"
    )
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def settings(url: str, **changes: Any) -> ModelSettings:
    """Settings of the provider http that give up soon."""
    return ModelSettings(**{"provider": "http", "url": url, "timeout_s": 5.0, "retries": 2, **changes})


def vector_of(text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A vector that depends on the text alone."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)


def embeddings(request: Request, vectors: list[Any] | None = None) -> dict[str, Any]:
    """What OpenAI answers; `vectors` in place of the right ones."""
    found = vectors if vectors is not None else [vector_of(text).tolist() for text in request.body["input"]]
    if request.body.get("encoding_format") == "base64":
        found = [base64.b64encode(np.asarray(one, "<f4").tobytes()).decode() if _plain(one) else one for one in found]
    return {
        "object": "list",
        "model": request.body["model"],
        "data": [{"object": "embedding", "index": index, "embedding": one} for index, one in enumerate(found)],
        "usage": {"prompt_tokens": 7, "total_tokens": 7},
    }


def _plain(vector: Any) -> bool:
    return isinstance(vector, list) and all(isinstance(value, float) for value in vector)


def good_embeddings(request: Request) -> web.Response:
    return web.json_response(embeddings(request))


def chat(text: Any, *, finish: str = "stop", usage: Any = None, **message: Any) -> dict[str, Any]:
    """What OpenAI answers to a chat."""
    return {
        "id": "1",
        "object": "chat.completion",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
        ],
        **({"usage": usage} if usage is not None else {}),
    }


def status(code: int, said: str = "no", **headers: str) -> web.Response:
    """An error as OpenAI words it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return web.json_response({"error": {"message": said, "type": "test"}}, status=code, headers=named)
