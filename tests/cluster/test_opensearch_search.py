"""Searches of the OpenSearch adapter on real nodes: one `_msearch`, every kind of failure seen."""

import json

import pytest

from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import LoadRow, SearchRequest
from idxopt.errors import NotFound, Rejected
from tests.faults import FaultProxy, Match, Reply

BODY = {
    "settings": {
        "index": {
            "number_of_shards": 1,
            "number_of_replicas": 0,
            "hidden": True,
            "similarity": {"s": {"type": "BM25", "k1": 1.2, "b": 0.75}},
        }
    },
    "mappings": {
        "dynamic": False,
        "properties": {
            "title": {"type": "text", "analyzer": "standard", "similarity": "s"},
            "lang": {"type": "keyword"},
            "idxopt": {
                "dynamic": "strict",
                "properties": {
                    "doc_id": {"type": "keyword"},
                    "body": {"type": "text", "analyzer": "english", "similarity": "s"},
                },
            },
        },
    },
}
SORT = [{"_score": "desc"}, {"idxopt.doc_id": {"order": "asc", "missing": "_last"}}]


@pytest.fixture
def index(cluster: OpenSearchEngine, prefix: str) -> str:
    state = cluster.create_index(f"{prefix}--a--1", BODY)
    texts = [("b", "cats and dogs", "en"), ("a", "cats and dogs", "en"), ("c", "a dog", "de")]
    rows = [
        LoadRow(f"{doc}#{row}", {"title": text, "lang": lang, "idxopt": {"doc_id": doc, "body": text}})
        for doc, text, lang in texts
        for row in (0, 1)
    ]
    cluster.load(state.name, state.uuid, rows)
    cluster.refresh(state.name)
    return state.name


def ask(index: str, text: str, **more: object) -> SearchRequest:
    match = {"multi_match": {"query": text, "type": "most_fields", "fields": ["title^2.0", "idxopt.body"]}}
    return SearchRequest(index, {"query": match, "sort": SORT, **more})


def test_answers_come_in_the_order_asked(cluster: OpenSearchEngine, index: str) -> None:
    whole, collapsed, counted = cluster.search(
        [
            ask(index, "cats", size=10, _source=False),
            ask(index, "cats", size=10, collapse={"field": "idxopt.doc_id"}, _source=["lang"]),
            ask(index, "dogs", size=1, track_total_hits=False),
        ]
    )
    assert [hit.id for hit in whole.hits] == ["a#0", "a#1", "b#0", "b#1"]
    assert (whole.total, whole.total_exact, whole.error, whole.gone) == (4, True, None, False)
    assert whole.hits[0].score > 0
    assert whole.hits[0].sort == (pytest.approx(whole.hits[0].score), "a")
    assert whole.hits[0].source == {}
    assert [hit.sort[1] for hit in collapsed.hits] == ["a", "b"]
    assert collapsed.hits[0].source == {"lang": "en"}
    assert len(counted.hits) == 1
    assert counted.total_exact is False
    assert cluster.search([]) == []


def test_a_missing_or_closed_index_is_gone(cluster: OpenSearchEngine, index: str, prefix: str) -> None:
    gone, there = cluster.search([ask(f"{prefix}--absent", "cats"), ask(index, "cats")])
    assert (gone.gone, gone.hits) == (True, ())
    assert gone.error is not None
    assert "no such index" in gone.error
    assert len(there.hits) == 4
    cluster._wire.ask("POST", f"/{index}/_close")
    (closed,) = cluster.search([ask(index, "cats")])
    assert closed.gone
    assert closed.error is not None


def test_an_error_of_one_search_is_its_own(cluster: OpenSearchEngine, index: str) -> None:
    clauses = " ".join(f"w{number}" for number in range(1025))
    bad, good = cluster.search([ask(index, clauses), ask(index, "cats")])
    assert bad.error is not None
    assert "1024" in bad.error
    assert not bad.gone
    assert len(good.hits) == 4
    with pytest.raises(Rejected, match="nosuch"):
        cluster.search([SearchRequest(index, {"query": {"nosuch": {}}})])


def test_undecodable_bytes_of_a_command_line_find_nothing(cluster: OpenSearchEngine, index: str) -> None:
    (answer,) = cluster.search([ask(index, "caf\udce9")])
    assert (answer.hits, answer.error) == ((), None)


@pytest.mark.parametrize("name", ["a*", "_all", "a,b", ""])
def test_only_physical_indices_are_searched(cluster: OpenSearchEngine, name: str) -> None:
    with pytest.raises(Rejected):
        cluster.search([SearchRequest(name, {"query": {"match_all": {}}})])


WHOLE = {"total": 1, "successful": 1, "failed": 0}
NO_VECTOR = {"shard": 1, "reason": {"type": "query_shard_exception", "reason": "no vector here"}}
HALF = {"total": 2, "successful": 1, "failed": 1, "failures": [NO_VECTOR]}
HITS = {"total": {"value": 1, "relation": "eq"}, "hits": [{"_id": "x", "_score": 1.0}]}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"timed_out": True, "_shards": WHOLE, "hits": HITS}, "timed out"),
        ({"timed_out": False, "_shards": HALF, "hits": HITS}, "1 of 2 shards failed: no vector here"),
    ],
)
def test_partial_answers_have_failed(cluster_url: str, index: str, answer: object, reason: str) -> None:
    with FaultProxy(cluster_url) as proxy, OpenSearchEngine.connect(proxy.url) as cluster:
        proxy.rules.append(Reply(Match("POST", "/_msearch"), 200, json.dumps({"responses": [answer]})))
        (found,) = cluster.search([ask(index, "cats")])
        assert found.hits == ()
        assert found.error is not None
        assert reason in found.error


def test_document_frequencies(cluster: OpenSearchEngine, index: str) -> None:
    assert cluster.document_frequencies(index, "idxopt.body", "The cats, cats, dogs & whales") == {
        "cat": 4,
        "dog": 6,
        "whale": 0,
    }
    assert cluster.document_frequencies(index, "title", "dogs dog") == {"dog": 2, "dogs": 4}
    assert cluster.document_frequencies(index, "title", "...") == {}
    many = " ".join(f"w{number}" for number in range(30_000))
    assert len(cluster.document_frequencies(index, "title", many)) == 30_000
    with pytest.raises(NotFound):
        cluster.document_frequencies("absent-index", "title", "x")


def test_a_search_that_meets_the_deletion_of_its_index_finds_it_gone(
    cluster_url: str, cluster: OpenSearchEngine, index: str
) -> None:
    error = {"type": "search_phase_execution_exception", "reason": "all shards failed", "failed_shards": []}
    met = Reply(Match("POST", "/_msearch"), 200, json.dumps({"responses": [{"error": error, "status": 503}]}))
    with FaultProxy(cluster_url, met) as proxy:
        engine = OpenSearchEngine.connect(proxy.url)
        (there,) = engine.search([ask(index, "cats")])
        state = cluster.get_index(index)
        assert state is not None
        cluster.delete_index(index, state.uuid)
        (away,) = engine.search([ask(index, "cats")])
        engine.close()
    assert (there.gone, away.gone) == (False, True)
    assert there.error == away.error == "all shards failed"
