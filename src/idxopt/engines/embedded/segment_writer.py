"""Makes a segment from rows in memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from idxopt.engines.embedded import durable
from idxopt.engines.embedded.bm25 import length_code
from idxopt.engines.embedded.frequencies import Frequencies, invert, token_counts
from idxopt.engines.embedded.mapping import FieldType, Mapped, Values
from idxopt.engines.embedded.pack import Array, PackWriter, add_strings, offsets
from idxopt.engines.embedded.segment import id_hash
from idxopt.engines.embedded.vectors import Vector, put_back, without_vectors, write_vectors


@dataclass(frozen=True, slots=True)
class Row:
    """A document ready to be stored: its JSON text (without vectors) and its indexed values."""

    id: str
    source: bytes
    values: Values

    @property
    def bytes(self) -> int:
        """About what the document takes on disk."""
        return len(self.source) + sum(vector.nbytes for _, vector in self._vectors())

    def document(self) -> dict[str, Any]:
        """The document with its vectors, as it is read back."""
        result: dict[str, Any] = orjson.loads(self.source)
        for path, vector in self._vectors():
            put_back(result, path, vector)
        return result

    def _vectors(self) -> Iterator[tuple[str, Vector]]:
        for path, values in self.values.items():
            if values and isinstance(values[0], np.ndarray):
                yield path, values[0]


def make_row(identifier: str, body: Mapping[str, Any], mapped: Mapped) -> Row:
    """A row of a document. BadValue where a server would refuse it; JSONEncodeError for what JSON cannot hold."""
    values = mapped.values(body)
    stored = without_vectors(body, mapped.vectors) if mapped.vectors else body
    return Row(identifier, orjson.dumps(stored), values)


def write_segment(
    path: Path,
    rows: Sequence[Row],
    seq_nos: Sequence[int],
    fields: Mapping[str, FieldType],
    analysed: Mapping[str, Frequencies],
) -> None:
    """Writes a segment, atomically. `analysed`: by path, the texts of the rows that have the field, in order."""
    with durable.new_file(path) as file:
        writer = PackWriter(file)
        write_stored(writer, [row.id.encode() for row in rows], seq_nos)
        sources = [row.source for row in rows]
        writer.stream("source.bytes", np.uint8, sources, large=True)
        writer.add("source.offsets", offsets([len(source) for source in sources]))
        writer.add("source.crc", np.array([zlib.crc32(source) for source in sources], dtype=np.uint32))
        about = {}
        for name in sorted({name for row in rows for name in row.values}):
            about[name] = _write_field(writer, fields[name], rows, analysed)
        writer.finish({"documents": len(rows), "fields": about})


def write_stored(writer: PackWriter, ids: list[bytes], seq_nos: Sequence[int] | Array) -> None:
    """Ids, their hash index, and sequence numbers."""
    hashes = np.array([id_hash(each.decode()) for each in ids], dtype=np.uint64)
    order = np.argsort(hashes, kind="stable").astype(np.uint32)
    add_strings(writer, "id", ids)
    writer.add("id.hash", hashes[order])
    writer.add("id.order", order)
    writer.add("seq_no", np.asarray(seq_nos, dtype=np.int64))


def _write_field(
    writer: PackWriter, field: FieldType, rows: Sequence[Row], analysed: Mapping[str, Frequencies]
) -> dict[str, Any]:
    having = [number for number, row in enumerate(rows) if field.path in row.values]
    if field.kind == "text":
        return _write_text(writer, field.path, len(rows), np.array(having, dtype=np.uint32), analysed[field.path])
    if field.vector is not None:
        vectors = (np.asarray(rows[number].values[field.path], dtype=np.float32) for number in having)
        return write_vectors(writer, field.path, field.vector.dimension, np.array(having, dtype=np.uint32), vectors)
    pairs = [(value, number) for number in having for value in rows[number].values[field.path]]
    if field.kind == "keyword":
        return _write_keyword(writer, field.path, pairs)
    kind = np.float64 if field.kind in {"double", "float"} else np.int64
    writer.add(f"{field.path}:documents", np.array([number for _, number in pairs], dtype=np.uint32))
    writer.add(f"{field.path}:values", np.array([value for value, _ in pairs], dtype=kind))
    return {"kind": field.kind}


def _write_text(
    writer: PackWriter, path: str, count: int, documents: Array, frequencies: Frequencies
) -> dict[str, Any]:
    postings = invert(frequencies, documents)
    lengths = token_counts(frequencies)
    norms = np.zeros(count, dtype=np.uint8)
    norms[documents] = [length_code(length) for length in lengths.tolist()]
    present = np.zeros(count, dtype=np.bool_)
    present[documents] = True
    add_strings(writer, f"{path}:terms", postings.terms)
    writer.add(f"{path}:starts", postings.starts)
    writer.add(f"{path}:documents", postings.documents)
    writer.add(f"{path}:frequencies", postings.frequencies)
    writer.add(f"{path}:norms", norms)
    writer.add(f"{path}:present", present)
    return {"kind": "text", "documents": int((lengths > 0).sum()), "tokens": int(lengths.sum())}


def _write_keyword(writer: PackWriter, path: str, pairs: list[tuple[Any, int]]) -> dict[str, Any]:
    """Every (term, document) once, sorted by term, then document."""
    distinct = sorted(set(pairs))
    terms: list[bytes] = []
    sizes: list[int] = []
    for term, _ in distinct:
        if not terms or terms[-1] != term:
            terms.append(term)
            sizes.append(0)
        sizes[-1] += 1
    add_strings(writer, f"{path}:terms", terms)
    writer.add(f"{path}:starts", offsets(sizes))
    writer.add(f"{path}:documents", np.array([number for _, number in distinct], dtype=np.uint32))
    return {"kind": "keyword", "documents": len({number for _, number in distinct}), "tokens": len(distinct)}
