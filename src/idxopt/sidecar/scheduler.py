"""Which waiting texts go into the next batch of a model, and when. Pure: no clock, no thread, no model.

Texts of several requests share a batch up to `batch_tokens`. Requests take turns, so a long list does not hold up a
single text; within a request long texts go first, so that a batch holds texts of like length. A free model waits for
company only while fewer requests are queued than were outstanding at once since it last started a batch, and never
longer than `wait_s`: a lone client never waits, and clients that come back together are answered together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """`batch_tokens`: tokens of a batch. `wait_s`: longest wait of a free model, in seconds. `queue`: texts that may
    wait. `turn`: texts that a request adds before the next request has its turn.
    """

    batch_tokens: int
    wait_s: float
    queue: int
    turn: int = 1


class QueueFull(Exception):
    """More texts would wait than may. `waiting`: tokens that wait already."""

    def __init__(self, waiting: int) -> None:
        super().__init__("the queue is full")
        self.waiting = waiting


class TooLong(Exception):
    """A text alone is over the budget of a batch: it could never be served. `position`: which one."""

    def __init__(self, position: int, tokens: int) -> None:
        super().__init__("a text is longer than a batch may be")
        self.position = position
        self.tokens = tokens


@dataclass(frozen=True, slots=True)
class Item:
    """One text of a request: the request's ticket, the text's position in it, its tokens."""

    ticket: int
    position: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Run:
    """Start this batch now."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to start yet; decide again at `until`, or when a request comes. None: only when a request comes."""

    until: float | None


@dataclass(slots=True)
class _Request:
    since: float
    items: deque[Item] = field(default_factory=deque)


class Scheduler:
    """The queue of one model. Times are seconds of any one clock."""

    def __init__(self, limits: BatchLimits) -> None:
        self.limits = limits
        self._requests: dict[int, _Request] = {}  # in turn: the first is served next
        self._next_ticket = 0
        self._company = 1  # requests outstanding at once since the last batch started
        self._running = 0  # requests in the batch that runs
        self._texts = 0
        self._tokens = 0

    @property
    def texts(self) -> int:
        """Texts that wait."""
        return self._texts

    @property
    def tokens(self) -> int:
        """Tokens that wait."""
        return self._tokens

    def offer(self, tokens: Sequence[int], now: float) -> int:
        """Queues a request, one number a text, whole or not at all. Its ticket. Raises QueueFull and TooLong."""
        for position, count in enumerate(tokens):
            if count > self.limits.batch_tokens:
                raise TooLong(position, count)
        if self._texts + len(tokens) > self.limits.queue:
            raise QueueFull(self._tokens)
        ticket = self._next_ticket
        self._next_ticket += 1
        longest_first = sorted(range(len(tokens)), key=lambda position: (-tokens[position], position))
        items = deque(Item(ticket, position, tokens[position]) for position in longest_first)
        if items:
            self._requests[ticket] = _Request(now, items)
        self._count(items, 1)
        self._company = max(self._company, len(self._requests) + self._running)
        return ticket

    def withdraw(self, ticket: int) -> None:
        """Forgets what still waits of a request whose client has gone or whose answer has failed."""
        request = self._requests.pop(ticket, None)
        if request is not None:
            self._count(request.items, -1)
            self._company = max(1, self._company - 1)

    def finished(self) -> None:
        """The batch that ran is done; said before its clients are answered, who may come back at once."""
        self._running = 0

    def decide(self, now: float, free_since: float) -> Run | Wait:
        """What a free model does now. `free_since`: when it became free."""
        if not self._requests:
            return Wait(None)
        if len(self._requests) < self._company and self._tokens < self.limits.batch_tokens:
            oldest = min(request.since for request in self._requests.values())
            until = max(oldest, free_since) + self.limits.wait_s
            if now < until:
                return Wait(until)
        return Run(self._take())

    def _take(self) -> tuple[Item, ...]:
        self._company = len(self._requests)
        batch = tuple(self._turns())
        self._count(batch, -1)
        self._running = len({item.ticket for item in batch} - self._requests.keys())
        return batch

    def _turns(self) -> Iterator[Item]:
        """Texts in turn until the next one would not fit: it is not passed over, so that it cannot starve."""
        room = self.limits.batch_tokens
        while self._requests:
            ticket = next(iter(self._requests))
            request = self._requests.pop(ticket)
            for _ in range(self.limits.turn):
                if not request.items:
                    break
                if request.items[0].tokens > room:
                    self._requests = {ticket: request, **self._requests}
                    return
                room -= request.items[0].tokens
                yield request.items.popleft()
            if request.items:
                self._requests[ticket] = request

    def _count(self, items: Sequence[Item] | deque[Item], sign: int) -> None:
        self._texts += sign * len(items)
        self._tokens += sign * sum(item.tokens for item in items)
