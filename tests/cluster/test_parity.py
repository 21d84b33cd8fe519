"""The embedded engine ranks and scores as a real node does: Cranfield, two fields with different weights and BM25."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from idxopt.engines.embedded import EmbeddedEngine
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import Engine, Hit, LoadRow, SearchRequest

K1 = 1.2
DEPTH = 100
TEXT = {"type": "text", "similarity": "plain"}
BODY = {
    "settings": {
        "index": {
            "number_of_shards": 1,
            "number_of_replicas": 0,
            "hidden": True,
            "refresh_interval": "-1",
            "similarity": {"plain": {"type": "BM25", "k1": K1, "b": 0.75}},
        }
    },
    "mappings": {
        "dynamic": False,
        "properties": {
            "title": {**TEXT, "analyzer": "standard"},
            "text": {**TEXT, "analyzer": "english"},
            "idxopt": {"dynamic": "strict", "properties": {"doc_id": {"type": "keyword"}}},
        },
    },
}


def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path) as file:
        return [orjson.loads(line) for line in file]


def _results(engine: Engine, index: str, folder: Path) -> list[tuple[Hit, ...]]:
    state = engine.create_index(index, BODY)
    rows = (
        LoadRow(line["_id"], {"title": line["title"], "text": line["text"], "idxopt": {"doc_id": line["_id"]}})
        for line in _lines(folder / "corpus.jsonl.gz")
    )
    assert engine.load(index, state.uuid, rows).failed == ()
    engine.refresh(index)
    assert engine.stats(index).deleted == 0
    requests = [
        SearchRequest(
            index,
            {
                "query": {
                    "multi_match": {"query": line["text"], "type": "most_fields", "fields": ["title^1.5", "text^0.75"]}
                },
                "sort": [{"_score": "desc"}, {"idxopt.doc_id": {"order": "asc", "missing": "_last"}}],
                "size": DEPTH + 10,
                "_source": False,
            },
        )
        for line in _lines(folder / "queries.jsonl.gz")
    ]
    responses = [response for start in range(0, len(requests), 50) for response in engine.search(requests[start:][:50])]
    assert [response.error for response in responses if response.error] == []
    return [response.hits for response in responses]


def _interchangeable(hits: tuple[Hit, ...]) -> set[str]:
    """Ids whose score is within 1e-5 of the last one that counts: which of them come in is chance."""
    last = hits[:DEPTH][-1].score
    return {hit.id for hit in hits if abs(hit.score - last) <= 1e-5 * last}


@pytest.fixture
def both(
    cluster: OpenSearchEngine, prefix: str, shared: Path, tmp_path: Path
) -> list[tuple[tuple[Hit, ...], tuple[Hit, ...]]]:
    """For each query, what the node found and what the embedded engine found."""
    folder = shared / "datasets" / "cranfield"
    node = _results(cluster, f"{prefix}--parity", folder)
    return list(zip(node, _results(EmbeddedEngine(tmp_path / "engine"), "parity", folder), strict=True))


def test_parity(both: list[tuple[tuple[Hit, ...], tuple[Hit, ...]]], cluster: OpenSearchEngine) -> None:
    factor = K1 + 1 if cluster.capabilities().bm25_factor else 1.0
    assert len(both) == 225
    for node, ours in both:
        assert len(node) == len(ours)
        tied = _interchangeable(node) | _interchangeable(ours)
        assert {hit.id for hit in node[:DEPTH]} - tied == {hit.id for hit in ours[:DEPTH]} - tied
        scores = np.array([[one.score / factor, two.score] for one, two in zip(node, ours, strict=True)])
        assert np.allclose(scores[:, 0], scores[:, 1], rtol=1e-6, atol=0)
    same = sum([hit.id for hit in node] == [hit.id for hit in ours] for node, ours in both)
    assert same >= 0.99 * len(both), f"the order is the same for {same} of {len(both)} queries"
