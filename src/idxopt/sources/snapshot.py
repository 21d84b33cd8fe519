"""One reading of a source that everything in a build agrees on.

Every document is read and checked before anything is written anywhere: ids that occur twice, documents that must be
refused, and the digest of ids and contents that the gate compares with. An index that applications go on writing to
is copied to a local file, so that each view is made from the same documents; files are read again, and must not have
changed in between.
"""

from __future__ import annotations

import gzip
import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from idxopt.errors import GateRefused, SourceError
from idxopt.hashing import content_digest
from idxopt.operators.paths import value_at
from idxopt.operators.row import Document
from idxopt.sources.rejects import Rejects
from idxopt.sources.source import Source

_BATCH = 5_000
_REPORT_EVERY = 1_000


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was read. `count` is without the rejected documents; `digest` covers ids and contents in reading order.

    `lacking`: by program field, how many documents do not have it.
    """

    source: Source
    marks: dict[str, Any]
    count: int
    digest: str
    rejects: Rejects
    lacking: Mapping[str, int]
    spool: Path | None = None

    def documents(self) -> Iterator[Document]:
        """The same documents again, in the same order. Raises SourceError when the files have changed meanwhile."""
        if self.spool is not None:
            yield from _unspool(self.spool)
            return
        self._same_marks()
        yield from self.source.documents(Rejects())
        self._same_marks()

    def discard(self) -> None:
        """Removes the local copy of an index."""
        if self.spool is not None:
            self.spool.unlink(missing_ok=True)

    def _same_marks(self) -> None:
        if self.source.marks() != self.marks:
            raise SourceError(
                "changed while it was being read",
                remedy="run the command again when nothing writes to it",
                place=self.source.place,
            )


def take_snapshot(
    source: Source, folder: Path, *, allow_rejected: int = 0, on_progress: Callable[[int], None] | None = None
) -> Snapshot:
    """Reads and checks the whole source in constant memory. `folder` gets `rejects.jsonl` and the copy of an index.

    Raises GateRefused when more documents than `allow_rejected` cannot be indexed (all are listed in the file);
    SourceError for an id that occurs twice, an empty source, or a field that no document has.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rejects = Rejects(folder / "rejects.jsonl")
    marks = source.marks()
    spool = folder / "snapshot.jsonl.gz" if source.kind == "index" else None
    try:
        with _Tally(source.mapping.fields) as tally:
            _read(source, rejects, tally, spool, on_progress)
            twice = tally.twice()
        if twice:
            raise _duplicates(source, twice)
        if rejects.count > allow_rejected:
            raise _refused(source.place, rejects, usable=tally.count)
        if not tally.count:
            raise SourceError("holds no document that can be indexed", remedy=f"see {rejects.path}", place=source.place)
    except BaseException:
        if spool is not None:
            spool.unlink(missing_ok=True)
        raise
    return Snapshot(source, marks, tally.count, tally.digest, rejects, tally.lacking, spool)


class _Tally:
    """What a reading adds up to. Ids are kept on disk, so that memory stays constant."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        self.count = 0
        self.lacking = dict.fromkeys(fields, 0)
        self._fields = fields
        self._whole = hashlib.sha256()
        self._batch: list[tuple[str]] = []

    def __enter__(self) -> _Tally:
        # An empty name is a temporary file that is gone however the process ends.
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.execute("PRAGMA journal_mode=OFF")
        self._db.execute("PRAGMA synchronous=OFF")
        self._db.execute("CREATE TABLE ids(id TEXT PRIMARY KEY, times INTEGER) WITHOUT ROWID")
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    @property
    def digest(self) -> str:
        return self._whole.hexdigest()

    def add(self, document: Document) -> None:
        self.count += 1
        self._whole.update(document.id.encode() + b"\0" + content_digest(document.source).encode())
        for name, path in self._fields.items():
            if value_at(document.source, path) is None:
                self.lacking[name] += 1
        self._batch.append((document.id,))
        if len(self._batch) >= _BATCH:
            self._flush()

    def twice(self) -> list[str]:
        """Up to 100 ids that were added more than once, in order."""
        self._flush()
        return [row[0] for row in self._db.execute("SELECT id FROM ids WHERE times > 1 ORDER BY id LIMIT 100")]

    def _flush(self) -> None:
        self._db.execute("BEGIN")
        self._db.executemany(
            "INSERT INTO ids VALUES(?, 1) ON CONFLICT(id) DO UPDATE SET times = times + 1", self._batch
        )
        self._db.execute("COMMIT")
        self._batch.clear()


def _read(
    source: Source, rejects: Rejects, tally: _Tally, spool: Path | None, on_progress: Callable[[int], None] | None
) -> None:
    copy = gzip.open(spool, "wb", compresslevel=1) if spool is not None else None  # noqa: SIM115
    try:
        for document in source.documents(rejects):
            tally.add(document)
            if copy is not None:
                copy.write(orjson.dumps([document.id, document.source], option=orjson.OPT_APPEND_NEWLINE))
            if on_progress is not None and tally.count % _REPORT_EVERY == 0:
                on_progress(tally.count)
    finally:
        if copy is not None:
            copy.close()
    if on_progress is not None:
        on_progress(tally.count)


def _unspool(spool: Path) -> Iterator[Document]:
    with gzip.open(spool, "rb") as copy:
        for line in copy:
            id_, value = orjson.loads(line)
            yield Document(id_, value)


def _refused(place: str, rejects: Rejects, *, usable: int) -> GateRefused:
    first = "; ".join(f"{reject.place}: {reject.reason}" for reject in rejects.first[:3])
    more = f" and {rejects.count - 3} more" if rejects.count > 3 else ""
    noun = "document" if rejects.count == 1 else "documents"
    all_of_them = "" if usable else "none is left: "
    remedy = f"{rejects.first[0].remedy}; all are listed in {rejects.path}"
    if usable:
        remedy += f"; --allow-rejected {rejects.count} leaves them out"
    return GateRefused(
        f"{all_of_them}{rejects.count} {noun} cannot be indexed ({first}{more})", place=place, remedy=remedy
    )


def _duplicates(source: Source, twice: list[str]) -> SourceError:
    wanted = twice[0]
    places = [place for place, document in source.located(Rejects()) if document.id == wanted]
    more = f", and {len(twice) - 1} more ids" if len(twice) > 1 else ""
    return SourceError(
        f"the id {wanted!r} occurs {len(places)} times (first at {places[0] if places else source.place}{more})",
        remedy="give each document its own id, or set `source.id` to the key that is unique",
        place=places[1] if len(places) > 1 else source.place,
    )
