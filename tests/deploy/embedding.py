"""Programs with dense legs, and embedders that need no weights: deterministic ones, and ones that go wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from idxopt.compiler.dense import dense_text
from idxopt.compiler.lowered import Leg
from idxopt.compiler.queries import knn_body
from idxopt.engines.port import Engine, SearchRequest
from idxopt.errors import ModelError
from idxopt.models.opening import Models
from idxopt.models.ports import Embedded, ModelIdentity, Progress, TextKind, Vectors
from idxopt.program.schema import ModelSpec, Program
from idxopt.program.validate import program_from

DIMENSION = 8
SPEC = {"kind": "embedder", "id": "test/letters", "dimension": DIMENSION, "similarity": "cosine"}
Spoil = Callable[[Vectors, Sequence[str]], Vectors]


class Letters:
    """Vectors from a hash of the text: equal texts have equal vectors. `spoil` sees every answer, `seen` every text."""

    def __init__(self, spoil: Spoil | None = None, dimension: int = DIMENSION) -> None:
        self.spoil = spoil
        self.dimension = dimension
        self.max_tokens = None
        self.seen: list[str] = []

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("embedder", "test/letters", details={"dimension": self.dimension})

    def embed(self, texts: Sequence[str], kind: TextKind, *, on_progress: Progress | None = None) -> Embedded:
        self.seen += texts
        vectors = np.stack([self.vector(text) for text in texts])
        if on_progress is not None:
            on_progress(len(texts), len(texts))
        return Embedded(vectors if self.spoil is None else self.spoil(vectors, texts))

    def vector(self, text: str) -> Vectors:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        made = np.random.default_rng(seed).standard_normal(self.dimension).astype(np.float32)
        return np.asarray(made / np.linalg.norm(made), dtype=np.float32)


def models(embedder: Letters, cache: Path | None, program: Program) -> Models:
    """The embedder as the command line would have opened it: checked, and remembered on disk."""
    return Models(program.models, {}, cache=cache, secret=lambda reference: reference, given={"letters": embedder})


def dense_program(name: str, *, views: Mapping[str, Any] | None = None, spec: Mapping[str, Any] = SPEC) -> Program:
    """A primary view with both legs, and one of sections with a dense leg alone."""
    text = {"analyzer": "english"}
    made: dict[str, Any] = {
        "content": {
            "lexical": {"fields": {"title": text, "body": text}},
            "dense": {"model": "letters", "text": ["title", "body"]},
        },
        "sections": {
            "steps": [{"op": "slice", "unit": "headings"}],
            "dense": {"model": "letters", "text": ["body"], "hnsw": {"m": 8, "ef_construction": 64}},
        },
    }
    value = {
        "schema": "idxopt/1",
        "name": name,
        "source": {"fields": {"title": "title", "body": "text"}, "metadata": {"lang": "keyword"}, "markup": "markdown"},
        "models": {"letters": dict(spec)},
        "views": made if views is None else dict(views),
    }
    return program_from(value, "test")


def nearest(
    engine: Engine, program: Program, view: str, index: str, vector: Vectors, k: int, **body: Any
) -> list[tuple[str, float]]:
    """(row id, score) of one dense leg."""
    dense = dense_text(program, view)
    leg = Leg(f"{view}.dense", view, "dense", index, {}, {}, 1.0, False, 1.0, view == program.primary, dense)
    asked = SearchRequest(index, knn_body(leg, vector.astype(float).tolist(), k=k, size=k, **body))
    [response] = engine.search([asked])
    assert response.error is None, response.error
    return [(hit.id, hit.score) for hit in response.hits]


def stored_vectors(engine: Engine, index: str) -> dict[str, list[float] | None]:
    """The vectors of an index by row id, as float32."""
    found = {row.id: row.source["idxopt"].get("vector") for row in engine.scan(index)}
    return {
        id: None if vector is None else np.asarray(vector, dtype=np.float32).tolist() for id, vector in found.items()
    }


def spec_of(program: Program) -> ModelSpec:
    return program.models["letters"]


def failing(error: ModelError, at: str) -> Spoil:
    """Fails on the batch that has a text with `at` in it."""

    def spoil(vectors: Vectors, texts: Sequence[str]) -> Vectors:
        if any(at in text for text in texts):
            raise error
        return vectors

    return spoil


def overwriting(value: float, at: str) -> Spoil:
    """The vector of every text with `at` in it is `value` throughout."""

    def spoil(vectors: Vectors, texts: Sequence[str]) -> Vectors:
        made = vectors.copy()
        for number, text in enumerate(texts):
            if at in text:
                made[number] = value
        return made

    return spoil
