"""HNSW graphs of large segments (Malkov & Yashunin 2016), made by usearch where it is installed (extra `hnsw`).

A graph only proposes rows; their scores are computed from the vectors as ever. It is kept in a file of its own beside
its segment, made before a refresh shows the segment. Without the file or the library searches are exact, and slower.
Built in one thread in the order of rows, so that equal segments give equal answers.
"""

from __future__ import annotations

import threading
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from idxopt.engines.embedded import durable
from idxopt.engines.embedded.pack import Array, Pack, PackWriter
from idxopt.engines.embedded.vectors import Vector, Vectors, VectorType, blocks
from idxopt.hashing import text_digest

SUFFIX = ".graph"
LEAST_PROPOSED = 256
"""Rows that a graph is asked for at least; it walks through as many candidates, which decides what it misses."""


@cache
def available() -> bool:
    """Whether the library is installed."""
    return find_spec("usearch") is not None


def graph_path(segment: Path, field: str) -> Path:
    """Where the graph of one field of a segment is."""
    return segment.with_name(f"{segment.name}.{text_digest(field)[:8]}{SUFFIX}")


def write_graph(path: Path, vectors: Vectors, kind: VectorType) -> None:
    """Makes the graph of one field, atomically. Takes about a minute for 200,000 rows of 384 values."""
    from usearch.index import Index

    index = Index(
        ndim=kind.dimension + (kind.space == "innerproduct"),
        metric="l2sq" if kind.space == "l2" else "ip",
        dtype="f16",
        connectivity=kind.m,
        expansion_add=kind.ef_construction,
    )
    longest = float(np.sqrt(vectors.squares.max(initial=0.0))) or 1.0
    for start, end in blocks(len(vectors), kind.dimension):
        rows, squares = vectors.matrix[start:end], vectors.squares[start:end]
        keys = np.arange(start, end, dtype=np.uint64)
        index.add(keys, _rows_as_in_graph(rows, squares, longest, kind), threads=1)
    content = index.save() or b""
    with durable.new_file(path) as file:
        writer = PackWriter(file)
        writer.add("graph", np.frombuffer(content, dtype=np.uint8))
        writer.finish({"rows": len(vectors), "longest": longest})


class Graph:
    """An open graph."""

    def __init__(self, path: Path) -> None:
        """FileNotFoundError when there is none; EngineError when it is damaged."""
        from usearch.index import Index

        self._pack = Pack(path)
        self._longest = float(self._pack.about["longest"])
        self._index: Any = Index.restore(self._pack["graph"].data, view=True)
        self._lock = threading.Lock()  # a usearch index gives every caller the same working memory

    def propose(self, query: Vector, kind: VectorType, count: int) -> Array:
        """About the `count` nearest rows, at least LEAST_PROPOSED, ascending."""
        square = np.dot(query.astype(np.float64), query)
        if kind.space == "innerproduct":
            point = np.append(query / np.sqrt(square), 0.0) if square else np.zeros(kind.dimension + 1)
        else:
            point = query / (np.sqrt(square) if kind.space == "cosinesimil" else self._longest)
        with self._lock:
            found = self._index.search(point.astype(np.float32), max(count, LEAST_PROPOSED), threads=1)
        return np.sort(np.asarray(found.keys, dtype=np.int64))


def _rows_as_in_graph(rows: Array, squares: Array, longest: float, kind: VectorType) -> Array:
    """Rows scaled to a length of at most 1 (half precision ends at 65,504), which changes no order.

    Inner products obey no triangle inequality, so graphs miss rows; one more coordinate makes all rows 1 long, and
    then they do (Bachrach et al. 2014). The query has 0 there.
    """
    lengths = np.sqrt(squares) if kind.space == "cosinesimil" else np.full(len(rows), longest)
    scaled = rows / lengths[:, None]
    if kind.space == "innerproduct":
        rest = np.sqrt(np.maximum(0.0, 1.0 - squares / longest**2))
        scaled = np.concatenate([scaled, rest[:, None]], axis=1)
    return np.ascontiguousarray(scaled, dtype=np.float32)
