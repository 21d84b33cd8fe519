"""Ctrl-C and SIGTERM: the first one lets an apply finish its step and release the lock, the second stops at once."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from idxopt.errors import ExitCode


class Terminated(KeyboardInterrupt):
    """SIGTERM, on the same way out as Ctrl-C."""


class Stopped(Exception):
    """The command was stopped from outside. `kept`: what the user should know; `remedy`: what to do next."""

    def __init__(self, exit_code: ExitCode, kept: str | None = None, remedy: str = "run the command again") -> None:
        super().__init__("stopped")
        self.exit_code = exit_code
        self.kept = kept
        self.remedy = remedy


def stopped_by(interrupt: KeyboardInterrupt) -> ExitCode:
    """130 for Ctrl-C, 143 for SIGTERM."""
    return ExitCode.TERMINATED if isinstance(interrupt, Terminated) else ExitCode.INTERRUPTED


class Interruption:
    """A request to stop that long work looks at between its steps."""

    def __init__(self) -> None:
        self._asked: KeyboardInterrupt | None = None
        self._shielded = False

    @property
    def asked(self) -> bool:
        return self._asked is not None

    def shield(self) -> None:
        """From here on the work is finished whatever comes, but for a second signal: readers are about to move."""
        self._shielded = True

    def check(self) -> None:
        """Raises the interrupt that was asked for."""
        if self._asked is not None and not self._shielded:
            raise self._asked

    def received(self, interrupt: KeyboardInterrupt) -> None:
        """The first signal is noted; the second is raised where the program is."""
        if self._asked is not None:
            raise interrupt
        self._asked = interrupt
        sys.stderr.write("\nstopping after this step; press Ctrl-C again to stop at once\n")
        sys.stderr.flush()


@contextmanager
def terminable() -> Iterator[list[Terminated]]:
    """SIGTERM is raised as `Terminated`, so that locks are released. Yields those that came."""
    came: list[Terminated] = []

    def handler(_number: int, _frame: FrameType | None) -> None:
        came.append(Terminated())
        raise came[-1]

    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = signal.signal(signal.SIGTERM, handler)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def between_steps() -> Iterator[Interruption]:
    """Inside, both signals are noted first and raised by `check`; a second one is raised at once."""
    interruption = Interruption()

    def handler(number: int, _frame: FrameType | None) -> None:
        interruption.received(Terminated() if number == signal.SIGTERM else KeyboardInterrupt())

    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interruption
    finally:
        for number, old in before.items():
            signal.signal(number, old)
