"""Progress of long work: a bar on a terminal's stderr once it takes more than two seconds; lines with -v elsewhere."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from idxopt.cli.interruption import Interruption, between_steps
from idxopt.cli.settings import Settings
from idxopt.cli.streams import console

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

PATIENCE_S = 2.0
_COMMIT = "switch"
log = logging.getLogger("idxopt.progress")


class ConsoleProgress:
    """Implements `deploy.options.Progress`, and stops the work between steps when a signal asked for it."""

    def __init__(self, settings: Settings, interruption: Interruption) -> None:
        self._settings = settings
        self._interruption = interruption
        self._started = time.monotonic()
        self._shown = not settings.quiet and not settings.json and sys.stderr.isatty()
        self._bars: Bars | None = None
        self._task: TaskID | None = None
        self._stage = ""

    def stage(self, text: str) -> None:
        """A new part of the work begins."""
        if text == _COMMIT:
            self._interruption.check()
            self._interruption.shield()
        self._interruption.check()
        log.info("%s", text)
        self._stage = text
        self._update(text, 0, 0)

    def advance(self, what: str, done: int, total: int) -> None:
        """`done` of `total` (0: not known)."""
        self._interruption.check()
        self._update(what, done, total)

    def check(self) -> None:
        """Raises the interrupt that a signal asked for."""
        self._interruption.check()

    def close(self) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None

    def _update(self, what: str, done: int, total: int) -> None:
        if not self._shown or time.monotonic() - self._started < PATIENCE_S:
            return
        if self._bars is None:
            self._bars, self._task = _bars(self._settings)
        assert self._task is not None
        self._bars.update(self._task, description=what, completed=done, total=total or None)


def _bars(settings: Settings) -> tuple[Bars, TaskID]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    bars = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console(settings, stderr=True),
        transient=True,
    )
    bars.start()
    return bars, bars.add_task("", total=None)


@contextmanager
def stoppable(settings: Settings) -> Iterator[ConsoleProgress]:
    """Progress for work that the first Ctrl-C or SIGTERM stops between steps."""
    with between_steps() as interruption:
        progress = ConsoleProgress(settings, interruption)
        try:
            yield progress
        finally:
            progress.close()


@contextmanager
def counting(settings: Settings) -> Iterator[ConsoleProgress]:
    """Progress for work that changes nothing: Ctrl-C stops it where it is."""
    progress = ConsoleProgress(settings, Interruption())
    try:
        yield progress
    finally:
        progress.close()


@contextmanager
def patient(settings: Settings, what: str) -> Iterator[None]:
    """Says what is going on while uncounted work takes more than two seconds; on a terminal only."""
    if settings.quiet or settings.json or not sys.stderr.isatty():
        yield
        return
    status = console(settings, stderr=True).status(what)
    timer = threading.Timer(PATIENCE_S, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
