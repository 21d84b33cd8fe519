"""One index on disk: a commit file that names its segments, the segments, and the documents written since.

`segments` are searchable; `pending` ones wait for a refresh. Both are read in realtime by id. Readers take no lock: a
commit names immutable files, and a reader that finds one gone reads the commit again.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from idxopt.engines.embedded import durable, merging, sealed, written
from idxopt.engines.embedded.catalogue_file import clean
from idxopt.engines.embedded.frequencies import Frequencies
from idxopt.engines.embedded.graphing import write_graphs
from idxopt.engines.embedded.graphs import SUFFIX
from idxopt.engines.embedded.index_reader import IndexReader
from idxopt.engines.embedded.locks import exclusive
from idxopt.engines.embedded.mapping import FieldType, Mapped
from idxopt.engines.embedded.pack import Array
from idxopt.engines.embedded.segment import Segment
from idxopt.engines.embedded.segment_writer import Row, make_row, write_segment
from idxopt.engines.port import StoredDocument, Version
from idxopt.errors import Conflict, NotFound

TERM = 1
"""The primary term of every document: there is no failover here."""

GRAPH_ROWS = 200_000
"""Vectors of an index beyond which its larger segments get HNSW graphs."""

MAX_SEGMENTS = 8
"""Searchable segments; beyond it a refresh merges."""

SMALL_BYTES = 100 << 20
MAX_SMALL = 32
_ATTEMPTS = 20

_T = TypeVar("_T")
Analyse = Callable[[Sequence[Row], Mapping[str, FieldType]], Mapping[str, Frequencies]]


@dataclass(frozen=True, slots=True)
class Commit:
    """`folded`: written documents up to this sequence number are in segments. `next_seq_no`: the next free one."""

    segments: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    folded: int = -1
    next_seq_no: int = 0


class IndexStore:
    """The files of one index. Every method raises NotFound when the index has been deleted meanwhile."""

    def __init__(self, folder: Path, name: str, analyse: Analyse, *, graph_rows: int = GRAPH_ROWS) -> None:
        self.folder = folder
        self.name = name
        self._analyse = analyse
        self._graph_rows = graph_rows
        self._written = folder / written.FOLDER
        self._cache_lock = threading.Lock()
        self._open: dict[str, Segment] = {}
        self._known: tuple[bytes | None, Commit] = (None, Commit())
        self._reader: tuple[tuple[str, ...], IndexReader] = ((), IndexReader(()))

    def create(self) -> None:
        """Makes the files of an empty index."""
        durable.make_folder(self._written)
        self._write(Commit())

    # Reading

    def commit(self) -> Commit:
        """The present commit."""
        path = self.folder / "commit.json"
        with self._cache_lock:
            present = sealed.stamp(path)
            if present is None or present != self._known[0]:
                self._known = (present, _commit(sealed.read(path)))
            return self._known[1]

    def reader(self) -> IndexReader:
        """What is searchable now."""
        return self._retry(self._reader_once)

    def get(self, ids: Sequence[str]) -> dict[str, StoredDocument]:
        """Documents by id in realtime; absent ones are left out."""
        return self._retry(lambda: self._get_once(ids))

    def checkpoint(self) -> int:
        """The highest sequence number given out; -1 when nothing was written."""
        return self._retry(self.commit).next_seq_no - 1

    def _retry(self, read: Callable[[], _T]) -> _T:
        """Repeats a read whose files went away because the commit moved on."""
        for attempt in range(_ATTEMPTS):
            try:
                return read()
            except FileNotFoundError as error:
                if not (self.folder / "commit.json").exists():
                    raise NotFound(f"the index [{self.name}] was deleted", place=self.name, status=404) from error
                if attempt == _ATTEMPTS - 1:
                    raise sealed.damaged(Path(error.filename or self.folder)) from error
        raise AssertionError("unreachable")

    def _reader_once(self) -> IndexReader:
        names = self.commit().segments
        if self._reader[0] != names:
            self._reader = (names, IndexReader(self._segments(names)))
        return self._reader[1]

    def _get_once(self, ids: Sequence[str]) -> dict[str, StoredDocument]:
        # Written documents first: a refresh in between moves them from there into the segments.
        recent = [document for each in ids if (document := written.find(self._written, each)) is not None]
        commit = self.commit()
        found: dict[str, StoredDocument] = {}
        for segment in self._segments(commit.segments + commit.pending):
            for identifier, number in segment.locate(ids).items():
                seq_no = int(segment.seq_nos[number])
                if identifier not in found or found[identifier].version.seq_no < seq_no:
                    found[identifier] = StoredDocument(identifier, segment.source(number), Version(seq_no, TERM))
        for document in recent:
            older = found.get(document.id)
            if document.seq_no <= commit.folded or (older is not None and older.version.seq_no > document.seq_no):
                continue
            if document.source is None:
                found.pop(document.id, None)
            else:
                found[document.id] = StoredDocument(document.id, document.source, Version(document.seq_no, TERM))
        return found

    def _segments(self, names: Sequence[str]) -> list[Segment]:
        with self._cache_lock:
            for name in names:
                if name not in self._open:
                    self._open[name] = Segment(self.folder / name)
            return [self._open[name] for name in names]

    # Writing

    @contextmanager
    def _changing(self) -> Iterator[Commit]:
        """The commit, while no other process changes this index."""
        try:
            with exclusive(self.folder / "lock"), durable.disk_errors(self.folder):
                yield self.commit()
        except FileNotFoundError as error:
            raise NotFound(f"the index [{self.name}] was deleted", place=self.name, status=404) from error

    def write_document(
        self, identifier: str, source: Mapping[str, Any] | None, *, create: bool = False, expect: Version | None = None
    ) -> Version:
        """Stores (or, without a source, deletes) one document. Conflict when it exists or is not at `expect`."""
        with self._changing() as commit:
            present = self.get([identifier]).get(identifier)
            if create and present is not None:
                raise Conflict(f"the document [{identifier}] exists already", place=self.name, status=409)
            if expect is not None and (present is None or present.version != expect):
                raise Conflict(f"the document [{identifier}] has changed meanwhile", place=self.name, status=409)
            if source is not None or present is not None:
                # The number is used up before the document has it: a crash in between cannot make two share one.
                self._write(replace(commit, next_seq_no=commit.next_seq_no + 1))
                written.write(self._written, written.WrittenDocument(identifier, commit.next_seq_no, source))
            return Version(commit.next_seq_no, TERM)

    def overwrite(self, sources: Mapping[str, Mapping[str, Any] | None]) -> None:
        """Stores documents whether they exist or not; without a source: deletes. Call inside `appending`."""
        commit = self.commit()
        self._write(replace(commit, next_seq_no=commit.next_seq_no + len(sources)))
        for seq_no, (identifier, source) in enumerate(sources.items(), start=commit.next_seq_no):
            written.write(self._written, written.WrittenDocument(identifier, seq_no, source))

    def append(self, rows: Sequence[Row], analysed: Mapping[str, Frequencies], fields: Mapping[str, FieldType]) -> None:
        """Stores rows, whose ids must be new, in a segment that waits for a refresh. Call inside `appending`."""
        commit = self.commit()
        first = commit.next_seq_no
        name = _new_name()
        write_segment(self.folder / name, rows, range(first, first + len(rows)), fields, analysed)
        pending = self._compacted((*commit.pending, name), commit.folded)
        self._write(replace(commit, pending=pending, next_seq_no=first + len(rows)))
        if len(pending) <= len(commit.pending):
            self._clean()

    def _compacted(self, pending: tuple[str, ...], folded: int) -> tuple[str, ...]:
        """Merges small waiting segments when there are many: each is an open file, and a place to look ids up."""
        segments = self._segments(pending)
        small = [segment for segment in segments if segment.bytes < SMALL_BYTES]
        if len(small) < MAX_SMALL:
            return pending
        large = [segment.name for segment in segments if segment.bytes >= SMALL_BYTES]
        kept = self._kept([segment.name for segment in small], written.waiting(self._written, folded))
        group = [(segment, mask) for segment, mask in zip(small, kept, strict=True) if mask.any()]
        return (*large, self._rewritten(group)) if group else tuple(large)

    @contextmanager
    def appending(self) -> Iterator[None]:
        """Holds the index's lock around looking for ids and `append` or `overwrite`."""
        with self._changing():
            yield

    def refresh(self, mapped: Mapped) -> None:
        """Makes everything written so far searchable, in one rename."""
        if not self._retry(lambda: self.commit().pending or written.any_file(self._written)):
            return
        with self._changing() as commit:
            documents = written.waiting(self._written, commit.folded)
            names = (*commit.segments, *commit.pending)
            kept = self._kept(names, documents)
            stored = [document for document in documents if document.source is not None]
            if stored:
                names = (*names, _new_name())
                self._write_stored(names[-1], stored, mapped)
                kept.append(np.ones(len(stored), dtype=np.bool_))
            folded = max([commit.folded, *(document.seq_no for document in documents)])
            merged = self._merged(names, kept)
            write_graphs(self._segments(merged), mapped, self._graph_rows // MAX_SEGMENTS, self._graph_rows)
            self._write(Commit(merged, (), folded, commit.next_seq_no))
            written.forget(self._written)
            self._clean()

    def _write_stored(self, name: str, documents: Sequence[written.WrittenDocument], mapped: Mapped) -> None:
        rows = [make_row(document.id, document.source or {}, mapped) for document in documents]
        seq_nos = [document.seq_no for document in documents]
        write_segment(self.folder / name, rows, seq_nos, mapped.fields, self._analyse(rows, mapped.fields))

    def _kept(self, names: Sequence[str], documents: Sequence[written.WrittenDocument]) -> list[Array]:
        """For each segment, the documents that no later write has replaced or deleted."""
        later = {document.id: document.seq_no for document in documents}
        masks = []
        for segment in self._segments(names):
            mask = np.ones(segment.count, dtype=np.bool_)
            for identifier, number in segment.locate(list(later)).items():
                mask[number] = int(segment.seq_nos[number]) > later[identifier]
            masks.append(mask)
        return masks

    def _merged(self, names: Sequence[str], kept: Sequence[Array]) -> tuple[str, ...]:
        """The segments to go on with: those with deletions are rewritten, and many are merged into few."""
        segments = self._segments(names)
        alive = [(segment, mask) for segment, mask in zip(segments, kept, strict=True) if mask.any()]
        groups = [[pair] for pair in alive]
        if len(alive) > MAX_SEGMENTS:
            largest = max(alive, key=lambda pair: pair[0].bytes)
            others = [pair for pair in alive if pair is not largest]
            if largest[0].bytes > 2 * sum(segment.bytes for segment, _ in others):
                groups = [[largest], others]
            else:
                groups = [alive]
        return tuple(self._rewritten(group) for group in groups)

    def _rewritten(self, group: Sequence[tuple[Segment, Array]]) -> str:
        if len(group) == 1 and group[0][1].all():
            return group[0][0].name
        name = _new_name()
        merging.merge(self.folder / name, merging.parts_of([each for each, _ in group], [mask for _, mask in group]))
        return name

    def _write(self, commit: Commit) -> None:
        sealed.write(
            self.folder / "commit.json",
            {
                "segments": commit.segments,
                "pending": commit.pending,
                "folded": commit.folded,
                "next_seq_no": commit.next_seq_no,
            },
        )

    def _clean(self) -> None:
        """Deletes what the commit does not name: merged segments, and what died with its process."""
        commit = self.commit()
        named = {*commit.segments, *commit.pending}
        for path in [*self.folder.glob("*.seg"), *self.folder.glob(f"*.seg.*{SUFFIX}")]:
            if f"{path.name.partition('.')[0]}.seg" not in named:
                durable.remove(path)
        clean(self.folder)
        clean(self._written)
        with self._cache_lock:
            self._open = {name: segment for name, segment in self._open.items() if name in named}


def _commit(value: Any) -> Commit:
    return Commit(tuple(value["segments"]), tuple(value["pending"]), value["folded"], value["next_seq_no"])


def _new_name() -> str:
    return f"{uuid.uuid4().hex}.seg"
