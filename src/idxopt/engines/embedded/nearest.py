"""The k nearest rows of a vector: exact by products with all of them, or among the rows that a graph proposes.

Single-precision products pick candidates; these are scored again in double precision, row by row. So a score depends
on the row and the query alone, and equal vectors tie exactly, whatever segment they are in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from idxopt.engines.embedded.filters import Fields, Mask
from idxopt.engines.embedded.index_reader import IndexReader
from idxopt.engines.embedded.mapping import FieldType
from idxopt.engines.embedded.pack import Array
from idxopt.engines.embedded.query import Nearest
from idxopt.engines.embedded.segment import Segment
from idxopt.engines.embedded.values import BadValue
from idxopt.engines.embedded.vectors import Vector, Vectors, VectorType, as_vector, blocks

_MARGIN, _MARGIN_A_VALUE = 2e-5, 2e-8
"""Bound of the error of a single-precision product, as a part of the lengths multiplied: the second for each value."""

_FEW = 0.25
"""A filter that leaves a smaller part of a segment is answered exactly, without its graph; so is a larger `k`."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows of one segment that may be among the nearest, and about how close they are (larger is closer)."""

    vectors: Vectors
    rows: Array
    closeness: Array
    base: int


def nearest(
    reader: IndexReader, clause: Nearest, fields: Fields, passed: Sequence[Mask] | None, ties: Array | None
) -> tuple[Array, Array]:
    """Document numbers of the k nearest that pass, and their scores (float32). Ties go by `ties`, then by number.

    BadValue where a server answers with an error of the shard: no vector field, another dimension.
    """
    kind = _kind(clause.path, fields)
    query = as_vector(clause.vector, kind)
    parts = [
        _Part(vectors, rows, _closeness(vectors, rows, query, kind), int(base))
        for vectors, rows, base in _candidates(reader, clause, kind, query, passed)
    ]
    parts = _closest(parts, clause.k, kind, query)
    if not parts:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
    documents = np.concatenate([part.vectors.documents[part.rows].astype(np.int64) + part.base for part in parts])
    scores = np.concatenate([_scores(part.vectors, part.rows, query, kind) for part in parts])
    order = np.lexsort((documents, np.zeros_like(documents) if ties is None else ties[documents], -scores))[: clause.k]
    return documents[order], scores[order]


def _kind(path: str, fields: Fields) -> VectorType:
    definition: FieldType | None = fields.get(path)
    if definition is None or definition.vector is None:
        found = "not mapped" if definition is None else f"of type [{definition.kind}]"
        raise BadValue(f"Field '{path}' is not knn_vector type: it is {found}")
    return definition.vector


def _candidates(
    reader: IndexReader, clause: Nearest, kind: VectorType, query: Vector, passed: Sequence[Mask] | None
) -> Iterator[tuple[Vectors, Array, int]]:
    for number, (segment, base) in enumerate(zip(reader.segments, reader.bases.tolist(), strict=False)):
        vectors = segment.vectors(clause.path)
        if vectors is not None:
            wanted = None if passed is None else passed[number][vectors.documents]
            yield vectors, _rows(segment, vectors, clause, kind, query, wanted), base


def _rows(
    segment: Segment, vectors: Vectors, clause: Nearest, kind: VectorType, query: Vector, wanted: Mask | None
) -> Array:
    """Rows to score: all that pass, or those of them that the segment's graph proposes, when these are enough."""
    every = np.arange(len(vectors)) if wanted is None else np.flatnonzero(wanted)
    graph = segment.graph(clause.path)
    if graph is None or len(every) < _FEW * len(vectors) or len(every) <= clause.k:
        return every
    asked = 3 * clause.k * len(vectors) // len(every)
    if asked > _FEW * len(vectors):
        return every
    proposed = graph.propose(query, kind, asked)
    if wanted is not None:
        proposed = proposed[wanted[proposed]]
    return proposed if len(proposed) >= clause.k else every


def _closeness(vectors: Vectors, rows: Array, query: Vector, kind: VectorType) -> Array:
    """Cosine, product, or minus the squared distance, to single precision."""
    matrix, square = vectors.matrix, float(np.dot(query.astype(np.float64), query))
    products = np.empty(len(rows), dtype=np.float64)
    whole = len(rows) == len(vectors)
    for start, end in blocks(len(rows), kind.dimension):
        block = matrix[start:end] if whole else matrix[rows[start:end]]
        # Not `@`: its threads spin, and on a busy machine a product took a hundred times as long.
        products[start:end] = np.einsum("ij,j->i", block, query)
    squares = vectors.squares if whole else vectors.squares[rows]
    if kind.space == "cosinesimil":
        return products / np.sqrt(squares * square)
    return products if kind.space == "innerproduct" else 2.0 * products - squares - square


def _closest(parts: Sequence[_Part], k: int, kind: VectorType, query: Vector) -> list[_Part]:
    """Only rows that can be among the k nearest, errors of single precision allowed for."""
    parts = [part for part in parts if len(part.rows)]
    total = sum(len(part.rows) for part in parts)
    if total <= k:
        return parts
    closeness = np.concatenate([part.closeness for part in parts])
    last = float(np.partition(closeness, total - k)[total - k])
    square = float(np.dot(query.astype(np.float64), query))
    longest = max(float(part.vectors.squares.max()) for part in parts)
    error = {"cosinesimil": 1.0, "innerproduct": (longest * square) ** 0.5, "l2": longest + square}[kind.space]
    margin = _MARGIN + _MARGIN_A_VALUE * kind.dimension
    kept = []
    for part in parts:
        near = part.closeness >= last - 2 * margin * error
        if near.any():
            kept.append(_Part(part.vectors, part.rows[near], part.closeness[near], part.base))
    return kept


def _scores(vectors: Vectors, rows: Array, query: Vector, kind: VectorType) -> Array:
    """As OpenSearch's lucene engine: cosine (1 + cos) / 2; l2 1 / (1 + d^2); product 1 + x from 0, else 1 / (1 - x)."""
    scores = np.empty(len(rows), dtype=np.float64)
    exact = query.astype(np.float64)
    for start, end in blocks(len(rows), 2 * kind.dimension):
        block = vectors.matrix[rows[start:end]].astype(np.float64)
        if kind.space == "l2":
            scores[start:end] = 1.0 / (1.0 + np.square(block - exact).sum(axis=1))
            continue
        products = (block * exact).sum(axis=1)
        if kind.space == "innerproduct":
            scores[start:end] = np.where(products >= 0, 1.0 + products, 1.0 / (1.0 - np.minimum(products, 0.0)))
            continue
        lengths = np.sqrt(np.square(block).sum(axis=1) * np.square(exact).sum())
        scores[start:end] = (1.0 + np.clip(products / lengths, -1.0, 1.0)) / 2.0
    return scores.astype(np.float32)
