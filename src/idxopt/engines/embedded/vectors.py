"""Vectors of rows: read from documents, kept as float32 apart from the JSON, given back as they were.

A `knn_vector` is kept once, as numbers: the stored JSON of a row lacks it, and whoever reads the row gets it put back.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from idxopt.engines.embedded.pack import Array, Pack, PackWriter
from idxopt.engines.embedded.sealed import damaged
from idxopt.engines.embedded.values import BadValue

Space = Literal["cosinesimil", "innerproduct", "l2"]
SPACES: tuple[Space, ...] = ("cosinesimil", "innerproduct", "l2")
MAX_DIMENSION = 16_000

BLOCK_BYTES = 4 << 20
"""Vectors are checked, scored and merged in blocks of about so many bytes."""

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class VectorType:
    """What a mapping says of one `knn_vector` field. `m`, `ef_construction`: of the graph of large indices."""

    dimension: int
    space: Space
    m: int = 16
    ef_construction: int = 100


def as_vector(value: Any, kind: VectorType) -> Vector:
    """A vector as a server takes it. BadValue for another dimension, a value that is no finite number, and a zero
    vector where the space is cosine.
    """
    if not isinstance(value, list | tuple) or not all(type(item) in {int, float} for item in value):
        raise BadValue("a vector is a list of numbers")
    if len(value) != kind.dimension:
        raise BadValue(f"Vector dimension mismatch. Expected: {kind.dimension}, Given: {len(value)}")
    with np.errstate(over="ignore"):
        vector = np.array(value, dtype=np.float64).astype(np.float32)
    if not np.isfinite(vector).all():
        place = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise BadValue(f"value {place} of the vector is not a finite number")
    if kind.space == "cosinesimil" and not vector.any():
        raise BadValue("zero vector is not supported when space type is [cosinesimil]")
    return vector


def without_vectors(body: Mapping[str, Any], paths: Sequence[str]) -> dict[str, Any]:
    """A document without the values at these paths; shares everything else with the original."""
    result = dict(body)
    for path in paths:
        head, _, tail = path.partition(".")
        if head not in result:
            continue
        if tail and isinstance(result[head], Mapping):
            result[head] = without_vectors(result[head], [tail])
        elif not tail:
            del result[head]
    return result


def put_back(body: dict[str, Any], path: str, vector: Vector) -> None:
    """Puts a vector into a document that was read from its JSON."""
    *above, name = path.split(".")
    for part in above:
        body = body.setdefault(part, {})
    body[name] = vector.tolist()


class Vectors:
    """The vectors of one field in one segment: row r of `matrix` belongs to `documents[r]`, which ascend.

    `squares` holds each row's squared length. The file is checked block by block before it is used first.
    """

    def __init__(self, pack: Pack, path: str, about: Mapping[str, Any]) -> None:
        self._pack = pack
        self.dimension = int(about["dimension"])
        self.documents = pack[f"{path}:documents"]
        self.squares = pack[f"{path}:squares"]
        self._matrix = pack[f"{path}:vectors"].reshape(len(self.documents), self.dimension)
        self._checksums = pack[f"{path}:checksums"]
        self._checked = False
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def matrix(self) -> Array:
        """All vectors, checked. EngineError when they are not what was written."""
        if not self._checked:
            with self._lock:
                self._check()
        return self._matrix

    def _check(self) -> None:
        if self._checked:  # by another thread, while this one waited
            return
        for number, (start, end) in enumerate(blocks(len(self), self.dimension)):
            if zlib.crc32(self._matrix[start:end].view(np.uint8).data) != int(self._checksums[number]):
                raise damaged(self._pack.path)
        self._checked = True

    def row(self, number: int) -> Vector:
        """One vector, checked with those beside it."""
        return np.asarray(self.matrix[number])

    def row_of(self, document: int) -> int | None:
        """Where a document's vector is; None when it has none."""
        row = int(np.searchsorted(self.documents, document))
        return row if row < len(self) and int(self.documents[row]) == document else None


def blocks(count: int, dimension: int) -> Iterator[tuple[int, int]]:
    """Rows from .. to, of about BLOCK_BYTES each."""
    rows = _rows_a_block(dimension)
    return ((start, min(start + rows, count)) for start in range(0, count, rows))


def _rows_a_block(dimension: int) -> int:
    return max(1, BLOCK_BYTES // (4 * dimension))


def write_vectors(
    writer: PackWriter, path: str, dimension: int, documents: Array, parts: Iterator[Array]
) -> dict[str, Any]:
    """Writes the vectors of one field. `parts`: arrays of whole rows, as long as `documents` together."""
    checksums: list[int] = []
    squares: list[Array] = []

    def checked() -> Iterator[Array]:
        for block in _reblocked(parts, dimension):
            checksums.append(zlib.crc32(block.view(np.uint8).data))
            squares.append(np.einsum("ij,ij->i", block, block, dtype=np.float64))
            yield block

    writer.add(f"{path}:documents", documents.astype(np.uint32))
    writer.stream(f"{path}:vectors", np.float32, checked(), large=True)
    writer.add(f"{path}:checksums", np.array(checksums, dtype=np.uint32))
    writer.add(f"{path}:squares", np.concatenate(squares) if squares else np.zeros(0))
    return {"kind": "knn_vector", "dimension": dimension}


def _reblocked(parts: Iterator[Array], dimension: int) -> Iterator[Array]:
    """The same rows in blocks as `blocks` cuts them."""
    rows = _rows_a_block(dimension)
    held: list[Array] = []
    count = 0
    for part in parts:
        start = 0
        while start < len(part):
            taken = part[start : start + rows - count]
            held.append(taken)
            count += len(taken)
            start += len(taken)
            if count == rows:
                yield np.ascontiguousarray(np.concatenate(held), dtype=np.float32)
                held, count = [], 0
    if held:
        yield np.ascontiguousarray(np.concatenate(held), dtype=np.float32)
