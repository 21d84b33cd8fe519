"""What can be done to a request on its way. Rules nest: each gets the rest of the way as `forward`.

Rules run on the proxy's event loop, one at a time, so their counters need no lock; hooks run in a thread of their own,
while the proxy goes on serving other requests.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal, Protocol


@dataclass(frozen=True)
class Request:
    """A request as it came in. `count` numbers those with the same method and path, from 1."""

    method: str
    path: str  # decoded, without the query string
    target: str  # as sent, with the query string
    headers: Mapping[str, str]
    body: bytes
    count: int = 1


@dataclass(frozen=True)
class Answer:
    """A reply as the node gave it, or as a rule made it."""

    status: int
    body: bytes
    content_type: str = "application/json; charset=UTF-8"
    headers: Mapping[str, str] = field(default_factory=dict)


class DroppedError(Exception):
    """Close the connection without a reply."""


Forward = Callable[[Request], Awaitable[Answer]]


class Rule(Protocol):
    async def apply(self, request: Request, forward: Forward) -> Answer: ...


@dataclass
class Match:
    """Which requests a rule is for. `method` and `path` are shell patterns; of the requests that fit them the rule is
    for the `nth` only, or `every` k-th, or the `first` so many, or all. It counts, so each rule needs one of its own.
    """

    method: str = "*"
    path: str = "*"
    nth: int | None = None
    every: int | None = None
    first: int | None = None
    met: int = field(default=0, init=False)

    def __call__(self, request: Request) -> bool:
        if not (fnmatchcase(request.method, self.method) and fnmatchcase(request.path, self.path)):
            return False
        self.met += 1
        if self.nth is not None:
            return self.met == self.nth
        if self.every is not None:
            return self.met % self.every == 0
        return self.first is None or self.met <= self.first


@dataclass
class Hold:
    """Forward, then run `hook(request, answer)` to its end, and only then pass the reply on."""

    match: Match
    hook: Callable[[Request, Answer], object]

    async def apply(self, request: Request, forward: Forward) -> Answer:
        chosen = self.match(request)
        answer = await forward(request)
        if chosen:
            await asyncio.to_thread(self.hook, request, answer)
        return answer


@dataclass
class Kill:
    """`kill -9` a process when the node has done its part, or before it got the request; the reply is never passed on.

    `pid` is asked at that moment, since the process is usually started after the proxy.
    """

    match: Match
    pid: Callable[[], int]
    when: Literal["before", "after"] = "after"
    done: bool = field(default=False, init=False)

    async def apply(self, request: Request, forward: Forward) -> Answer:
        if not self.match(request):
            return await forward(request)
        if self.when == "after":
            await forward(request)
        os.kill(self.pid(), signal.SIGKILL)
        self.done = True
        raise DroppedError


@dataclass
class Drop:
    """Close the connection: `before` the node saw the request, or `after` it answered (the reply is lost)."""

    match: Match
    when: Literal["before", "after"] = "before"
    dropped: int = field(default=0, init=False)

    async def apply(self, request: Request, forward: Forward) -> Answer:
        if not self.match(request):
            return await forward(request)
        if self.when == "after":
            await forward(request)
        self.dropped += 1
        raise DroppedError


@dataclass
class Silence:
    """Forward, swallow the reply, and keep the connection open without a word: the client's time-out decides."""

    match: Match
    seconds: float = 3600.0

    async def apply(self, request: Request, forward: Forward) -> Answer:
        chosen = self.match(request)
        answer = await forward(request)
        if chosen:
            await asyncio.sleep(self.seconds)
            raise DroppedError
        return answer


@dataclass
class Reply:
    """Answer in the node's place; the node never sees the request."""

    match: Match
    status: int
    body: bytes | str = b""
    content_type: str = "application/json; charset=UTF-8"
    headers: Mapping[str, str] = field(default_factory=dict)

    async def apply(self, request: Request, forward: Forward) -> Answer:
        if not self.match(request):
            return await forward(request)
        body = self.body.encode() if isinstance(self.body, str) else self.body
        return Answer(self.status, body, self.content_type, self.headers)


@dataclass
class Delay:
    """Wait before forwarding."""

    match: Match
    seconds: float

    async def apply(self, request: Request, forward: Forward) -> Answer:
        if self.match(request):
            await asyncio.sleep(self.seconds)
        return await forward(request)
