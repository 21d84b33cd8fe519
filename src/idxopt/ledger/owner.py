"""Which process a reservation belongs to, and whether that process still runs."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass

import psutil

SAME_START_S = 2.0
"""A process id is given out again; its start time is not (clocks differ by less than this between two readings)."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A process: the machine's name, its id and when it started (seconds since 1970)."""

    host: str
    pid: int
    started: float

    @classmethod
    def here(cls) -> Owner:
        """The process that asks."""
        return cls(platform.node(), os.getpid(), psutil.Process().create_time())

    def gone(self) -> bool:
        """True when the process has certainly ended. One of another machine never has, as far as can be seen here."""
        if self.host != platform.node():
            return False
        try:
            process = psutil.Process(self.pid)
            return abs(process.create_time() - self.started) > SAME_START_S or process.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True
        except psutil.Error:
            return False
