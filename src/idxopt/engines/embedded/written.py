"""Documents written one by one, until a refresh puts them into a segment: one file each, named by a hash of the id.

A file is replaced as a whole, so that a reader that opens it by name can never miss a document. A deletion is a file
without a source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from idxopt.engines.embedded import durable, sealed
from idxopt.hashing import text_digest

FOLDER = "written"


@dataclass(frozen=True, slots=True)
class WrittenDocument:
    """One document as it was written last; `source` None: deleted."""

    id: str
    seq_no: int
    source: Mapping[str, Any] | None


def find(folder: Path, identifier: str) -> WrittenDocument | None:
    """The document of that id, if it was written since the last refresh (or that refresh has not cleaned up yet)."""
    try:
        return _read(_path(folder, identifier))
    except FileNotFoundError:
        return None


def write(folder: Path, document: WrittenDocument) -> None:
    """Stores or replaces one document."""
    value = {"id": document.id, "seq_no": document.seq_no, "source": document.source}
    sealed.write(_path(folder, document.id), value)


def waiting(folder: Path, after: int) -> list[WrittenDocument]:
    """Documents with a sequence number above `after`, in that order: no segment has them. For the lock's holder."""
    documents = [document for path in _paths(folder) if (document := _read(path)).seq_no > after]
    return sorted(documents, key=lambda document: document.seq_no)


def any_file(folder: Path) -> bool:
    """Whether there may be something to refresh."""
    return next(_paths(folder), None) is not None


def forget(folder: Path) -> None:
    """Removes all files: their documents are in segments now. For the lock's holder."""
    for path in list(_paths(folder)):
        durable.remove(path)


def _read(path: Path) -> WrittenDocument:
    return WrittenDocument(**sealed.read(path))


def _path(folder: Path, identifier: str) -> Path:
    return folder / f"{text_digest(identifier)}.json"


def _paths(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if path.suffix == ".json")
