"""SQLite files that several processes have open at once: caches, the ledger, the store of generated texts."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Literal

from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

_PRIMARY = 0xFF
_AGAIN_S = 0.01


def open_shared(
    path: Path,
    *,
    wait_s: float,
    synchronous: Literal["OFF", "NORMAL", "FULL"],
    isolation_level: Literal["DEFERRED"] | None = None,
) -> sqlite3.Connection:
    """A connection with a write-ahead log, which any thread may use. `wait_s`: how long it waits for other processes.

    Raises sqlite3.Error. The change to the write-ahead log is refused at once while another process makes it (SQLite,
    "Write-Ahead Logging": its busy handler is not asked), so it is repeated here.
    """
    connection = sqlite3.connect(path, timeout=wait_s, isolation_level=isolation_level, check_same_thread=False)
    try:
        waiting = Retrying(
            retry=retry_if_exception(_busy), stop=stop_after_delay(wait_s), wait=wait_fixed(_AGAIN_S), reraise=True
        )
        waiting(connection.execute, "PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
    except BaseException:
        connection.close()
        raise
    return connection


def make_tables(connection: sqlite3.Connection, schema: str, version: int) -> int | None:
    """Inside a transaction: makes the tables that are missing, and notes their version. Returns the version of a file
    that was written with another one, untouched; else None.
    """
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if found not in (0, version):
        return found
    for statement in schema.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {version}")
    return None


def _busy(error: BaseException) -> bool:
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & _PRIMARY == sqlite3.SQLITE_BUSY
