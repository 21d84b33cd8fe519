"""Ranking, paging, collapsing and errors of searches, the same on every engine."""

import math
from typing import Any

import pytest

from idxopt.engines.port import Engine, IndexState, LoadRow, SearchRequest
from idxopt.errors import Rejected
from tests.contract.library import TIES, ask, book, filtered, most_fields, scored


def _bm25(frequency: int, length: int, average: float, documents: int, having: int, k1: float, b: float) -> float:
    idf = math.log(1 + (documents - having + 0.5) / (having + 0.5))
    return idf * frequency / (frequency + k1 * (1 - b + b * length / average))


def test_scores_are_weighted_sums_of_bm25(engine: Engine, empty: IndexState) -> None:
    rows = [
        LoadRow("1", book("1", title="river", text="a river and rivers")),
        LoadRow("2", book("2", title="stone valley", text="valley")),
        LoadRow("3", book("3", text="stone stone river")),
    ]
    engine.load(empty.name, empty.uuid, rows)
    engine.refresh(empty.name)
    hits = ask(engine, empty.name, scored("rivers", "title^2.0", "text^0.5")).hits
    title = _bm25(1, 1, 1.5, 2, 1, 1.2, 0.75)
    texts = [_bm25(2, 2, 2.0, 3, 2, 0.9, 0.4), _bm25(1, 3, 2.0, 3, 2, 0.9, 0.4)]
    factors = (2.2, 1.9) if engine.capabilities().bm25_factor else (1.0, 1.0)
    assert [hit.id for hit in hits] == ["1", "3"]
    assert hits[0].score == pytest.approx(2 * title * factors[0] + 0.5 * texts[0] * factors[1], rel=1e-6)
    assert hits[1].score == pytest.approx(0.5 * texts[1] * factors[1], rel=1e-6)
    assert hits[0].sort == (pytest.approx(hits[0].score), "1")
    twice = ask(engine, empty.name, scored("rivers river", "title^2.0", "text^0.5")).hits
    assert twice[0].score == pytest.approx(2 * hits[0].score, rel=1e-6)


def test_ties_go_by_document_id_in_utf8_order(engine: Engine, empty: IndexState) -> None:
    names = ["b", "a", "ä", "\U0001f30a", "\uffee", "B", "a-1", "10", "9"]
    engine.load(empty.name, empty.uuid, [LoadRow(f"{n}#0", book(n, title="river")) for n in names])
    engine.refresh(empty.name)
    hits = ask(engine, empty.name, scored("river", "title", size=100)).hits
    assert [hit.sort[1] for hit in hits] == sorted(names, key=str.encode)
    page = ask(engine, empty.name, {**scored("river", "title", size=4), "from": 3}).hits
    assert page == hits[3:7]


def test_one_row_a_document(engine: Engine, empty: IndexState) -> None:
    rows = [LoadRow(f"{doc}#{n}", book(doc, n, title="river " * (n + 1))) for doc in "cba" for n in range(3)]
    engine.load(empty.name, empty.uuid, [*rows, LoadRow("x", {"title": "river"}), LoadRow("y", {"title": "river"})])
    engine.refresh(empty.name)
    body = scored("river", "title", collapse={"field": "idxopt.doc_id"}, track_total_hits=True)
    response = ask(engine, empty.name, body)
    assert [hit.sort[1] for hit in response.hits] == ["a", "b", "c", None]
    assert len({hit.id[-1] for hit in response.hits[:3]}) == 1
    assert (response.total, response.total_exact) == (11, True)
    assert ask(engine, empty.name, {**body, "from": 1, "size": 1}).hits == response.hits[1:2]


def test_pages_neither_repeat_nor_skip(engine: Engine, empty: IndexState) -> None:
    engine.load(
        empty.name, empty.uuid, [LoadRow(f"{n}", book(f"{n}", title="river stone"[: 5 + n])) for n in range(10)]
    )
    engine.refresh(empty.name)
    whole = ask(engine, empty.name, scored("river", "title", size=10)).hits
    pages = [
        ask(engine, empty.name, {**scored("river", "title", size=4, track_total_hits=True), "from": start})
        for start in (0, 4, 8, 12)
    ]
    assert [len(page.hits) for page in pages] == [4, 4, 2, 0]
    assert tuple(hit for page in pages for hit in page.hits) == whole
    assert {page.total for page in pages} == {10}


def test_totals(engine: Engine, library: str) -> None:
    assert ask(engine, library, filtered({"match_all": {}}, size=2, track_total_hits=True)).total == 7
    bounded = ask(engine, library, filtered({"match_all": {}}, size=1, track_total_hits=3))
    assert bounded.total == 3
    assert not bounded.total_exact
    uncounted = ask(engine, library, filtered({"match_all": {}}, size=2, track_total_hits=False))
    assert (uncounted.total, uncounted.total_exact, len(uncounted.hits)) == (2, False, 2)
    assert ask(engine, library, filtered({"match_all": {}}, size=0, track_total_hits=True)).hits == ()


def test_sources(engine: Engine, library: str) -> None:
    def source(selected: Any) -> Any:
        [hit] = ask(engine, library, filtered({"ids": {"values": ["b#0"]}}, _source=selected)).hits
        return hit.source

    assert source(False) == {}
    assert source(True)["raw"] == {"anything": [1, {"deep": None}], "year": "no number"}
    assert source(["lang", "idxopt.doc_id"]) == {"lang": "en", "idxopt": {"doc_id": "b"}}
    assert source(["author", "idxopt.*"]) == {
        "author": {"name": "Ana", "born": "1970-05-01"},
        "idxopt": {"doc_id": "b", "row": 0},
    }
    assert source(["absent"]) == {}


def test_constant_scores(engine: Engine, library: str) -> None:
    every = ask(engine, library, {"query": {"match_all": {}}, "size": 100, "_source": False}).hits
    assert {hit.score for hit in every} == {1.0}
    assert len(every) == 7
    assert {hit.score for hit in ask(engine, library, filtered({"term": {"lang": "en"}})).hits} == {0.0}
    must = {"bool": {"must": [{"match_all": {}}], "filter": [{"term": {"lang": "en"}}]}}
    assert {hit.score for hit in ask(engine, library, {"query": must, "sort": TIES}).hits} == {1.0}


def test_a_filter_narrows_and_does_not_score(engine: Engine, library: str) -> None:
    free = {hit.id: hit.score for hit in ask(engine, library, scored("river", "title", "text")).hits}
    query = {"bool": {"must": [most_fields("river", "title", "text")], "filter": [{"term": {"lang": "en"}}]}}
    narrowed = {hit.id: hit.score for hit in ask(engine, library, {"query": query, "sort": TIES}).hits}
    assert narrowed == {"b#0": pytest.approx(free["b#0"])}
    least = sorted(free.values())[1]
    assert len(ask(engine, library, scored("river", "title", "text", min_score=least * 0.999)).hits) == len(free) - 1


def test_a_query_without_terms_finds_nothing(engine: Engine, library: str) -> None:
    for text in ("", "the of", "?!", "zzz"):
        assert ask(engine, library, scored(text, "title", "text")).hits == ()
    assert ask(engine, library, scored("river", "absent")).hits == ()
    assert ask(engine, library, scored("river", "absent", "title")).hits != ()


def test_a_weight_of_zero_still_matches(engine: Engine, library: str) -> None:
    hits = ask(engine, library, scored("valley", "title^0.0")).hits
    assert [(hit.id, hit.score) for hit in hits] == [("c#0", 0.0)]


def test_answers_come_in_the_order_asked(engine: Engine, library: str, prefix: str) -> None:
    first, gone, last = engine.search(
        [
            SearchRequest(library, scored("wasser", "title")),
            SearchRequest(f"{prefix}--absent", scored("river", "title")),
            SearchRequest(library, scored("deserts", "title")),
        ]
    )
    assert [hit.id for hit in first.hits] == ["ä#0"]
    assert (gone.gone, gone.hits) == (True, ())
    assert gone.error
    assert [hit.id for hit in last.hits] == ["b#1"]
    assert engine.search([]) == []


@pytest.mark.parametrize(
    "body",
    [
        {"no_such_key": 1},
        {"query": {"no_such_query": {}}},
        {"query": {"bool": {"filtre": []}}},
        {"query": {"multi_match": {"query": "x", "type": "most_fields", "fields": ["title"], "no_such": 1}}},
        {"query": {"bool": {"filter": [{"term": {"lang": "en", "year": 1}}]}}},
        {"query": {"bool": {"filter": [{"range": {"year": {"above": 1}}}]}}},
        {"query": {"bool": {"filter": [{"terms": {"lang": "en"}}]}}},
        {"query": {"bool": {"filter": [{"exists": {"fields": "lang"}}]}}},
        {"query": {"match_all": {}}, "size": -1},
        {"query": {"match_all": {}}, "collapse": {"fields": "lang"}},
    ],
)
def test_what_is_not_understood_is_refused(engine: Engine, library: str, body: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        engine.search([SearchRequest(library, scored("river", "title")), SearchRequest(library, body)])


@pytest.mark.parametrize(
    "body",
    [
        filtered({"term": {"year": "no year"}}),
        filtered({"term": {"year": 2**40}}),
        filtered({"term": {"year": True}}),
        filtered({"term": {"open": 1}}),
        filtered({"term": {"price": "x"}}),
        filtered({"range": {"year": {"gte": -(2**40)}}}),
        filtered({"range": {"big": {"lt": 2**70}}}),
        filtered({"range": {"seen": {"gte": "yesterday"}}}),
        filtered({"term": {"open": "yes"}}),
        {"query": {"match_all": {}}, "collapse": {"field": "title"}},
        {"query": {"match_all": {}}, "size": 10_001},
        scored(" ".join(f"w{n}" for n in range(1025)), "title"),
    ],
)
def test_what_does_not_fit_the_mapping_fails_that_search_alone(
    engine: Engine, library: str, body: dict[str, Any]
) -> None:
    good, bad = engine.search([SearchRequest(library, scored("river", "title")), SearchRequest(library, body)])
    assert good.error is None
    assert bad.error
    assert (bad.hits, bad.gone) == ((), False)


def test_document_frequencies(engine: Engine, library: str) -> None:
    assert engine.document_frequencies(library, "text", "The rivers of valleys, zebra") == {
        "river": 3,
        "vallei": 4,
        "zebra": 0,
    }
    assert engine.document_frequencies(library, "exact", "Wasser") == {"wasser": 1}
