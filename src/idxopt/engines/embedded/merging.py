"""Several segments into one, without replaced and deleted documents, in memory that does not grow with them."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from idxopt.engines.embedded import durable, pack
from idxopt.engines.embedded.pack import Array, PackWriter, offsets
from idxopt.engines.embedded.segment import Column, Inverted, Segment
from idxopt.engines.embedded.segment_writer import write_stored
from idxopt.engines.embedded.vectors import blocks, write_vectors

BLOCK_POSTINGS = 1 << 20


@dataclass(frozen=True, slots=True)
class Part:
    """One segment to merge and which of its documents to keep, with their numbers in the merged segment."""

    segment: Segment
    kept: Array
    numbers: Array


def parts_of(segments: Sequence[Segment], kept: Sequence[Array]) -> list[Part]:
    """Numbers the kept documents one after the other."""
    parts, base = [], 0
    for segment, mask in zip(segments, kept, strict=True):
        numbers = (np.cumsum(mask, dtype=np.int64) - 1 + base).astype(np.uint32)
        parts.append(Part(segment, mask, numbers))
        base += int(mask.sum())
    return parts


def merge(path: Path, parts: Sequence[Part]) -> None:
    """Writes the merged segment, atomically."""
    count = sum(int(part.kept.sum()) for part in parts)
    with durable.new_file(path) as file:
        writer = PackWriter(file)
        ids = [part.segment.ids[int(number)] for part in parts for number in np.flatnonzero(part.kept)]
        write_stored(writer, ids, np.concatenate([part.segment.seq_nos[part.kept] for part in parts]))
        del ids
        _merge_sources(writer, parts)
        kinds = {name: about["kind"] for part in parts for name, about in part.segment.about["fields"].items()}
        about = {}
        for name, kind in sorted(kinds.items()):
            if kind in {"text", "keyword"}:
                about[name] = _merge_inverted(writer, name, kind, parts, count, path.parent)
            elif kind == "knn_vector":
                about[name] = _merge_vectors(writer, name, parts)
            else:
                about[name] = _merge_column(writer, name, kind, parts)
        writer.finish({"documents": count, "fields": about})


def _merge_sources(writer: PackWriter, parts: Sequence[Part]) -> None:
    def texts() -> Iterator[Array | bytes]:
        for part in parts:
            source, starts = part.segment.pack["source.bytes"], part.segment.pack["source.offsets"]
            if part.kept.all():
                for start in range(0, len(source), pack.CHUNK_BYTES):
                    yield source[start : start + pack.CHUNK_BYTES]
                    part.segment.pack.release()
            else:
                for number in np.flatnonzero(part.kept):
                    yield source[int(starts[number]) : int(starts[number + 1])]
                part.segment.pack.release()

    writer.stream("source.bytes", np.uint8, texts(), large=True)
    lengths = [np.diff(part.segment.pack["source.offsets"])[part.kept] for part in parts]
    writer.add("source.offsets", offsets(np.concatenate(lengths)))
    writer.add("source.crc", np.concatenate([part.segment.pack["source.crc"][part.kept] for part in parts]))


def _merge_column(writer: PackWriter, name: str, kind: str, parts: Sequence[Part]) -> dict[str, Any]:
    documents, values = [], []
    for part in parts:
        column = part.segment.fields.get(name)
        if isinstance(column, Column):
            kept = part.kept[column.documents]
            documents.append(part.numbers[column.documents[kept]])
            values.append(column.values[kept])
    writer.add(f"{name}:documents", np.concatenate(documents))
    writer.add(f"{name}:values", np.concatenate(values))
    return {"kind": kind}


def _merge_vectors(writer: PackWriter, name: str, parts: Sequence[Part]) -> dict[str, Any]:
    inputs = [(part, vectors) for part in parts if (vectors := part.segment.vectors(name)) is not None]
    documents = [part.numbers[vectors.documents[part.kept[vectors.documents]]] for part, vectors in inputs]
    dimension = inputs[0][1].dimension

    def rows() -> Iterator[Array]:
        for part, vectors in inputs:
            kept = part.kept[vectors.documents]
            for start, end in blocks(len(vectors), dimension):
                yield vectors.matrix[start:end][kept[start:end]]
                part.segment.pack.release()

    return write_vectors(writer, name, dimension, np.concatenate(documents), rows())


class _Spill:
    """An array that grows in a nameless temporary file."""

    def __init__(self, folder: Path, dtype: npt.DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self._file = cast(BinaryIO, tempfile.TemporaryFile(dir=folder, suffix=durable.TEMPORARY))  # noqa: SIM115

    def write(self, array: Array) -> None:
        self._file.write(np.ascontiguousarray(array, dtype=self.dtype).view(np.uint8).data)

    def write_bytes(self, content: bytes) -> None:
        self._file.write(content)

    def parts(self) -> Iterator[bytes]:
        """The whole content; ends the file's life."""
        self._file.seek(0)
        with self._file:
            while content := self._file.read(pack.CHUNK_BYTES):
                yield content

    def array(self) -> Array:
        return np.frombuffer(b"".join(self.parts()), dtype=self.dtype)


def _merge_inverted(
    writer: PackWriter, name: str, kind: str, parts: Sequence[Part], count: int, folder: Path
) -> dict[str, Any]:
    inputs = [(part, field) for part in parts if (field := part.segment.inverted(name)) is not None]
    terms, term_lengths, sizes = _Spill(folder, np.uint8), _Spill(folder, np.int64), _Spill(folder, np.int64)
    documents, frequencies = _Spill(folder, np.uint32), _Spill(folder, np.uint32)
    tokens = 0
    for block in _blocks([field for _, field in inputs]):
        merged = _merge_block(inputs, block)
        having = merged.sizes > 0
        kept_terms = [term for term, any_left in zip(block.terms, having.tolist(), strict=True) if any_left]
        terms.write_bytes(b"".join(kept_terms))
        term_lengths.write(np.array([len(term) for term in kept_terms], dtype=np.int64))
        sizes.write(merged.sizes[having])
        documents.write(merged.documents)
        frequencies.write(merged.frequencies)
        tokens += int(merged.frequencies.sum(dtype=np.int64))
        for part, _ in inputs:
            part.segment.pack.release()
    writer.stream(f"{name}:terms.bytes", np.uint8, terms.parts())
    writer.add(f"{name}:terms.offsets", offsets(term_lengths.array()))
    writer.add(f"{name}:starts", offsets(sizes.array()))
    writer.stream(f"{name}:documents", np.uint32, documents.parts())
    if kind == "keyword":
        having = np.zeros(count, dtype=np.bool_)
        for part, field in inputs:
            having[part.numbers[field.documents[part.kept[field.documents]]]] = True
        return {"kind": kind, "documents": int(having.sum()), "tokens": tokens}
    writer.stream(f"{name}:frequencies", np.uint32, frequencies.parts())
    norms, present = np.zeros(count, dtype=np.uint8), np.zeros(count, dtype=np.bool_)
    for part, field in inputs:
        norms[part.numbers[part.kept]] = field.norms[part.kept]
        present[part.numbers[part.kept]] = field.present[part.kept]
    writer.add(f"{name}:norms", norms)
    writer.add(f"{name}:present", present)
    return {"kind": kind, "documents": int((norms > 0).sum()), "tokens": tokens}


@dataclass(frozen=True, slots=True)
class _Block:
    """A run of merged terms; `first[s]` is the first of input s's terms in it, `numbers[s]` where each of them goes."""

    terms: list[bytes]
    first: list[int]
    numbers: list[list[int]]


@dataclass(frozen=True, slots=True)
class _Merged:
    sizes: Array
    documents: Array
    frequencies: Array


def _blocks(fields: Sequence[Inverted]) -> Iterator[_Block]:
    """The union of the sorted vocabularies, cut where a block has enough postings."""

    def stream(source: int, field: Inverted) -> Iterator[tuple[bytes, int, int]]:
        return ((field.terms[number], source, number) for number in range(len(field.terms)))

    def empty() -> _Block:
        return _Block([], list(position), [[] for _ in fields])

    position = [0] * len(fields)
    block, postings = empty(), 0
    for term, source, number in heapq.merge(*(stream(source, field) for source, field in enumerate(fields))):
        if not block.terms or block.terms[-1] != term:
            if postings >= BLOCK_POSTINGS:
                yield block
                block, postings = empty(), 0
            block.terms.append(term)
        block.numbers[source].append(len(block.terms) - 1)
        position[source] = number + 1
        postings += fields[source].document_frequency(number)
    if block.terms:
        yield block


def _merge_block(inputs: Sequence[tuple[Part, Inverted]], block: _Block) -> _Merged:
    terms, documents, frequencies = [], [], []
    for (part, field), first, numbers in zip(inputs, block.first, block.numbers, strict=True):
        if not numbers:
            continue
        last = first + len(numbers)
        begin, end = int(field.starts[first]), int(field.starts[last])
        old = field.documents[begin:end]
        kept = part.kept[old]
        terms.append(np.repeat(np.array(numbers, dtype=np.int64), np.diff(field.starts[first : last + 1]))[kept])
        documents.append(part.numbers[old[kept]])
        counts = np.ones(len(old), dtype=np.uint32) if field.frequencies is None else field.frequencies[begin:end]
        frequencies.append(counts[kept])
    joined = np.concatenate(terms)
    order = np.argsort(joined, kind="stable")
    return _Merged(
        np.bincount(joined, minlength=len(block.terms)),
        np.concatenate(documents)[order],
        np.concatenate(frequencies)[order],
    )
