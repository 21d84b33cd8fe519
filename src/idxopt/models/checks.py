"""What no provider may get away with: missing or spare answers, numbers that are not finite, zero vectors, another
dimension than the program's. One wrapper checks every provider, so that a new one cannot forget it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from idxopt.errors import ModelError
from idxopt.models.ports import Embedded, Embedder, ModelIdentity, Progress, Reranker, Similarity, TextKind, Vectors


def usable_vectors(
    vectors: object, *, texts: int, dimension: int | None, similarity: Similarity, place: str
) -> Vectors:
    """The vectors as float32, of length 1 for cosine. `vectors`: an array, or a list of lists of numbers.

    Raises ModelError naming the first text with a bad vector. Lengths are summed in float64 row by row, so that a
    vector's bits do not depend on the rows around it.
    """
    given: Any = vectors if isinstance(vectors, np.ndarray | Sequence) else ()
    count = len(given)
    if count != texts:
        raise ModelError(
            f"{count} vectors came back for {texts} texts", place=place, remedy="check the model and its server"
        )
    if count == 0:
        return np.zeros((0, dimension or 0), np.float32)
    rows = _array(given, place)
    if dimension is not None and rows.shape[1] != dimension:
        raise _other_dimension(0, rows.shape[1], dimension, place)
    lengths = np.sqrt(np.sum(rows.astype(np.float64) ** 2, axis=1))
    for item in np.flatnonzero(~np.isfinite(lengths) | (lengths == 0.0)):
        what = "is all zeros" if lengths[item] == 0.0 else "is not finite"
        raise _bad(f"the vector of text {item} {what}", int(item), place)
    return (rows / lengths[:, None]).astype(np.float32) if similarity == "cosine" else rows


def usable_scores(scores: Sequence[Any], *, texts: int, place: str) -> list[float]:
    """The scores as floats. Raises ModelError naming the first text without a finite one."""
    if len(scores) != texts:
        raise ModelError(
            f"{len(scores)} scores came back for {texts} texts", place=place, remedy="check the model and its server"
        )
    for item, score in enumerate(scores):
        if isinstance(score, bool) or not isinstance(score, int | float | np.number) or not np.isfinite(float(score)):
            raise _bad(f"the score of text {item} is no finite number", item, place)
    return [float(score) for score in scores]


def _array(vectors: Any, place: str) -> Vectors:
    """Shape (texts, dimension), whatever the provider's form was."""
    if isinstance(vectors, np.ndarray) and vectors.ndim == 2 and vectors.dtype.kind == "f":
        return np.ascontiguousarray(vectors, dtype=np.float32)
    rows: list[Vectors] = []
    for item, row in enumerate(vectors):
        try:
            with np.errstate(over="ignore"):  # it becomes infinite, and is refused as such
                vector = np.asarray(row, dtype=np.float32)
        except (TypeError, ValueError):
            raise _bad(f"the vector of text {item} is no list of numbers", item, place) from None
        if vector.ndim != 1:
            raise _bad(f"the vector of text {item} is no list of numbers", item, place)
        if rows and len(vector) != len(rows[0]):
            raise _other_dimension(item, len(vector), len(rows[0]), place)
        rows.append(vector)
    return np.stack(rows)


def _other_dimension(item: int, found: int, wanted: int, place: str) -> ModelError:
    return ModelError(
        f"the vector of text {item} has {found} dimensions, not {wanted}",
        place=place,
        item=item,
        remedy="name another model, or correct `dimension` of the model in the program",
    )


def _bad(message: str, item: int, place: str) -> ModelError:
    return ModelError(message, place=place, item=item, remedy="check the model; nothing of this batch was kept")


def with_item(error: ModelError, item: int) -> ModelError:
    """The same error with the text's position in the caller's list, in the sentence too."""
    message = error.message.replace(f"text {error.item}", f"text {item}")
    return ModelError(message, remedy=error.remedy, place=error.place, item=item)


class CheckedEmbedder:
    """An embedder whose answers were looked at."""

    def __init__(self, inner: Embedder, *, dimension: int | None, similarity: Similarity, place: str) -> None:
        self._inner = inner
        self._dimension = dimension
        self._similarity = similarity
        self._place = place

    @property
    def identity(self) -> ModelIdentity:
        return self._inner.identity

    @property
    def dimension(self) -> int:
        return self._dimension if self._dimension is not None else self._inner.dimension

    @property
    def max_tokens(self) -> int | None:
        return self._inner.max_tokens

    @property
    def device(self) -> str | None:
        """Where a local model runs; None where the provider does not say."""
        return getattr(self._inner, "device", None)

    def embed(self, texts: Sequence[str], kind: TextKind, *, on_progress: Progress | None = None) -> Embedded:
        """As the embedder gives them; vectors of length 1 for cosine. Raises ModelError."""
        found = self._inner.embed(texts, kind, on_progress=on_progress)
        vectors = usable_vectors(
            found.vectors,
            texts=len(texts),
            dimension=self._dimension,
            similarity=self._similarity,
            place=self._place,
        )
        return Embedded(vectors, found.tokens, found.truncated)


class CheckedReranker:
    """A reranker whose scores were looked at."""

    def __init__(self, inner: Reranker, *, place: str) -> None:
        self._inner = inner
        self._place = place

    @property
    def identity(self) -> ModelIdentity:
        return self._inner.identity

    @property
    def max_tokens(self) -> int | None:
        return self._inner.max_tokens

    @property
    def device(self) -> str | None:
        """Where a local model runs; None where the provider does not say."""
        return getattr(self._inner, "device", None)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One finite score a text. Raises ModelError."""
        return usable_scores(self._inner.score(query, texts), texts=len(texts), place=self._place)
