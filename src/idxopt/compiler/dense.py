"""Dense legs: what is embedded of a row, and how its vector is mapped.

The mapping is OpenSearch's `knn_vector`; the embedded engine reads the same. Which library makes the graph follows from
the program alone, never from the cluster, so that a view's index has one compiled form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from idxopt.compiler.fields import stored_path
from idxopt.compiler.lowered import DenseText
from idxopt.errors import ProgramError
from idxopt.operators.row import VECTOR
from idxopt.program.effects import view_fields
from idxopt.program.schema import Dense, Hnsw, ModelSpec, Program

LUCENE_EF_CONSTRUCTION = 3_200
"""Lucene's `Lucene99HnswVectorsFormat` takes no wider beam; its bounds of m (512) and of dimensions (16,000 since k-NN
2.12) are those of the schema."""

SPACE_TYPES: Mapping[str, str] = {"cosine": "cosinesimil", "dot": "innerproduct", "l2": "l2"}


def knn_engine(hnsw: Hnsw) -> Literal["lucene", "faiss"]:
    """Lucene, which needs no native library and filters while it searches; faiss only beyond Lucene's limits."""
    return "lucene" if hnsw.ef_construction <= LUCENE_EF_CONSTRUCTION else "faiss"


def knn_settings() -> dict[str, Any]:
    """`settings.index` of an index with vectors.

    The derived source is off: with it, k-NN 3.5.0 can make an index unreadable when a scroll is cleared.
    """
    return {"knn": True, "knn.derived_source.enabled": False}


def vector_mapping(program: Program, dense: Dense) -> dict[str, Any]:
    """The mapping of `idxopt.vector`."""
    dimension, similarity = _shape(program, dense)
    return {
        "type": "knn_vector",
        "dimension": dimension,
        "method": {
            "name": "hnsw",
            "engine": knn_engine(dense.hnsw),
            "space_type": SPACE_TYPES[similarity],
            "parameters": {"m": dense.hnsw.m, "ef_construction": dense.hnsw.ef_construction},
        },
    }


def dense_text(program: Program, view_name: str) -> DenseText | None:
    """What is embedded of each row of a view; None for a view without a dense leg."""
    view = program.views[view_name]
    if view.dense is None:
        return None
    dimension, similarity = _shape(program, view.dense)
    places = view_fields(program, view)
    texts = tuple(stored_path(program, view_name, field, places) for field in view.dense.text)
    return DenseText(view.dense.model, dimension, similarity, texts, VECTOR)


def _shape(program: Program, dense: Dense) -> tuple[int, Literal["cosine", "dot", "l2"]]:
    spec: ModelSpec | None = program.models.get(dense.model)
    if spec is None or spec.dimension is None or spec.similarity is None:
        raise ProgramError(
            f'a dense leg needs the dimension and the similarity of "{dense.model}"',
            remedy='write them: "dimension": 384, "similarity": "cosine"',
            place=f"models.{dense.model}",
        )
    return spec.dimension, spec.similarity
