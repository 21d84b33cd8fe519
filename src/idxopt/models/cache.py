"""Vectors on disk: a text is embedded once by a model, whatever is killed, resumed or built again in between.

One sqlite file for all models and processes. A vector is on disk before `embed` returns it, so that a resumed load has
the same bits. The file is a cache: when it is damaged it is thrown away and made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import sqlite3
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from idxopt.errors import ModelError
from idxopt.models.checks import with_item
from idxopt.models.ports import Embedded, Embedder, ModelIdentity, Progress, TextKind, Vectors
from idxopt.shared_file import open_shared

FILE_NAME = "vectors.sqlite3"
MAX_BYTES = 4 << 30
CHUNK = 512
_DAY = 86_400
_VERSION = 1
_WAIT_S = 60.0
_KEYS = 500  # below the least limit of variables that a sqlite is built with
_SCHEMA = """
create table if not exists vectors (
  key blob primary key, vector blob not null, sum integer not null, tokens integer, cut integer not null,
  used integer not null
)
"""

_log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CachedVector:
    """One text's vector, and what `Embedded` says of the text."""

    vector: Vectors
    tokens: int | None
    cut: bool


class VectorCache:
    """The file. Threads share one connection, processes the file. `max_bytes`: beyond it, the longest unused go."""

    def __init__(self, folder: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self._file = folder / FILE_NAME
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def get(self, keys: Sequence[bytes]) -> Mapping[bytes, CachedVector]:
        """What is there, by key; a row whose bytes do not agree with their sum counts as absent. Raises ModelError."""
        return self._guarded(lambda connection: self._get(connection, keys))

    def put(self, rows: Mapping[bytes, CachedVector]) -> None:
        """On disk when it returns. Raises ModelError (disk full, no rights)."""
        self._guarded(lambda connection: self._put(connection, rows))

    def close(self) -> None:
        """Closes the file; a later call opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _get(self, connection: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, CachedVector]:
        found: dict[bytes, CachedVector] = {}
        today = int(time.time()) // _DAY
        stale: list[bytes] = []
        for part in _parts(keys, _KEYS):
            marks = ",".join("?" * len(part))
            rows = connection.execute(
                f"select key, vector, sum, tokens, cut, used from vectors where key in ({marks})",  # noqa: S608
                part,
            )
            for key, vector, total, tokens, cut, used in rows:
                if zlib.crc32(vector) == total:
                    found[key] = CachedVector(np.frombuffer(vector, "<f4").astype(np.float32), tokens, bool(cut))
                    if used < today:
                        stale.append(key)
        if stale:
            # Read-only or busy: only the order of eviction suffers.
            with contextlib.suppress(sqlite3.OperationalError), connection:
                connection.executemany("update vectors set used = ? where key = ?", [(today, key) for key in stale])
        return found

    def _put(self, connection: sqlite3.Connection, rows: Mapping[bytes, CachedVector]) -> None:
        today = int(time.time()) // _DAY
        values = []
        for key, row in rows.items():
            data = np.ascontiguousarray(row.vector, "<f4").tobytes()
            values.append((key, data, zlib.crc32(data), row.tokens, int(row.cut), today))
        with connection:
            connection.executemany("insert or replace into vectors values (?, ?, ?, ?, ?, ?)", values)
            self._bound(connection)

    def _bound(self, connection: sqlite3.Connection) -> None:
        """Lets go of the tenth that was not used for longest. Freed pages are used again, the file does not grow."""
        size = _pragma(connection, "page_size") * (
            _pragma(connection, "page_count") - _pragma(connection, "freelist_count")
        )
        if size > self._max_bytes:
            (count,) = connection.execute("select count(*) from vectors").fetchone()
            connection.execute(
                "delete from vectors where rowid in (select rowid from vectors order by used, rowid limit ?)",
                (max(1, count // 10),),
            )

    def _guarded(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                return self._attempt(work)
            except (sqlite3.Error, OSError) as error:
                raise ModelError(
                    f"the cache of vectors cannot be used ({error})",
                    place=str(self._file),
                    remedy="free space there or correct its rights; IDXOPT_CACHE_DIR names another folder",
                ) from error

    def _attempt(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs it, a second time on a new file where the old one proves damaged."""
        try:
            return work(self._open())
        except sqlite3.OperationalError:
            raise  # locked, full, read-only: the file itself is good
        except sqlite3.DatabaseError as error:
            _log.warning("the cache of vectors %s is damaged (%s) and is made anew", self._file, error)
            self._discard()
            return work(self._open())

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            connection = open_shared(self._file, wait_s=_WAIT_S, synchronous="NORMAL", isolation_level="DEFERRED")
            try:
                if _pragma(connection, "user_version") not in (0, _VERSION):
                    raise sqlite3.DatabaseError("written by another version")
                with connection:
                    connection.execute(_SCHEMA)
                    connection.execute(f"pragma user_version={_VERSION}")
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _discard(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        for ending in ("", "-wal", "-shm"):
            self._file.with_name(self._file.name + ending).unlink(missing_ok=True)


class CachedEmbedder:
    """An embedder that asks the cache first. `variant`: what decides the vectors beside the identity (the weights)."""

    def __init__(self, inner: Embedder, cache: VectorCache, *, variant: str = "") -> None:
        self._inner = inner
        self._cache = cache
        self._space = f"{inner.identity.key} {variant}"

    @property
    def identity(self) -> ModelIdentity:
        return self._inner.identity

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    @property
    def max_tokens(self) -> int | None:
        return self._inner.max_tokens

    def embed(self, texts: Sequence[str], kind: TextKind, *, on_progress: Progress | None = None) -> Embedded:
        """Equal texts are embedded once. Raises ModelError; what was finished before it is in the cache."""
        start = hashlib.sha256(f"{self._space} {kind}\0".encode())
        keys = [_key(start, text) for text in texts]
        known = dict(self._known(list(dict.fromkeys(keys)), kind))
        first = {key: position for position, key in reversed(list(enumerate(keys))) if key not in known}
        uses = Counter(keys)
        done = len(texts) - sum(uses[key] for key in first)
        waiting = sorted(first.values(), key=lambda position: (len(texts[position]), position))
        for part in _parts(waiting, CHUNK):
            fresh = self._embedded(part, keys, texts, kind)
            known.update(fresh)
            done += sum(uses[key] for key in fresh)
            if on_progress is not None:
                on_progress(done, len(texts))
        rows = [known[key] for key in keys]
        vectors = np.stack([row.vector for row in rows]) if rows else np.zeros((0, self.dimension), np.float32)
        counts = [row.tokens for row in rows if row.tokens is not None]
        cut = tuple(position for position, row in enumerate(rows) if row.cut)
        return Embedded(vectors, tuple(counts) if len(counts) == len(rows) else None, cut)

    def _known(self, keys: Sequence[bytes], kind: TextKind) -> Mapping[bytes, CachedVector]:
        """Vectors of another length are of a model that was changed behind its name: they count as absent."""
        try:
            found = self._cache.get(keys)
        except ModelError:
            if kind == "passage":
                raise
            _log.warning("the cache of vectors cannot be read; the query is embedded without it")
            return {}
        return {key: row for key, row in found.items() if len(row.vector) == self.dimension}

    def _embedded(
        self, positions: Sequence[int], keys: Sequence[bytes], texts: Sequence[str], kind: TextKind
    ) -> dict[bytes, CachedVector]:
        try:
            found = self._inner.embed([texts[position] for position in positions], kind)
        except ModelError as error:
            raise (error if error.item is None else with_item(error, positions[error.item])) from error
        cut = set(found.truncated)
        fresh = {
            keys[position]: CachedVector(
                found.vectors[number], found.tokens[number] if found.tokens else None, number in cut
            )
            for number, position in enumerate(positions)
        }
        try:
            self._cache.put(fresh)
        except ModelError:
            if kind == "passage":
                raise  # a resumed load would get other bits
            _log.warning("the cache of vectors cannot be written; the query's vector is not kept")
        return fresh


def _key(start: hashlib._Hash, text: str) -> bytes:
    found = start.copy()
    found.update(text.encode("utf-8", "surrogatepass"))
    return found.digest()


def _parts(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for at in range(0, len(values), size):
        yield values[at : at + size]


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    (value,) = connection.execute(f"pragma {name}").fetchone()
    return int(value)
