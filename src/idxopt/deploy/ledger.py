"""The ledger of an index: a fingerprint of every document at the moment readers moved to it.

Comparing it with the index later tells exactly what applications wrote through the alias since: inserts, updates and
deletes, on every engine (sequence numbers do not show deletes, counts do not show updates). 16 bytes a document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from idxopt.engines.port import Reader, StoredDocument
from idxopt.operators.row import row_digest

_Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Ledger:
    """Sorted 64-bit hashes of ids, and of the contents in the same order."""

    ids: _Hashes
    contents: _Hashes

    def __len__(self) -> int:
        return len(self.ids)

    def to_bytes(self) -> bytes:
        """Little-endian ids, then contents."""
        return self.ids.astype("<u8").tobytes() + self.contents.astype("<u8").tobytes()

    @staticmethod
    def from_bytes(data: bytes) -> Ledger:
        """Inverse of `to_bytes`."""
        values = np.frombuffer(data, dtype="<u8").astype(np.uint64)
        half = len(values) // 2
        return Ledger(values[:half], values[half:])


def ledger_of(rows: Iterable[tuple[str, str]]) -> Ledger:
    """Ledger of (id, content digest in hex) pairs."""
    flat = np.fromiter((number for id, digest in rows for number in (id_hash(id), int(digest[:16], 16))), np.uint64)
    return _sorted(flat.reshape(-1, 2))


def _sorted(table: npt.NDArray[np.uint64]) -> Ledger:
    order = np.argsort(table[:, 0], kind="stable")
    return Ledger(table[order, 0], table[order, 1])


def read_ledger(reader: Reader, index: str) -> Ledger:
    """Ledger of what an index holds now."""
    return ledger_of((document.id, row_digest(document.source)) for document in reader.scan(index, vectors=False))


def id_hash(id: str) -> int:
    """64-bit hash of a document id."""
    return int.from_bytes(hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class Writes:
    """What happened to an index since its ledger was taken."""

    inserted: int
    updated: int
    deleted: int

    @property
    def total(self) -> int:
        return self.inserted + self.updated + self.deleted

    def __str__(self) -> str:
        return f"{self.total} ({self.inserted} inserted, {self.updated} updated, {self.deleted} deleted)"


NO_WRITES = Writes(0, 0, 0)


class WriteReader:
    """One pass over an index against its ledger:

    iterate for the inserted and updated documents, then ask for the rest.
    """

    def __init__(self, reader: Reader, index: str, ledger: Ledger) -> None:
        self._reader = reader
        self._index = index
        self._ledger = ledger
        self._known: Mapping[int, int] = dict(zip(ledger.ids.tolist(), ledger.contents.tolist(), strict=True))
        self._seen: dict[int, int] = {}
        self._inserted = 0
        self._updated = 0

    def __iter__(self) -> Iterator[StoredDocument]:
        for document in self._reader.scan(self._index, vectors=False):
            key, content = id_hash(document.id), int(row_digest(document.source)[:16], 16)
            self._seen[key] = content
            before = self._known.get(key)
            if before is None:
                self._inserted += 1
                yield document
            elif before != content:
                self._updated += 1
                yield document

    @property
    def deleted(self) -> frozenset[int]:
        """Id hashes that were there and are gone; right after the iteration has ended."""
        return frozenset(self._known.keys() - self._seen.keys())

    @property
    def ledger(self) -> Ledger:
        """What the index holds now; right after the iteration has ended."""
        return _sorted(np.array(list(self._seen.items()), dtype=np.uint64).reshape(len(self._seen), 2))

    @property
    def writes(self) -> Writes:
        """Counts; right after the iteration has ended."""
        return Writes(self._inserted, self._updated, len(self.deleted))


def count_writes(reader: Reader, index: str, ledger: Ledger) -> Writes:
    """Inserts, updates and deletes since the ledger was taken."""
    found = WriteReader(reader, index, ledger)
    for _ in found:
        pass
    return found.writes
