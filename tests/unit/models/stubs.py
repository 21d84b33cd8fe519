"""Embedders made in Python whose answers a test decides."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from idxopt.models.ports import Embedded, ModelIdentity, Progress, TextKind, Vectors

DIMENSION = 8


def vector_of(text: str) -> Vectors:
    """A vector of length 1 that depends on the text alone."""
    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    vector = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


class StubEmbedder:
    """Counts what it is asked. `spoil` changes the vectors of a call before they are returned."""

    def __init__(self, *, id: str = "stub", spoil: Callable[[list[str], list[Any]], Any] | None = None) -> None:
        self.asked: list[str] = []
        self.kinds: list[TextKind] = []
        self.spoil = spoil
        self.closed = False
        self._id = id

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("embedder", self._id)

    @property
    def dimension(self) -> int:
        return DIMENSION

    @property
    def max_tokens(self) -> int | None:
        return 16

    def embed(self, texts: Sequence[str], kind: TextKind, *, on_progress: Progress | None = None) -> Embedded:
        self.asked += texts
        self.kinds.append(kind)
        vectors: Any = [vector_of(text) for text in texts]
        vectors = np.stack(vectors) if self.spoil is None else self.spoil(list(texts), vectors)
        lengths = tuple(len(text.split()) for text in texts)
        return Embedded(vectors, lengths, tuple(at for at, length in enumerate(lengths) if length > 16))

    def close(self) -> None:
        self.closed = True
