"""Models made in Python for the sidecar's tests: what a real one only does when it is short of memory or broken.

Vectors say which text they are of (its length and the sum of its code points), so that a wrong order shows.
"""

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from idxopt.errors import ModelError
from idxopt.models.ports import Embedded, ModelIdentity, Progress, TextKind, Vectors

DIMENSION = 4


def vector_of(text: str) -> Vectors:
    return np.asarray([len(text) + 1, sum(map(ord, text)) % 9973 + 1, ord(text[0]) if text else 1, 1], np.float32)


class Words:
    """A tokenizer: a token a word."""

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def spans(self, text: str) -> list[tuple[int, int]]:
        raise AssertionError("the sidecar only counts")


class FakeEmbedder:
    """`fault(texts)` may raise or sleep before the vectors are made; `spoil(texts, vectors)` may change them."""

    def __init__(
        self,
        *,
        max_tokens: int | None = 32,
        fault: Callable[[Sequence[str]], None] = lambda _texts: None,
        spoil: Callable[[Sequence[str], Vectors], Vectors] = lambda _texts, vectors: vectors,
    ) -> None:
        self.identity = ModelIdentity("embedder", "fake", "r1")
        self.dimension = DIMENSION
        self.max_tokens = max_tokens
        self.calls: list[list[str]] = []
        self.kinds: list[TextKind] = []
        self._fault = fault
        self._spoil = spoil

    def embed(self, texts: Sequence[str], kind: TextKind, *, on_progress: Progress | None = None) -> Embedded:
        self.calls.append(list(texts))
        self.kinds.append(kind)
        self._fault(texts)
        counts = [len(text.split()) + 2 for text in texts]
        limit = self.max_tokens or max(counts)
        vectors = np.stack([vector_of(text) for text in texts])
        return Embedded(
            self._spoil(texts, vectors),
            tuple(min(count, limit) for count in counts),
            tuple(index for index, count in enumerate(counts) if count > limit),
        )


class FakeReranker:
    """Scores a text by how many of the query's words it has."""

    def __init__(self, *, max_tokens: int | None = 64) -> None:
        self.identity = ModelIdentity("reranker", "fake-reranker")
        self.max_tokens = max_tokens
        self.calls: list[tuple[str, int]] = []

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.calls.append((query, len(texts)))
        words = query.split()
        return [sum(word in text.split() for word in words) for text in texts]


def no_memory_above(size: int) -> Callable[[Sequence[str]], None]:
    """A fault: batches of more texts than this do not fit."""

    def fault(texts: Sequence[str]) -> None:
        if len(texts) > size:
            raise MemoryError

    return fault


def no_memory_for(word: str) -> Callable[[Sequence[str]], None]:
    """A fault: a text with this word never fits, wrapped as a provider wraps it."""

    def fault(texts: Sequence[str]) -> None:
        if any(word in text for text in texts):
            raise ModelError("the model failed") from MemoryError()

    return fault


class Slow:
    """A fault that holds every call until it is let go (or for `seconds`)."""

    def __init__(self, seconds: float = 20.0) -> None:
        self.started = threading.Event()
        self.free = threading.Event()
        self._seconds = seconds

    def __call__(self, _texts: Sequence[str]) -> None:
        self.started.set()
        self.free.wait(self._seconds)


def pause(seconds: float) -> Callable[[Sequence[str]], None]:
    def fault(_texts: Sequence[str]) -> None:
        time.sleep(seconds)

    return fault
