"""A source of documents: one interface over every kind of place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, Protocol

from idxopt.errors import SourceError
from idxopt.operators.paths import value_at
from idxopt.operators.row import Document
from idxopt.program.schema import Source as SourceMapping
from idxopt.sources.identity import document_of
from idxopt.sources.rejects import Reject, Rejects

Kind = Literal["file", "folder", "beir", "index"]
MAX_DOCUMENT_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of every reader. `max_document_bytes`: a longer line, file or record is refused."""

    max_document_bytes: int = MAX_DOCUMENT_BYTES


@dataclass(frozen=True, slots=True)
class Estimate:
    """Size of a source as far as it is known without reading all of it. `exact` is about `documents`."""

    documents: int | None
    bytes: int | None
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object as a reader found it. `id` where the place itself gives one (file path, `_id` of an index)."""

    place: str
    value: dict[str, Any]
    id: str | None = None


class RecordReader(Protocol):
    """What each kind of place implements."""

    kind: Kind
    place: str

    def records(self) -> Iterator[Record | Reject]:
        """All records in a stable order, in constant memory. Raises SourceError for what makes the whole place
        unreadable.
        """
        ...

    def marks(self) -> dict[str, Any]: ...

    def estimate(self) -> Estimate: ...


class Source:
    """Documents of one place, read as the program's `source` says."""

    def __init__(self, reader: RecordReader, mapping: SourceMapping) -> None:
        self._reader = reader
        self.mapping = mapping

    @property
    def kind(self) -> Kind:
        return self._reader.kind

    @property
    def place(self) -> str:
        return self._reader.place

    def documents(self, rejects: Rejects | None = None) -> Iterator[Document]:
        """Every document, streaming, in the same order each time.

        A document that cannot be indexed is added to `rejects`, or raises SourceError where none is given. Ids that
        occur twice are found by `take_snapshot`, which every build goes through.
        """
        for _, document in self.located(rejects):
            yield document

    def located(self, rejects: Rejects | None = None) -> Iterator[tuple[str, Document]]:
        """`documents` with the place of each (`FILE:LINE`, a file, `index/id`)."""
        unseen = set(self.mapping.fields.values())
        read = bad = 0
        for record in self._reader.records():
            found = (
                record
                if isinstance(record, Reject)
                else document_of(record.place, record.value, record.id, self.mapping)
            )
            if isinstance(found, Reject):
                if rejects is None:
                    raise found.error()
                rejects.add(found)
                bad += 1
                continue
            read += 1
            if unseen:
                unseen = {path for path in unseen if value_at(found.source, path) is None}
            yield record.place, found
        if not read and not bad:
            raise SourceError("holds no documents", remedy="give a place with at least one document", place=self.place)
        if read and unseen:
            raise self._missing(unseen)

    def sample(self, n: int = 1_000, rejects: Rejects | None = None) -> list[Document]:
        """The first `n` documents, for estimates. Bad ones are left out, as `documents` would with `rejects`."""
        return list(islice(self.documents(rejects if rejects is not None else Rejects()), n))

    def marks(self) -> dict[str, Any]:
        """What tells later data from these: size and modification time of files; uuid and checkpoints of an index.

        Whole numbers beyond 2^53 are strings, so that marks can stand in canonical JSON.
        """
        return self._reader.marks()

    def estimate(self) -> Estimate:
        """Number of documents and bytes, as far as a quick look tells."""
        return self._reader.estimate()

    def _missing(self, paths: set[str]) -> SourceError:
        names = {path: name for name, path in self.mapping.fields.items()}
        listed = ", ".join(f"`{path}` (field {names[path]})" for path in sorted(paths))
        keys = _keys(self._reader)
        return SourceError(
            f"no document has {listed}",
            remedy=f"correct `source.fields` in the program (without one: --field); the first document has: {keys}",
            place=self.place,
        )


def _keys(reader: RecordReader) -> str:
    for record in reader.records():
        if isinstance(record, Record):
            return ", ".join(paths_of(record.value)) or "no keys"
    return "no keys"


def paths_of(value: Mapping[str, Any], prefix: str = "", limit: int = 30) -> list[str]:
    """Dotted paths of an object, for messages."""
    found: list[str] = []
    for key, item in value.items():
        if isinstance(item, dict) and item:
            found += paths_of(item, f"{prefix}{key}.", limit)
        else:
            found.append(f"{prefix}{key}")
        if len(found) >= limit:
            break
    return found[:limit]
