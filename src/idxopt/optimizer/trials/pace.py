"""Rate limits."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

from idxopt.builds.clock import Clock

T = TypeVar("T")
_GRAIN_S = 0.02
"""Shorter waits are put off: a sleep is never as short as the time between two rows."""


class Pace:
    """At most `per_second` things a second, evenly; None: no limit. Safe to share between threads."""

    def __init__(self, per_second: float | None, clock: Clock) -> None:
        self._interval = 0.0 if per_second is None else 1.0 / per_second
        self._clock = clock
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self) -> None:
        """Returns when one more may go."""
        if not self._interval:
            return
        with self._lock:
            now = self._clock.monotonic()
            due = max(self._next, now)
            self._next = due + self._interval
        if due - now > _GRAIN_S:
            self._clock.sleep(due - now)

    def paced(self, things: Iterable[T]) -> Iterator[T]:
        """The things, no faster than that."""
        for thing in things:
            self.wait()
            yield thing
