"""Time as an argument: what waits and what writes dates gets it from here, so that tests need not wait."""

from __future__ import annotations

import datetime as dt
import threading
import time
from typing import Protocol


class Clock(Protocol):
    """`now` is for people and records, `monotonic` (seconds) for measuring, `sleep` for waiting.

    `wait` waits for an event and says whether it was set.
    """

    def now(self) -> dt.datetime: ...

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...

    def wait(self, event: threading.Event, seconds: float) -> bool: ...


class SystemClock:
    """The machine's own clock; dates are UTC."""

    def now(self) -> dt.datetime:
        return dt.datetime.now(dt.UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        return event.wait(seconds)


def timestamp(clock: Clock) -> str:
    """ISO 8601, UTC, milliseconds: `2026-08-01T12:00:00.000Z`."""
    return clock.now().astimezone(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
