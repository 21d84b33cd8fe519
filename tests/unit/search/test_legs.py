"""How a kNN leg over many rows asks for more of them, by definition: rows in order of nearness, k of them at a time."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from idxopt.compiler.lowered import DenseText, Leg
from idxopt.engines.port import MAX_K, Hit, SearchRequest, SearchResponse
from idxopt.search.legs import Prepared, documents, grown

TEXT = DenseText("any", 2, "cosine", ("text",), "idxopt.vector")


def dense_leg(*, many_rows: bool = True) -> Leg:
    return Leg("v.dense", "v", "dense", "i", {}, {}, 1.0, many_rows, 1.0, dense=TEXT)


def answered(rows: list[str], k: int, window: int) -> SearchResponse:
    """What an engine answers: the k nearest rows, one a document, `window` documents at most."""
    best: dict[str, Hit] = {}
    for place, doc in enumerate(rows[:k]):
        score = 1.0 / (place + 1)
        best.setdefault(doc, Hit(f"{doc}#{place}", score, {}, (score, doc)))
    return SearchResponse(tuple(best.values())[:window], min(k, len(rows)))


def prepared(leg: Leg, k: int) -> Prepared:
    return Prepared((leg,), (SearchRequest("i", {}),), {}, ks={leg.key: k})


def asked_until_enough(rows: list[str], first: int, window: int) -> tuple[list[str], list[int]]:
    """The documents of the last round, and every k."""
    leg, ks = dense_leg(), [first]
    while True:
        response = answered(rows, ks[-1], window)
        more = grown(prepared(leg, ks[-1]), [response], window)
        if not more:
            return [doc for doc, _ in documents(leg, response.hits)], ks
        ks.append(more[leg.key])


@given(
    st.integers(1, 30).flatmap(lambda n: st.permutations([f"d{doc:02}" for doc in range(n)] * 20)), st.integers(1, 40)
)
def test_twenty_rows_a_document(rows: list[str], window: int) -> None:
    found, ks = asked_until_enough(rows, window, window)
    assert found == list(dict.fromkeys(rows))[:window]
    assert all(later == 2 * earlier for earlier, later in itertools.pairwise(ks))
    needed = next((n for n in range(1, len(rows) + 1) if len(set(rows[:n])) == min(window, len(set(rows)))), 1)
    if len(set(rows)) >= window:
        assert ks[-1] < max(2 * needed, window + 1)  # no round more than needed


def test_rows_of_few_documents_end_at_all_rows_and_at_the_limit() -> None:
    assert asked_until_enough(["a"] * 100, 10, 10) == (["a"], [10, 20, 40, 80, 160])
    found, ks = asked_until_enough(["a"] * (2 * MAX_K), 100, 10)
    assert found == ["a"]
    assert ks[-1] == MAX_K
    assert len(ks) == 8


def test_one_row_a_document_and_failed_legs_are_asked_once() -> None:
    short = SearchResponse((), 100)
    assert grown(prepared(dense_leg(many_rows=False), 100), [short], 100) == {}
    assert grown(prepared(dense_leg(), 100), [SearchResponse((), 0, error="timed out")], 100) == {}
    assert grown(prepared(dense_leg(), 100), [short], 100) == {"v.dense": 200}
