"""Vectors and kNN, the same on every engine."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from idxopt.engines.port import Engine, IndexState, LoadRow, SearchRequest, SearchResponse
from idxopt.errors import EngineError, Rejected
from tests.contract.library import TIES, book

D = 8


def vector_body(space: str, dimension: int = D) -> dict[str, Any]:
    """An index with one vector field, as the compiler emits it."""
    method = {"name": "hnsw", "engine": "lucene", "parameters": {"m": 16, "ef_construction": 100}}
    return {
        "settings": {
            "index": {"number_of_shards": 1, "number_of_replicas": 0, "hidden": True, "refresh_interval": "-1"},
            "index.knn": True,
            "index.knn.derived_source.enabled": False,
        },
        "mappings": {
            "dynamic": False,
            "properties": {
                "title": {"type": "text", "analyzer": "english"},
                "lang": {"type": "keyword"},
                "idxopt": {
                    "dynamic": "strict",
                    "properties": {
                        "doc_id": {"type": "keyword"},
                        "row": {"type": "integer"},
                        "vector": {
                            "type": "knn_vector",
                            "dimension": dimension,
                            "space_type": space,
                            "method": method,
                        },
                    },
                },
            },
        },
    }


def row(doc_id: str, vector: Sequence[float] | None, number: int = 0, **fields: Any) -> LoadRow:
    """A row with its vector, or without one."""
    body = book(doc_id, number, **fields)
    if vector is not None:
        body["idxopt"]["vector"] = list(vector)
    return LoadRow(f"{doc_id}#{number}", body)


def knn(vector: Sequence[float], k: int, filter: Mapping[str, Any] | None = None, **body: Any) -> dict[str, Any]:
    """A kNN search as the compiler emits it."""
    clause: dict[str, Any] = {"vector": [float(value) for value in vector], "k": k}
    if filter is not None:
        clause["filter"] = filter
    query = {"knn": {"idxopt.vector": clause}}
    return {"query": query, "_source": False, "sort": TIES, "size": k, "track_total_hits": False, **body}


def exact(values: Any) -> list[list[float]]:
    """Doubles that float32 holds exactly."""
    return [[float(value) for value in line] for line in np.asarray(values, dtype=np.float32)]


@pytest.fixture
def make(engine: Engine, prefix: str) -> Any:
    """Makes an index of a space with rows in it, searchable. Skipped on a node without the k-NN plugin."""
    if engine.capabilities().engine != "embedded" and "opensearch-knn" not in engine.capabilities().plugins:
        pytest.skip("the node has no k-NN plugin")

    def made(space: str, rows: Sequence[LoadRow], dimension: int = D) -> IndexState:
        state = engine.create_index(f"{prefix}--{space}", vector_body(space, dimension))
        report = engine.load(state.name, state.uuid, rows)
        assert (report.created, report.failed) == (len(rows), ())
        engine.refresh(state.name)
        return state

    return made


def answer(engine: Engine, index: str, body: Mapping[str, Any]) -> SearchResponse:
    [response] = engine.search([SearchRequest(index, body)])
    assert response.error is None, response.error
    return response


def random_rows(count: int, seed: int = 1) -> list[list[float]]:
    return exact(np.random.default_rng(seed).standard_normal((count, D)))


def expected_scores(space: str, rows: Any, query: Any) -> Any:
    """By the definitions, in double precision."""
    matrix, one = np.array(rows), np.array(query)
    if space == "cosinesimil":
        cosines = matrix @ one / (np.linalg.norm(matrix, axis=1) * np.linalg.norm(one))
        return (1 + cosines) / 2
    if space == "l2":
        return 1 / (1 + ((matrix - one) ** 2).sum(axis=1))
    products = matrix @ one
    return np.where(products >= 0, 1 + products, 1 / (1 - products))


@pytest.mark.parametrize("space", ["cosinesimil", "innerproduct", "l2"])
def test_scores_and_order_of_each_space(engine: Engine, make: Any, space: str) -> None:
    vectors = random_rows(60)
    state = make(space, [row(f"{n:02}", vector) for n, vector in enumerate(vectors)])
    [query] = random_rows(1, seed=2)
    wanted = expected_scores(space, vectors, query)
    hits = answer(engine, state.name, knn(query, 60)).hits
    assert [hit.id for hit in hits] == [f"{n:02}#0" for n in np.argsort(-wanted)]
    for hit in hits:
        assert hit.score == pytest.approx(wanted[int(hit.id[:2])], rel=1e-5)
    assert hits[0].sort == (pytest.approx(hits[0].score), hits[0].id[:2])
    assert answer(engine, state.name, knn(query, 7)).hits == hits[:7]


def test_vectors_are_read_back_equal(engine: Engine, make: Any) -> None:
    vectors = random_rows(5)
    state = make("l2", [row(f"{n}", vector, title="a b") for n, vector in enumerate(vectors)])
    for document in engine.scan(state.name):
        assert document.source["idxopt"]["vector"] == vectors[int(document.id[0])]
        assert document.source["title"] == "a b"
    got = engine.get_document(state.name, "3#0")
    assert got is not None
    assert got.source["idxopt"]["vector"] == vectors[3]
    [narrow] = [d for d in engine.scan(state.name, fields=["idxopt.doc_id"]) if d.id == "3#0"]
    assert narrow.source == {"idxopt": {"doc_id": "3"}}
    [hit] = answer(engine, state.name, knn(vectors[2], 1, _source=["idxopt.vector"])).hits
    assert hit.source == {"idxopt": {"vector": vectors[2]}}


def test_a_row_without_a_vector_is_in_no_ranking(engine: Engine, make: Any) -> None:
    [one, two] = random_rows(2)
    state = make("cosinesimil", [row("a", one), row("b", None), row("c", two)])
    assert {hit.id for hit in answer(engine, state.name, knn(one, 10)).hits} == {"a#0", "c#0"}
    body = {"query": {"bool": {"filter": [{"exists": {"field": "idxopt.vector"}}]}}, "_source": False, "sort": TIES}
    assert [hit.id for hit in answer(engine, state.name, body).hits] == ["a#0", "c#0"]


def test_h8_the_vector_leg_alone_finds_what_a_filter_leaves(engine: Engine, make: Any) -> None:
    rng = np.random.default_rng(8)
    vectors = exact(rng.standard_normal((1000, D)))
    query = exact(rng.standard_normal((1, D)))[0]
    order = np.argsort(-expected_scores("cosinesimil", vectors, query))
    chosen = int(order[499])
    state = make(
        "cosinesimil",
        [row(f"{n:04}", vector, lang="en" if n == chosen else "de") for n, vector in enumerate(vectors)],
    )
    hits = answer(engine, state.name, knn(query, 10, {"term": {"lang": "en"}})).hits
    assert [hit.id for hit in hits] == [f"{chosen:04}#0"]
    every = answer(engine, state.name, knn(query, 10)).hits
    assert f"{chosen:04}#0" not in {hit.id for hit in every}


def test_k_counts_rows_and_rows_collapse_to_documents(engine: Engine, make: Any) -> None:
    base = np.eye(D)
    rows = [
        row(doc, exact([base[0] + 0.01 * (n + 20 * place) * base[1]])[0], n)
        for place, doc in enumerate("cba")
        for n in range(20)
    ]
    state = make("cosinesimil", rows)
    collapsed = {"collapse": {"field": "idxopt.doc_id"}}
    assert [hit.sort[1] for hit in answer(engine, state.name, knn(base[0], 10, **collapsed)).hits] == ["c"]
    assert [hit.sort[1] for hit in answer(engine, state.name, knn(base[0], 60, **collapsed)).hits] == ["c", "b", "a"]
    assert [hit.id for hit in answer(engine, state.name, knn(base[0], 60, **collapsed)).hits] == ["c#0", "b#0", "a#0"]


def test_equal_vectors_go_by_document_id(engine: Engine, make: Any) -> None:
    state = make("cosinesimil", [row(doc, [1.0] * D) for doc in "dbca"])
    hits = answer(engine, state.name, knn([1.0] * D, 4)).hits
    assert [hit.sort[1] for hit in hits] == ["a", "b", "c", "d"]
    assert {hit.score for hit in hits} == {1.0}


@pytest.mark.parametrize("bad", [[0.5] * (D - 1), [0.5] * (D + 1), [], ["x"] * D, "text", [0.0] * D], ids=str)
def test_a_vector_that_cannot_be_is_a_failure_of_its_row_alone(engine: Engine, make: Any, bad: Any) -> None:
    state = make("cosinesimil", [])
    broken = LoadRow("bad#0", {"idxopt": {"doc_id": "bad", "row": 0, "vector": bad}})
    report = engine.load(state.name, state.uuid, [row("a", [1.0] * D), broken, row("b", [0.5] * D)])
    assert [failure.id for failure in report.failed] == ["bad#0"]
    assert "vector" in report.failed[0].reason.lower()
    assert report.created == 2
    engine.refresh(state.name)
    assert {hit.id for hit in answer(engine, state.name, knn([1.0] * D, 10)).hits} == {"a#0", "b#0"}


def test_overwritten_and_deleted_vectors(engine: Engine, make: Any) -> None:
    state = make("l2", [row(doc, vector) for doc, vector in zip("abcd", np.eye(D).tolist(), strict=False)])
    engine.overwrite(state.name, state.uuid, [row("a", [9.0] * D), row("e", [0.0] * D), row("b", None)], ["c#0"])
    engine.refresh(state.name)
    hits = answer(engine, state.name, knn([9.0] * D, 10)).hits
    assert [hit.id for hit in hits] == ["a#0", "d#0", "e#0"]
    assert hits[0].score == pytest.approx(1.0)
    assert {d.id: d.source["idxopt"].get("vector") for d in engine.scan(state.name)} == {
        "a#0": [9.0] * D,
        "b#0": None,
        "d#0": [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        "e#0": [0.0] * D,
    }


def test_loading_again_finds_equal_vectors_stored(engine: Engine, make: Any) -> None:
    vectors = random_rows(3)
    rows = [row(f"{n}", vector) for n, vector in enumerate(vectors)]
    state = make("cosinesimil", rows)
    report = engine.load(state.name, state.uuid, rows)
    assert (report.created, report.existed, report.failed) == (0, 3, ())


def test_a_query_of_another_dimension_is_a_failed_leg(engine: Engine, make: Any) -> None:
    state = make("cosinesimil", [row("a", [1.0] * D)])
    [response] = engine.search([SearchRequest(state.name, knn([1.0] * (D - 1), 3))])
    assert response.error is not None
    assert response.hits == ()


def test_vector_fields_cannot_be_filtered_by_value(engine: Engine, make: Any) -> None:
    state = make("cosinesimil", [row("a", [1.0] * D)])
    with_term = knn([1.0] * D, 3, {"term": {"idxopt.vector": 1.0}})
    try:
        [response] = engine.search([SearchRequest(state.name, with_term)])
    except (Rejected, EngineError):
        return
    assert response.error is not None


def test_sources_without_their_vectors(engine: Engine, make: Any) -> None:
    [one, two] = random_rows(2)
    state = make("l2", [row("a", one, title="x"), row("b", two, title="y")])
    assert {d.id: d.source for d in engine.scan(state.name, vectors=False)} == {
        "a#0": book("a", 0, title="x"),
        "b#0": book("b", 0, title="y"),
    }
    assert engine.get_documents(state.name, ["a#0"], vectors=False)["a#0"].source == book("a", 0, title="x")
