"""Rows get their vectors on the way from the interpreter to the engine: in batches, in order, in constant memory.

Nothing of a batch goes on when one of its vectors cannot be used, so that a row is never stored with a vector that is
missing, or made up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import orjson

from idxopt.compiler.lowered import DenseText
from idxopt.errors import ModelError
from idxopt.models.ports import Embedded, Embedder, Vectors
from idxopt.operators.paths import value_at
from idxopt.operators.row import StoredRow, text_of

BATCH_CHARACTERS = 4_000_000
"""A batch ends here too, however few rows it has: rows may be whole books."""


def embedded_text(body: Mapping[str, Any], dense: DenseText) -> str:
    """What is embedded of a stored row: its fields in order, empty ones left out, joined by a line feed."""
    parts = (text_of(value_at(body, path)) for path in dense.texts)
    return "\n".join(part for part in parts if part.strip())


def with_vectors(
    rows: Iterable[StoredRow],
    dense: DenseText,
    embedder: Embedder,
    *,
    batch: int = 256,
    on_progress: Callable[[int], None] | None = None,
    on_cut: Callable[[int], None] | None = None,
) -> Iterator[StoredRow]:
    """The rows with `idxopt.vector`, in the same order; a row without text stays without a vector.

    `on_progress` gets the number of rows done, `on_cut` how many texts of a batch were longer than the model reads.
    Raises ModelError (names the row where one is to blame) before any row of that batch was handed on.
    """
    done = 0
    for some in _batches(rows, dense, batch):
        told = None if on_progress is None else _told(on_progress, done)
        made, cut = _embedded(some, dense, embedder, told)
        if cut and on_cut is not None:
            on_cut(cut)
        done += len(made)
        if on_progress is not None:
            on_progress(done)
        yield from made


def as_numbers(vectors: Vectors) -> list[list[float]]:
    """Vectors as JSON numbers of the fewest digits that name each float32 (about ten bytes a number)."""
    text = orjson.dumps(np.ascontiguousarray(vectors, dtype=np.float32), option=orjson.OPT_SERIALIZE_NUMPY)
    return cast("list[list[float]]", orjson.loads(text))


_Pair = tuple[StoredRow, str]


def _batches(rows: Iterable[StoredRow], dense: DenseText, batch: int) -> Iterator[list[_Pair]]:
    some: list[_Pair] = []
    size = 0
    for row in rows:
        text = embedded_text(row.body, dense)
        some.append((row, text))
        size += len(text)
        if len(some) >= batch or size >= BATCH_CHARACTERS:
            yield some
            some, size = [], 0
    if some:
        yield some


def _told(on_progress: Callable[[int], None], done: int) -> Callable[[int, int], None]:
    return lambda of_batch, _: on_progress(done + of_batch)


def _embedded(
    some: Sequence[_Pair], dense: DenseText, embedder: Embedder, told: Callable[[int, int], None] | None
) -> tuple[list[StoredRow], int]:
    """The rows of a batch, and how many of their texts were cut."""
    numbered = [(number, text) for number, (_, text) in enumerate(some) if text]
    rows = [row for row, _ in some]
    if not numbered:
        return rows, 0
    found = _checked([text for _, text in numbered], [rows[number].id for number, _ in numbered], dense, embedder, told)
    for (number, _), vector in zip(numbered, as_numbers(found.vectors), strict=True):
        body = rows[number].body
        rows[number] = replace(rows[number], body={**body, "idxopt": {**body["idxopt"], "vector": vector}})
    return rows, len(found.truncated)


def _checked(
    texts: Sequence[str],
    ids: Sequence[str],
    dense: DenseText,
    embedder: Embedder,
    told: Callable[[int, int], None] | None,
) -> Embedded:
    """The vectors, looked at whatever the embedder promises: this is the last place before they are stored."""
    place = f"models.{dense.model}"
    try:
        found = embedder.embed(texts, "passage", on_progress=told)
    except ModelError as error:
        if error.item is None or not 0 <= error.item < len(ids):
            raise
        raise ModelError(
            f"row {ids[error.item]}: {error.message}", remedy=error.remedy, place=error.place, item=error.item
        ) from error
    vectors = found.vectors
    if vectors.shape != (len(texts), dense.dimension):
        raise ModelError(
            f"the model gave {_shape(vectors)} for {len(texts)} texts; the program says dimension {dense.dimension}",
            remedy="name the model that the program was written for, or correct its dimension",
            place=place,
        )
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1) | ~vectors.any(axis=1))
    if bad.size:
        item = int(bad[0])
        raise ModelError(
            f"row {ids[item]}: its vector is all zeros or not finite",
            remedy="check the model; nothing of this batch was stored",
            place=place,
            item=item,
        )
    return found


def _shape(vectors: Vectors) -> str:
    return f"{len(vectors)} vectors of {vectors.shape[1]} numbers" if vectors.ndim == 2 else "no table of vectors"
