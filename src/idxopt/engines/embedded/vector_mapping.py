"""The mapping of a `knn_vector` field: exactly what the compiler emits for OpenSearch's lucene engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from idxopt.engines.embedded.vectors import MAX_DIMENSION, SPACES, VectorType
from idxopt.errors import Rejected

PARAMETERS = frozenset({"type", "dimension", "space_type", "method"})
_METHOD = frozenset({"name", "engine", "space_type", "parameters"})
_HNSW = frozenset({"m", "ef_construction"})


def parse_vector(definition: Mapping[str, Any], path: str) -> VectorType:
    """Reads the mapping of one field. Rejected for anything but HNSW of a known space."""
    dimension = definition.get("dimension")
    if isinstance(dimension, bool) or not isinstance(dimension, int) or not 1 <= dimension <= MAX_DIMENSION:
        raise _rejected(f"{path}: dimension is {dimension!r}", f"use a whole number from 1 to {MAX_DIMENSION}")
    method = definition.get("method", {})
    _only(method, _METHOD, f"{path}.method")
    if method.get("name", "hnsw") != "hnsw":
        raise _rejected(f"{path}: the method is {method['name']!r}", "use hnsw")
    space = definition.get("space_type", method.get("space_type", "l2"))
    if space not in SPACES or method.get("space_type", space) != space:
        raise _rejected(f"{path}: space_type is {space!r}", f"use one of: {', '.join(SPACES)}, in one place")
    parameters = method.get("parameters", {})
    _only(parameters, _HNSW, f"{path}.method.parameters")
    m, ef_construction = parameters.get("m", 16), parameters.get("ef_construction", 100)
    if not all(isinstance(value, int) and value >= 1 for value in (m, ef_construction)):
        raise _rejected(f"{path}: m and ef_construction are whole numbers from 1", "correct the mapping")
    return VectorType(dimension, space, m, ef_construction)


def _only(value: Any, names: frozenset[str], place: str) -> None:
    unknown = sorted(set(value) - names) if isinstance(value, Mapping) else ["?"]
    if unknown:
        raise _rejected(f"{place}: unknown parameter {unknown[0]!r}", f"use only: {', '.join(sorted(names))}")


def _rejected(message: str, remedy: str) -> Rejected:
    return Rejected(message, remedy=remedy, status=400)
