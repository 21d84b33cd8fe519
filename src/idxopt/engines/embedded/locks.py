"""Exclusive locks between processes and threads, held only during one change and freed when their process dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from idxopt.engines.embedded.durable import disk_errors
from idxopt.errors import Overloaded

LOCK_SECONDS = 600.0
"""How long a change waits for another one. The longest is the merge of a large index."""


@contextmanager
def exclusive(path: Path, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Holds the lock file `path`. Overloaded when another change takes longer than `seconds`."""
    lock = FileLock(path, timeout=seconds, poll_interval=0.01, is_singleton=False)
    with disk_errors(path.parent):
        try:
            lock.acquire()
        except Timeout as error:
            raise Overloaded(
                f"another process has been changing this folder for more than {seconds:.0f} s",
                place=str(path.parent),
                remedy="wait for it to end, or stop it, and run the command again",
            ) from error
    try:
        yield
    finally:
        lock.release()
