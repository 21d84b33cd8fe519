"""The sqlite file of a ledger: its tables, and one short exclusive transaction at a time over threads and processes."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from idxopt.errors import BuildError
from idxopt.shared_file import make_tables, open_shared

VERSION = 1
WAIT_S = 60.0
"""How long a transaction waits for those of others; each takes milliseconds."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
  id INTEGER PRIMARY KEY,
  what TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'committed', 'released')),
  host TEXT NOT NULL, pid INTEGER NOT NULL, started REAL NOT NULL,
  money_reserved INTEGER NOT NULL, tokens_reserved INTEGER NOT NULL,
  money INTEGER NOT NULL DEFAULT 0, tokens_in INTEGER NOT NULL DEFAULT 0, tokens_out INTEGER NOT NULL DEFAULT 0,
  reserved_at REAL NOT NULL, settled_at REAL
);
CREATE INDEX IF NOT EXISTS open_entries ON entries (state) WHERE state = 'open';
CREATE TABLE IF NOT EXISTS totals (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  money INTEGER NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, calls INTEGER NOT NULL,
  overshoot INTEGER NOT NULL, overshoot_tokens INTEGER NOT NULL, stopped TEXT
);
INSERT OR IGNORE INTO totals VALUES (1, 0, 0, 0, 0, 0, 0, NULL);
"""


class LedgerFile:
    """An open file. Threads share it; a process made by fork gets a connection of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._pid = 0
        self._connection: sqlite3.Connection | None = None
        self._inherited: list[sqlite3.Connection] = []  # never closed here: they belong to the process that forked
        with self._refusing():
            path.parent.mkdir(parents=True, exist_ok=True)
            with self._lock:
                self._connected()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Alone with the file; undone when the body raises. Raises BuildError where the file cannot be used."""
        with self._lock, self._refusing():
            connection = self._connected()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
                self._connection = None

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None and self._pid != os.getpid():
            self._inherited.append(self._connection)
            self._connection = None
        if self._connection is None:
            connection = open_shared(self.path, wait_s=WAIT_S, synchronous="FULL")
            connection.execute("BEGIN IMMEDIATE")
            found = make_tables(connection, SCHEMA, VERSION)
            if found is not None:
                connection.execute("ROLLBACK")
                connection.close()
                raise BuildError(
                    f"is a ledger of version {found}; this idxopt reads version {VERSION}",
                    place=str(self.path),
                    remedy="use the idxopt that wrote it, or another file",
                )
            connection.execute("COMMIT")
            self._connection, self._pid = connection, os.getpid()
        return self._connection

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise BuildError(
                f"cannot be used as a ledger ({error})",
                place=str(self.path),
                remedy="check its folder, rights and disk; without its ledger nothing is spent",
            ) from error
