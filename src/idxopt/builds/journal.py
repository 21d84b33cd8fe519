"""What was computed for one physical index, row by row, so that what is stored can be proved equal to it.

A journal is a local sqlite file: the id and content digest of every row, in the order loaded, and a fingerprint of the
whole set. Comparing fingerprints proves equality in constant memory; the rows are looked up only to name what differs.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from idxopt.errors import BuildError

_BATCH = 2_000
_MODULUS = 1 << 256
_VECTOR = "vector"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS about(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rows(id TEXT NOT NULL, digest BLOB NOT NULL, vector INTEGER NOT NULL DEFAULT 0);
"""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Digest of a set of (id, content digest) pairs that does not depend on their order.

    The sum of the pairs' hashes modulo 2^256, with their number: a row lost and another one counted twice changes it.
    `vectors` is the same sum over the ids of rows that have a vector.
    """

    rows: int
    total: int
    vectors: int = 0


def fingerprint(pairs: Iterable[tuple[str, str]], with_vector: Iterable[str] = ()) -> Fingerprint:
    """Of (id, content digest) pairs and of the ids of rows that have a vector, in constant memory."""
    rows = total = 0
    for row_id, digest in pairs:
        rows += 1
        total += row_hash(row_id, digest)
    vectors = sum(row_hash(row_id, _VECTOR) for row_id in with_vector)
    return Fingerprint(rows, total % _MODULUS, vectors % _MODULUS)


def row_hash(row_id: str, digest: str) -> int:
    """The summand of one row."""
    return int.from_bytes(hashlib.blake2b(f"{digest}{row_id}".encode(), digest_size=32).digest(), "big")


@dataclass(frozen=True, slots=True)
class LoadedFrom:
    """Which load a journal belongs to. `snapshot` is the digest of the source snapshot, `tables` that of the corpus
    tables.
    """

    index: str
    uuid: str
    snapshot: str
    tables: str = ""


class Journal:
    """Open with `with`. A load starts with `begin` and ends with `finish`; one that was interrupted in between is not
    `complete`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._batch: list[tuple[str, bytes, bool]] = []
        self._rows = 0
        self._total = 0
        self._vectors = 0

    def __enter__(self) -> Journal:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # The engine's loader may take rows from a thread of its own.
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA synchronous=OFF")
            self._db.execute("PRAGMA journal_mode=TRUNCATE")  # on disk: a killed process must leave a readable file
            self._db.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise _damaged(self.path, error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    @property
    def about(self) -> LoadedFrom | None:
        """The load that this journal tells of, None for a new one."""
        found = self._about()
        if "index" not in found:
            return None
        return LoadedFrom(found["index"], found["uuid"], found["snapshot"], found["tables"])

    @property
    def complete(self) -> bool:
        """True when every row of that load was handed over and stored."""
        return self._about().get("complete") == "yes"

    @property
    def fingerprint(self) -> Fingerprint:
        """Of all rows of a finished load."""
        found = self._about()
        if "total" not in found:
            raise _unfinished(self.path)
        return Fingerprint(int(found["rows"]), int(found["total"], 16), int(found.get("vectors", "0"), 16))

    @property
    def documents(self) -> int:
        """Rows of a finished load."""
        return self.fingerprint.rows

    def begin(self, about: LoadedFrom) -> None:
        """Forgets everything and starts the journal of a load."""
        self._batch.clear()
        self._rows = self._total = self._vectors = 0
        self._db.executescript("DROP TABLE IF EXISTS rows; DROP TABLE IF EXISTS about;" + _SCHEMA)
        self._write(index=about.index, uuid=about.uuid, snapshot=about.snapshot, tables=about.tables)

    def add(self, row_id: str, digest: str, *, vector: bool = False) -> None:
        """One computed row; `digest` is `operators.row.row_digest` of its body (32 hex digits)."""
        self._batch.append((row_id, bytes.fromhex(digest), vector))
        self._rows += 1
        self._total += row_hash(row_id, digest)
        if vector:
            self._vectors += row_hash(row_id, _VECTOR)
        if len(self._batch) >= _BATCH:
            self._flush()

    def finish(self, *, complete: bool) -> None:
        """Ends the load. `complete`: every row was stored, so that a resumed run need not send them again."""
        self._flush()
        totals = {"total": f"{self._total % _MODULUS:x}", "vectors": f"{self._vectors % _MODULUS:x}"}
        self._write(rows=str(self._rows), complete="yes" if complete else "no", **totals)

    def twice(self, limit: int = 5) -> list[str]:
        """Row ids that were computed more than once."""
        self._index_rows()
        found = self._db.execute("SELECT id FROM rows GROUP BY id HAVING COUNT(*) > 1 LIMIT ?", (limit,))
        return [row[0] for row in found]

    def digest_of(self, row_id: str) -> str | None:
        """The digest that was computed for a row."""
        self._index_rows()
        found = self._db.execute("SELECT digest FROM rows WHERE id = ?", (row_id,)).fetchone()
        return None if found is None else found[0].hex()

    def has_vector(self, row_id: str) -> bool:
        """Whether a vector was computed for a row."""
        self._index_rows()
        return self._db.execute("SELECT 1 FROM rows WHERE id = ? AND vector", (row_id,)).fetchone() is not None

    def rows(self) -> Iterator[tuple[str, str]]:
        """(id, digest) of every row, in the order computed."""
        for row_id, digest in self._db.execute("SELECT id, digest FROM rows ORDER BY rowid"):
            yield row_id, digest.hex()

    def missing(self, present: Iterator[str], limit: int = 5, *, vectors: bool = False) -> tuple[int, list[str]]:
        """(number, first few) of the journal's ids that `present` does not yield. `vectors`: of rows with a vector."""
        self._index_rows()
        self._db.execute("CREATE TEMP TABLE IF NOT EXISTS present(id TEXT PRIMARY KEY) WITHOUT ROWID")
        self._db.execute("DELETE FROM temp.present")
        batch: list[tuple[str]] = []
        for row_id in present:
            batch.append((row_id,))
            if len(batch) >= _BATCH:
                self._db.executemany("INSERT OR IGNORE INTO temp.present VALUES(?)", batch)
                batch.clear()
        self._db.executemany("INSERT OR IGNORE INTO temp.present VALUES(?)", batch)
        lacking = "FROM rows WHERE vector >= ? AND id NOT IN (SELECT id FROM temp.present)"
        count = self._db.execute(f"SELECT COUNT(DISTINCT id) {lacking}", (vectors,)).fetchone()[0]
        found = self._db.execute(f"SELECT DISTINCT id {lacking} LIMIT ?", (vectors, limit))
        return count, [row[0] for row in found]

    def _index_rows(self) -> None:
        self._flush()
        self._db.execute("CREATE INDEX IF NOT EXISTS rows_by_id ON rows(id)")

    def _flush(self) -> None:
        if self._batch:
            self._db.execute("BEGIN")
            self._db.executemany("INSERT INTO rows VALUES(?, ?, ?)", self._batch)
            self._db.execute("COMMIT")
            self._batch.clear()

    def _write(self, **about: str) -> None:
        self._db.executemany("INSERT OR REPLACE INTO about VALUES(?, ?)", about.items())

    def _about(self) -> dict[str, str]:
        try:
            return dict(self._db.execute("SELECT key, value FROM about"))
        except sqlite3.DatabaseError as error:
            raise _damaged(self.path, error) from error


def _damaged(path: Path, error: Exception) -> BuildError:
    return BuildError(
        f"the load journal cannot be read ({error})", place=str(path), remedy="delete the file and apply again"
    )


def _unfinished(path: Path) -> BuildError:
    return BuildError("the load that this journal tells of did not finish", place=str(path), remedy="run apply again")
