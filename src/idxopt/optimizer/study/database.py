"""A sqlite file of a study: its tables are made or checked as it is opened, and every write is one transaction."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from idxopt.errors import BuildError
from idxopt.shared_file import make_tables, open_shared

WAIT_S = 60.0
"""How long a transaction waits for those of other processes; each takes milliseconds."""


class Database:
    """An open file that threads and processes share. `version` numbers the tables of `schema`."""

    def __init__(self, path: Path, schema: str, version: int, *, what: str) -> None:
        self.path = path
        self._what = what
        self._lock = threading.RLock()
        with self._refusing():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = open_shared(path, wait_s=WAIT_S, synchronous="FULL")
            try:
                self._prepare(schema, version)
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self, schema: str, version: int) -> None:
        with self.transaction() as db:
            found = make_tables(db, schema, version)
            if found is not None:
                raise BuildError(
                    f"is {self._what} of version {found}; this idxopt reads version {version}",
                    place=str(self.path),
                    remedy="use the idxopt that wrote it, or another place",
                )

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Alone with the file; undone when the body raises. Raises BuildError where the file cannot be used."""
        with self._lock, self._refusing():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def read(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of one query. Raises BuildError."""
        with self._lock, self._refusing():
            return self._connection.execute(query, values).fetchall()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise BuildError(
                f"cannot be used as {self._what} ({error})",
                place=str(self.path),
                remedy="check its folder, rights and disk; a damaged file can be moved away, and what it held is made"
                " again",
            ) from error
