"""An immutable segment: stored documents, postings of text and keyword fields, columns of numbers, vectors. One pack
file.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from idxopt.engines.embedded.bm25 import FieldStatistics
from idxopt.engines.embedded.graphs import Graph, available, graph_path
from idxopt.engines.embedded.pack import Array, Pack, Strings
from idxopt.engines.embedded.sealed import damaged
from idxopt.engines.embedded.selection import selected, touches
from idxopt.engines.embedded.vectors import Vectors, put_back

NONE = np.iinfo(np.uint32).max
"""Stands for "no term" in `Inverted.first_terms`."""


def id_hash(identifier: str) -> int:
    """64 bits of a document id, by which segments and written documents find it."""
    return int.from_bytes(
        hashlib.blake2b(identifier.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )


class Inverted:
    """Terms of one field in UTF-8 order with their documents. Only text has `frequencies`, `norms` and `present`."""

    def __init__(self, pack: Pack, path: str, about: dict[str, Any]) -> None:
        self.terms = Strings(pack, f"{path}:terms")
        self.starts = pack[f"{path}:starts"]
        self.documents = pack[f"{path}:documents"]
        self.count = int(pack.about["documents"])
        self.statistics = FieldStatistics(about["documents"], about["tokens"])
        self.frequencies: Array | None = None
        if about["kind"] == "text":
            self.frequencies = pack[f"{path}:frequencies"]
            self.norms = pack[f"{path}:norms"]
            self.present = pack[f"{path}:present"]

    def lower(self, term: bytes) -> int:
        """Number of the first term that is not below `term`."""
        low, high = 0, len(self.terms)
        while low < high:
            middle = (low + high) // 2
            if self.terms[middle] < term:
                low = middle + 1
            else:
                high = middle
        return low

    def find(self, term: bytes) -> int | None:
        """Number of a term."""
        number = self.lower(term)
        return number if number < len(self.terms) and self.terms[number] == term else None

    def having(self, first: int, last: int) -> Array:
        """Documents of the terms `first` up to, not including, `last`."""
        return self.documents[int(self.starts[first]) : int(self.starts[last])]

    def document_frequency(self, number: int) -> int:
        return int(self.starts[number + 1] - self.starts[number])

    def frequencies_of(self, number: int) -> Array:
        """Frequencies beside `having(number, number + 1)`, as float32."""
        if self.frequencies is None:
            raise TypeError("only text has frequencies")
        return self.frequencies[int(self.starts[number]) : int(self.starts[number + 1])].astype(np.float32)

    @cached_property
    def first_terms(self) -> Array:
        """Number of each document's smallest term, or NONE: what sorting and collapsing go by."""
        result = np.full(self.count, NONE, dtype=np.uint32)
        numbers = np.repeat(np.arange(len(self.terms), dtype=np.uint32), np.diff(self.starts))
        result[self.documents[::-1]] = numbers[::-1]
        return result


class Column:
    """Numbers of one field beside their documents, which ascend and may repeat."""

    def __init__(self, pack: Pack, path: str) -> None:
        self.documents = pack[f"{path}:documents"]
        self.values = pack[f"{path}:values"]


class Segment:
    """An open segment."""

    def __init__(self, path: Path) -> None:
        self.pack = Pack(path)
        self.name = path.name
        self.bytes = self.pack.bytes
        self.about: dict[str, Any] = self.pack.about
        self.count = int(self.about["documents"])
        self.ids = Strings(self.pack, "id")
        self.seq_nos = self.pack["seq_no"]
        self.fields: dict[str, Inverted | Column | Vectors] = {
            path: _field(self.pack, path, about) for path, about in self.about["fields"].items()
        }
        self._vectors = {path: field for path, field in self.fields.items() if isinstance(field, Vectors)}
        self._graphs: dict[str, Graph] = {}

    def inverted(self, path: str) -> Inverted | None:
        """Postings of a text or keyword field; None where no document of the segment has it."""
        field = self.fields.get(path)
        return field if isinstance(field, Inverted) else None

    def vectors(self, path: str) -> Vectors | None:
        """Vectors of a field; None where no document of the segment has one."""
        return self._vectors.get(path)

    def graph(self, path: str) -> Graph | None:
        """The graph of a vector field; None where there is none."""
        if path not in self._graphs and available() and (place := graph_path(self.pack.path, path)).exists():
            with suppress(FileNotFoundError):
                self._graphs[path] = Graph(place)
        return self._graphs.get(path)

    def source_bytes(self, document: int) -> bytes:
        """A stored document as JSON, checked."""
        starts = self.pack["source.offsets"]
        text = self.pack["source.bytes"][int(starts[document]) : int(starts[document + 1])].tobytes()
        if zlib.crc32(text) != int(self.pack["source.crc"][document]):
            raise damaged(self.pack.path)
        return text

    def source(self, document: int, paths: tuple[str, ...] | None = None, *, vectors: bool = True) -> dict[str, Any]:
        """A stored document, or the part of it under the named paths; without its vectors if so asked."""
        result: dict[str, Any] = orjson.loads(self.source_bytes(document))
        for path, field in self._vectors.items() if vectors else ():
            if touches(paths, path) and (row := field.row_of(document)) is not None:
                put_back(result, path, field.row(row))
        return selected(result, paths)

    def identifier(self, document: int) -> str:
        return self.ids[document].decode()

    def locate(self, ids: Sequence[str]) -> dict[str, int]:
        """Document numbers of those ids that are here."""
        hashes, order = self.pack["id.hash"], self.pack["id.order"]
        wanted = np.array([id_hash(each) for each in ids], dtype=np.uint64)
        places = np.searchsorted(hashes, wanted)
        likely = np.flatnonzero(hashes[np.minimum(places, self.count - 1)] == wanted) if self.count else ()
        found = {}
        for number in map(int, likely):
            place = int(places[number])
            while place < self.count and hashes[place] == wanted[number]:
                document = int(order[place])
                if self.identifier(document) == ids[number]:
                    found[ids[number]] = document
                    break
                place += 1
        return found


def _field(pack: Pack, path: str, about: dict[str, Any]) -> Inverted | Column | Vectors:
    match about["kind"]:
        case "text" | "keyword":
            return Inverted(pack, path, about)
        case "knn_vector":
            return Vectors(pack, path, about)
        case _:
            return Column(pack, path)
