"""Rows of documents after the heavy steps of a view, kept on disk, so that a changed later step does not repeat them.

The key is (prefix hash, document hash): the prefix hash covers the steps so far, their semantics versions, the markup,
the version of idxopt, the identity of each model that a step names and, where a step reads them, the digest of the
corpus tables; the document hash covers id and
program fields. Only rows behind a step that parses or tokenises are kept (`registry.cost`): anything cheaper is made
faster than it is read. The file is bounded: beyond `max_bytes` the oldest entries go. A damaged file is made anew; a
cache that cannot be used never fails a build, it only stops helping.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from idxopt import __version__
from idxopt.hashing import digest
from idxopt.operators.registry import cost, needs_corpus, semantics_version
from idxopt.operators.row import Row
from idxopt.operators.step_models import NO_MODELS, StepModels
from idxopt.operators.tables import Tables
from idxopt.operators.transform import Transform
from idxopt.program.effects import step_model
from idxopt.program.schema import Program
from idxopt.program.steps import Reweight, Step
from idxopt.shared_file import open_shared

FILE_NAME = "rows.sqlite"
_SHARE_DROPPED = 0.25


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """Where the cache is (a folder, made when missing) and how large it may grow (bytes on disk)."""

    folder: Path
    max_bytes: int = 2_000_000_000


class StepCache:
    """An open cache. Several processes may have the same file open."""

    def __init__(self, connection: sqlite3.Connection, max_bytes: int) -> None:
        self._connection = connection
        self._max_bytes = max_bytes
        self._works = True
        self.hits = 0
        self.misses = 0

    @classmethod
    def open(cls, settings: CacheSettings) -> StepCache | None:
        """The cache in a folder, or None where it cannot be written."""
        path = settings.folder / FILE_NAME
        for _ in range(2):
            try:
                settings.folder.mkdir(parents=True, exist_ok=True)
                return cls(_connected(path), settings.max_bytes)
            except sqlite3.DatabaseError:
                with contextlib.suppress(OSError):
                    path.unlink()
            except OSError:
                return None
        return None

    def plan(
        self, program: Program, steps: Sequence[Step], tables: Tables, models: StepModels = NO_MODELS
    ) -> CachePlan | None:
        """How the rows of a view are kept, or None where no step is heavy."""
        made = _prefix_keys(program, steps, tables, models)
        keys = {number: key for number, key in made if cost(steps[number]) == "heavy"}
        return CachePlan(self, keys) if keys else None

    def get(self, key: bytes) -> bytes | None:
        """The bytes kept under a key."""
        if not self._works:
            return None
        try:
            found = self._connection.execute("SELECT value FROM rows WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error:
            self._works = False
            return None
        self.hits, self.misses = self.hits + (found is not None), self.misses + (found is None)
        return found[0] if found is not None else None

    def put(self, key: bytes, value: bytes) -> None:
        """Keeps bytes under a key from the next `commit` on."""
        if not self._works:
            return
        with self._harmless():
            self._connection.execute("INSERT OR IGNORE INTO rows (key, value) VALUES (?, ?)", (key, value))

    def commit(self) -> None:
        """Makes what was put durable, and drops the oldest entries when the file is too large."""
        if not self._works:
            return
        with self._harmless():
            if self._used() > self._max_bytes:
                self._connection.execute(
                    "DELETE FROM rows WHERE id < (SELECT min(id) + (max(id) - min(id)) * ? FROM rows)",
                    (_SHARE_DROPPED,),
                )
            self._connection.commit()

    def close(self) -> None:
        """Commits and closes the file."""
        self.commit()
        self._connection.close()

    def _used(self) -> int:
        pages, free, size = (
            self._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        used: int = (pages - free) * size
        return used

    @contextlib.contextmanager
    def _harmless(self) -> Iterator[None]:
        """Whatever goes wrong with the file only ends the use of it."""
        try:
            yield
        except sqlite3.Error:
            self._works = False


class CachePlan:
    """The heavy steps of one view, by their number, and the hash of the steps up to each."""

    def __init__(self, cache: StepCache, keys: dict[int, bytes]) -> None:
        self._cache = cache
        self._keys = keys

    def run(self, rows: list[Row], transforms: Sequence[Transform]) -> list[Row]:
        """The rows of one document after all steps, from the last step whose rows are kept."""
        document = _document_hash(rows[0])
        if document is None:
            return _run(rows, transforms)
        done = -1
        for number in sorted(self._keys, reverse=True):
            kept = self._cache.get(self._keys[number] + document)
            if kept is not None:
                rows, done = _rows(rows[0].doc_id, kept), number
                break
        for number in range(done + 1, len(transforms)):
            rows = transforms[number](rows)
            if number in self._keys:
                self._cache.put(self._keys[number] + document, _bytes(rows))
        return rows


def _run(rows: list[Row], transforms: Sequence[Transform]) -> list[Row]:
    for transform in transforms:
        rows = transform(rows)
    return rows


def _connected(path: Path) -> sqlite3.Connection:
    connection = open_shared(path, wait_s=30, synchronous="OFF", isolation_level="DEFERRED")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, value BLOB NOT NULL)"
    )
    connection.execute("SELECT key FROM rows LIMIT 1").fetchone()
    return connection


def _prefix_keys(
    program: Program, steps: Sequence[Step], tables: Tables, models: StepModels
) -> Iterator[tuple[int, bytes]]:
    """The hash of the steps up to each one; weights, which change no row, are left out."""
    prefix: list[dict[str, Any]] = []
    corpus = False
    for number, step in enumerate(steps):
        if not isinstance(step, Reweight):
            plain = step.model_dump(mode="json", by_alias=True, exclude_defaults=True)
            prefix.append({**plain, "semantics": semantics_version(step), "model": _model_key(step, program, models)})
            corpus = corpus or needs_corpus(step)
        spec = {
            "idxopt": __version__,
            "markup": program.source.markup,
            "tables": tables.digest if corpus else None,
            "steps": prefix,
        }
        yield number, bytes.fromhex(digest(spec))


def _model_key(step: Step, program: Program, models: StepModels) -> str | None:
    """Beside the identity: which tokenizer cuts, and whether restructured sections were judged."""
    name = step_model(step)
    if name is None:
        return None
    tokenizer = models.tokenizers.get(name)
    cuts = "" if tokenizer is None else hashlib.sha256(Path(tokenizer).read_bytes()).hexdigest()
    return f"{models.identity(name, program.models)} {cuts} {models.judged}"


def _document_hash(row: Row) -> bytes | None:
    try:
        data = orjson.dumps([row.doc_id, row.fields], option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return None
    return blake2b(data, digest_size=16).digest()


def _bytes(rows: Sequence[Row]) -> bytes:
    return orjson.dumps([[row.fields, sorted(row.changed), row.path, row.span, row.verbatim] for row in rows])


def _rows(doc_id: str, data: bytes) -> list[Row]:
    return [
        Row(doc_id, fields, frozenset(changed), tuple(path), tuple(span) if span else None, verbatim)
        for fields, changed, path, span, verbatim in orjson.loads(data)
    ]
