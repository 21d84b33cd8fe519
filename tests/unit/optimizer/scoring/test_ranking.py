"""Lists and fusion as arrays give what is written down more simply elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.optimizer.scoring.fields import _MATCHED, Matrix
from idxopt.optimizer.scoring.fusing import fused
from idxopt.optimizer.scoring.ranking import RankedList, Scored, ranked
from idxopt.optimizer.scoring.texts import RowSet
from idxopt.program.schema import Fusion
from idxopt.search.fusion import LegList, fuse

SCORES = st.sampled_from([0.0, 0.0, _MATCHED, 0.5, 1.0, 1.0 + 1e-12, 2.5, 1e-30])


@st.composite
def scored(draw: st.DrawFn) -> tuple[list[Scored], list[int], int]:
    """Parts, some of them the same in several rows; the document of each row; a window."""
    documents = sorted(draw(st.lists(st.integers(0, 8), min_size=1, max_size=12)))
    by_document = [documents.count(document) for document in sorted(set(documents))]
    ones = [1] * len(documents)
    queries = draw(st.integers(1, 4))
    parts = []
    for times in draw(st.lists(st.sampled_from([None, ones, by_document]), min_size=1, max_size=4)):
        texts = len(documents if times is None else times)
        lines = st.lists(st.lists(SCORES, min_size=texts, max_size=texts), min_size=queries, max_size=queries)
        parts.append(Scored(Matrix(np.array(draw(lines))), None if times is None else np.array(times)))
    return parts, documents, draw(st.integers(1, 6))


def simple(parts: list[Scored], documents: list[int], window: int, query: int) -> list[tuple[int, float]]:
    by_row = [
        np.repeat(part.scores.toarray()[query], 1 if part.times is None else part.times).tolist() for part in parts
    ]
    best: dict[int, np.float32] = {}
    for row, document in enumerate(documents):
        total = np.float64(0)
        for values in by_row:
            total += values[row]
        if total > 0:
            best[document] = max(best.get(document, np.float32(0)), np.float32(total))
    return [(document, float(best[document])) for document in sorted(best, key=lambda one: (-best[one], one))][:window]


@given(scored())
def test_lists_are_those_of_a_loop_over_rows(found):
    parts, documents, window = found
    for query, one in enumerate(ranked(parts, RowSet("", np.array(documents)), window)):
        assert [*zip(one.documents.tolist(), one.scores.tolist(), strict=True)] == simple(
            parts, documents, window, query
        )


@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_so_they_are_where_a_bound_leaves_most_documents_out(seed, window):
    scores = np.random.default_rng(seed).integers(0, 6, (3, 211)) / 4
    parts = [Scored(Matrix(scores))]
    for query, one in enumerate(ranked(parts, RowSet("", np.arange(211)), window)):
        assert [*zip(one.documents.tolist(), one.scores.tolist(), strict=True)] == simple(
            parts, [*range(211)], window, query
        )


LISTS = st.lists(
    st.tuples(
        st.sampled_from([1.0, 0.3, 2.5]),
        st.lists(st.tuples(st.integers(0, 9), st.sampled_from([3.0, 2.0, 1.5, 0.1])), unique_by=lambda one: one[0]),
    ),
    min_size=1,
    max_size=4,
)
FUSIONS = [
    Fusion(method="rrf", k=60),
    Fusion(method="rrf", k=1),
    Fusion(method="weighted_sum", normalize="none"),
    Fusion(method="weighted_sum", normalize="min_max"),
]


@pytest.mark.parametrize("fusion", FUSIONS, ids=["rrf 60", "rrf 1", "sum", "min_max"])
@given(found=LISTS)
def test_fusion_of_arrays_is_the_fusion_of_searches(fusion, found):
    ids = ["b", "c", "a", "\uffee", "\U0001f600", "z", "y", "10", "9", "d"]
    order = np.argsort(np.argsort(np.array(ids, dtype=object)))
    legs = [
        LegList(str(number), weight, sorted(((ids[one], score) for one, score in documents), key=lambda each: -each[1]))
        for number, (weight, documents) in enumerate(found)
    ]
    lists = [
        (leg.weight, RankedList(np.array([ids.index(one) for one, _ in leg.documents], dtype=np.int64),
                                np.array([score for _, score in leg.documents], dtype=np.float64)))
        for leg in legs
    ]  # fmt: skip
    expected = [one.doc_id for one in fuse(legs, fusion)]
    assert [ids[number] for number in fused(lists, fusion, order).tolist()] == expected
