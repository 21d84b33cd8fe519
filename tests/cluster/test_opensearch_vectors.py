"""Indices with vectors on real nodes: made as compiled, filtered inside the clause, loaded in bounded requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from idxopt.builds import physical
from idxopt.builds.effective import compare_effective
from idxopt.builds.vectors import as_numbers
from idxopt.compiler.legs import legs
from idxopt.compiler.lower import lower
from idxopt.compiler.lowered import Leg, Target
from idxopt.compiler.queries import knn_body
from idxopt.deploy.doctor import examine
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.opensearch.loader import BATCH_BYTES
from idxopt.engines.port import Engine, IndexState, LoadRow, SearchRequest
from idxopt.errors import EngineError
from idxopt.program.schema import Program
from idxopt.program.validate import program_from
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Hold, Match, Reply

TARGET = Target(engine="opensearch", bm25_factor=True, pipelines=True)
D = 16


def program(name: str, similarity: str = "cosine", dimension: int = D, **hnsw: int) -> Program:
    value = {
        "schema": "idxopt/1",
        "name": name,
        "source": {"fields": {"title": "title"}, "metadata": {"lang": "keyword"}},
        "models": {"e": {"kind": "embedder", "id": "e", "dimension": dimension, "similarity": similarity}},
        "views": {
            "content": {
                "lexical": {"fields": {"title": {}}},
                "dense": {"model": "e", "text": ["title"], **({"hnsw": hnsw} if hnsw else {})},
            }
        },
    }
    return program_from(value, "test")


def made(engine: Engine, wanted: Program) -> tuple[IndexState, Leg]:
    """The index of the one view, and its dense leg."""
    view = lower(wanted, TARGET, {}).views["content"]
    state = physical.create(engine, view.index, view.index_body)
    return state, legs(wanted, {"content": view.index}, TARGET)[1]


def row(number: int, vector: Any, **source: Any) -> LoadRow:
    [numbers] = as_numbers(np.array([vector], dtype=np.float32))
    return LoadRow(f"d{number:04}", {**source, "idxopt": {"doc_id": f"d{number:04}", "vector": numbers}})


def ids(engine: Engine, leg: Leg, vector: Any, k: int, **more: Any) -> list[str]:
    body = knn_body(leg, [float(one) for one in vector], k=k, size=k, **more)
    [response] = engine.search([SearchRequest(leg.index, body)])
    assert response.error is None, response.error
    return [hit.id for hit in response.hits]


@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
def test_the_node_makes_the_compiled_index(cluster: OpenSearchEngine, prefix: str, similarity: str) -> None:
    """`physical.create` compares; another look compares again after writes and a merge."""
    wanted = program(prefix, similarity, m=32, ef_construction=200)
    state, leg = made(cluster, wanted)
    vectors = np.random.default_rng(1).standard_normal((50, D))
    cluster.load(state.name, state.uuid, [row(number, vector) for number, vector in enumerate(vectors)])
    cluster.refresh(state.name)
    assert len(ids(cluster, leg, vectors[0], 50)) == 50
    seen = cluster.get_index(state.name)
    assert seen is not None
    assert compare_effective(lower(wanted, TARGET, {}).views["content"].index_body, seen) == []


def test_the_largest_that_the_schema_allows_is_taken(cluster: OpenSearchEngine, prefix: str) -> None:
    state, leg = made(cluster, program(prefix, "dot", 16_000, m=512, ef_construction=3_200))
    vectors = np.random.default_rng(2).standard_normal((3, 16_000))
    rows = [row(number, vector) for number, vector in enumerate(vectors)]
    assert cluster.load(state.name, state.uuid, rows).created == 3
    cluster.refresh(state.name)
    assert ids(cluster, leg, vectors[1], 3)[0] == "d0001"


def test_h8_a_filter_leaves_the_500th_nearest_and_the_leg_finds_it(cluster: OpenSearchEngine, prefix: str) -> None:
    """Flat vectors: a row is a document of its own, idxopt makes no nested ones."""
    state, leg = made(cluster, program(prefix))
    generator = np.random.default_rng(8)
    vectors, query = generator.standard_normal((1_000, D)), generator.standard_normal(D)
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1)
    chosen = int(np.argsort(-cosines)[499])
    rows = [row(number, vector, lang="en" if number == chosen else "de") for number, vector in enumerate(vectors)]
    cluster.load(state.name, state.uuid, rows)
    cluster.refresh(state.name)
    assert ids(cluster, leg, query, 10, filter={"term": {"lang": "en"}}) == [f"d{chosen:04}"]
    assert f"d{chosen:04}" not in ids(cluster, leg, query, 10)


def test_rows_with_vectors_go_in_bounded_requests(cluster_url: str, prefix: str) -> None:
    dimension, count = 1_024, 900
    generator = np.random.default_rng(3)
    sent: list[int] = []
    watch = Hold(Match("POST", "*/_bulk"), lambda request, _: sent.append(len(request.body)))
    with FaultProxy(cluster_url, watch) as proxy, OpenSearchEngine.connect(proxy.url) as engine:
        state, _ = made(engine, program(prefix, dimension=dimension))
        rows: Iterator[LoadRow] = (row(n, generator.standard_normal(dimension)) for n in range(count))
        assert engine.load(state.name, state.uuid, rows).created == count
        engine.delete_index(state.name, state.uuid)
    assert len(sent) > 1
    assert max(sent) <= BATCH_BYTES
    assert sum(sent) / (count * dimension) < 13


def test_sources_come_without_vectors_where_nobody_needs_them(cluster: OpenSearchEngine, prefix: str) -> None:
    state, _ = made(cluster, program(prefix))
    cluster.load(state.name, state.uuid, [row(1, [1.0] * D, title="a")])
    cluster.refresh(state.name)
    plain = {"title": "a", "idxopt": {"doc_id": "d0001"}}
    assert [one.source for one in cluster.scan(state.name, vectors=False)] == [plain]
    [whole] = cluster.scan(state.name)
    assert whole.source == {"title": "a", "idxopt": {"doc_id": "d0001", "vector": [1.0] * D}}
    assert cluster.get_documents(state.name, ["d0001"], vectors=False)["d0001"].source == plain
    assert cluster.get_documents(state.name, ["d0001"])["d0001"].source["idxopt"]["vector"] == [1.0] * D


def test_the_probe_finds_knn(cluster: OpenSearchEngine) -> None:
    assert cluster.capabilities().knn is True
    [check] = [one for one in examine(cluster) if one.what == "vectors"]
    assert (check.verdict, "k-NN" in check.detail) == ("ok", True)


def test_the_probe_asks_another_way_where_the_first_is_forbidden(cluster_url: str) -> None:
    denied = json.dumps({"error": {"type": "security_exception", "reason": "no permissions"}, "status": 403})
    nodes = Reply(Match("GET", "/_nodes/plugins"), 403, denied)
    with FaultProxy(cluster_url, nodes) as proxy, OpenSearchEngine.connect(proxy.url) as engine:
        assert engine.capabilities().knn is True
    both = (nodes, Reply(Match("GET", "/_cat/plugins"), 403, denied))
    with FaultProxy(cluster_url, *both) as proxy, OpenSearchEngine.connect(proxy.url) as engine:
        assert engine.capabilities().knn is None
        [check] = [one for one in examine(engine) if one.what == "vectors"]
        assert check.verdict == "warning"
    bare = Reply(Match("GET", "/_nodes/plugins"), 200, json.dumps({"nodes": {"a": {"modules": [{"name": "geo"}]}}}))
    with FaultProxy(cluster_url, bare) as proxy, OpenSearchEngine.connect(proxy.url) as engine:
        assert engine.capabilities().knn is False
        [check] = [one for one in examine(engine) if one.what == "vectors"]
        assert check.verdict == "warning"
        assert "opensearch-knn" in check.remedy


def test_a_derived_source_that_somebody_forced_is_refused(cluster: OpenSearchEngine, prefix: str) -> None:
    """k-NN 3.5.0 loses rows of such an index; it is deleted before any row is loaded."""
    view = lower(program(prefix), TARGET, {}).views["content"]
    settings = dict(view.index_body["settings"]["index"])
    del settings["knn.derived_source.enabled"]
    state = cluster.create_index(f"{prefix}--other", {**view.index_body, "settings": {"index": settings}})
    differences = [one.path for one in compare_effective(view.index_body, state)]
    assert differences == ["settings.index.knn.derived_source.enabled"]
    with pytest.raises(EngineError):
        cluster.create_index(f"{prefix}--other", view.index_body)
