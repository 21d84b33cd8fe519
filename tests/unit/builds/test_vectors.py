"""Vectors on their way to the engine: order, batches, empty texts, exact numbers, and answers that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from idxopt.builds.vectors import as_numbers, embedded_text, with_vectors
from idxopt.compiler.lowered import DenseText
from idxopt.errors import ModelError
from idxopt.models.ports import Embedded, ModelIdentity, Progress, TextKind
from idxopt.operators.row import StoredRow, row_digest, vector_of

DENSE = DenseText("e", 2, "dot", ("title", "meta.sub", "idxopt.terms"), "idxopt.vector")


class Lengths:
    """(characters, 1) of each text; remembers its batches."""

    def __init__(self) -> None:
        self.identity = ModelIdentity("embedder", "test/lengths")
        self.dimension = 2
        self.max_tokens = None
        self.batches: list[list[str]] = []

    def embed(self, texts: Sequence[str], kind: TextKind, *, on_progress: Progress | None = None) -> Embedded:
        assert kind == "passage"
        self.batches.append(list(texts))
        if on_progress is not None:
            on_progress(1, len(texts))
        cut = tuple(number for number, text in enumerate(texts) if len(text) > 100)
        return Embedded(np.array([[len(text), 1] for text in texts], dtype=np.float32), truncated=cut)


def row(number: int, title: Any = "t", terms: Any = "") -> StoredRow:
    body = {"title": title, "meta": {"sub": None}, "idxopt": {"doc_id": f"d{number}", "terms": terms}}
    return StoredRow(f"d{number}", f"d{number}", body)


@pytest.mark.parametrize(
    ("title", "terms", "text"),
    [("a", "b", "a\nb"), ("", "b", "b"), (" \n", "b", "b"), (["x", "y"], None, "x\ny"), ("", "", ""), (7, "", "7")],
)
def test_fields_are_joined_by_line_feeds_and_empty_ones_left_out(title: Any, terms: Any, text: str) -> None:
    assert embedded_text(row(0, title, terms).body, DENSE) == text


def test_rows_keep_their_order_and_those_without_text_have_no_vector() -> None:
    embedder, told = Lengths(), list[int]()
    rows = [row(number, "x" * (number % 3)) for number in range(8)]
    made = list(with_vectors(iter(rows), DENSE, embedder, batch=3, on_progress=told.append))
    assert [one.id for one in made] == [one.id for one in rows]
    assert [vector_of(one.body) for one in made] == [None if n % 3 == 0 else [float(n % 3), 1.0] for n in range(8)]
    assert [len(batch) for batch in embedder.batches] == [2, 2, 1]
    assert told == [1, 3, 4, 6, 7, 8]
    assert "vector" not in rows[1].body["idxopt"]
    assert row_digest(made[1].body) == row_digest(rows[1].body)


def test_texts_that_the_model_cut_are_counted() -> None:
    cut: list[int] = []
    rows = [row(number, "x" * length) for number, length in enumerate([5, 101, 200, 5, 5, 300])]
    assert len(list(with_vectors(rows, DENSE, Lengths(), batch=3, on_cut=cut.append))) == 6
    assert cut == [2, 1]


def test_a_batch_is_taken_only_when_the_one_before_is_gone() -> None:
    taken: list[int] = []

    def source() -> Iterator[StoredRow]:
        for number in range(10):
            taken.append(number)
            yield row(number)

    made = with_vectors(source(), DENSE, Lengths(), batch=4)
    next(made)
    assert taken == [0, 1, 2, 3]


def test_long_rows_make_small_batches() -> None:
    embedder = Lengths()
    list(with_vectors((row(number, "x" * 1_500_000) for number in range(7)), DENSE, embedder))
    assert [len(batch) for batch in embedder.batches] == [3, 3, 1]


@given(arrays(np.float32, (3, 5), elements=st.floats(width=32, allow_nan=False, allow_infinity=False)))
def test_numbers_read_back_as_the_same_float32_whatever_reads_them(vectors: Any) -> None:
    text = orjson.dumps(as_numbers(vectors))
    assert np.array_equal(np.array(orjson.loads(text), dtype=np.float32), vectors)


def test_numbers_are_as_short_as_a_float32_can_be() -> None:
    assert orjson.dumps(as_numbers(np.array([[0.1, -1 / 3]], dtype=np.float32))) == b"[[0.1,-0.33333334]]"


class Answers(Lengths):
    """Answers whatever it is told to."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def embed(self, texts: Sequence[str], kind: TextKind, *, on_progress: Progress | None = None) -> Embedded:
        if isinstance(self.answer, Exception):
            raise self.answer
        return Embedded(np.array(self.answer, dtype=np.float32))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[1, 2], [float("nan"), 1]], "row d2: its vector is all zeros or not finite"),
        ([[1, 2], [1, float("-inf")]], "row d2: its vector"),
        ([[0, 0], [1, 1]], "row d0: its vector"),
        ([[1, 2]], "1 vectors of 2 numbers for 2 texts"),
        ([[1, 2, 3], [1, 2, 3]], "2 vectors of 3 numbers for 2 texts; the program says dimension 2"),
        ([1, 2], "no table of vectors"),
        (ModelError("is not finite", item=1, place="models.x"), "row d2: is not finite"),
        (ModelError("the server is down", place="models.x"), "^models.x: the server is down"),
    ],
)
def test_h22_a_row_to_blame_is_named_and_nothing_of_the_batch_goes_on(answer: Any, message: str) -> None:
    made = with_vectors([row(0), row(1, ""), row(2)], DENSE, Answers(answer))
    with pytest.raises(ModelError, match=message):
        next(made)
