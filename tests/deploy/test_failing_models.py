"""Searches on a live build whose models fail: refused, or answered without them where that was asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from idxopt.engines.port import Engine
from idxopt.errors import ModelError
from idxopt.search import SearchQuery
from tests.deploy.harness import write_documents
from tests.deploy.words import BOTH, DENSE, RERANK, Overlap, Words, live, pages, program, searcher

BROKEN_EMBEDDERS = {
    "error": Words(ModelError("the server at http://127.0.0.1:1 gave no answer")),
    "dimension": Words(lambda vectors: vectors[:, :-1]),
    "nan": Words(lambda vectors: vectors * np.float32("nan")),
    "zeros": Words(lambda vectors: vectors * 0),
    "none": Words(lambda vectors: vectors[:0]),
}


@pytest.mark.parametrize("kind", list(BROKEN_EMBEDDERS))
def test_an_embedder_that_fails(engine: Engine, name: str, data: Path, tmp_path: Path, kind: str) -> None:
    live(engine, program(name, BOTH, rerank=RERANK), write_documents(data, pages()), tmp_path)
    broken = BROKEN_EMBEDDERS[kind]
    query = SearchQuery("animal7 night", k=5)
    with pytest.raises(ModelError):
        searcher(engine, name, broken).search(query)
    lenient = searcher(engine, name, broken, on_model_failure="lexical")
    result = lenient.search(query)
    assert list(result.degraded) == ["content.dense"]
    assert "model words" in result.degraded["content.dense"]
    assert result.hits[0].doc_id == "p07"
    assert all(set(hit.legs) == {"content.lexical"} for hit in result.hits)
    assert result.reranked
    assert not result.total_exact
    with pytest.raises(ModelError):
        lenient.ranking("animal7 night", 5)


def test_a_reranker_that_fails(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    live(engine, program(name, BOTH, rerank=RERANK), write_documents(data, pages()), tmp_path)
    query = SearchQuery("common word animal4", k=12)
    fused = searcher(engine, name).search(SearchQuery(query.text, k=12, rerank=False))
    failures = (
        ModelError("is down"),
        lambda scores: scores[:-1],
        lambda scores: [float("nan"), *scores[1:]],
        lambda scores: [None, *scores[1:]],
    )
    for broken in failures:
        with pytest.raises(ModelError):
            searcher(engine, name, reranker=Overlap(broken=broken)).search(query)
        lenient = searcher(engine, name, reranker=Overlap(broken=broken), on_model_failure="lexical")
        result = lenient.search(query)
        assert list(result.degraded) == ["rerank"]
        assert "model overlap" in result.degraded["rerank"]
        assert not result.reranked
        assert result.hits == fused.hits
        assert result.total_exact == fused.total_exact
        with pytest.raises(ModelError):
            lenient.ranking(query.text, 5)


def test_a_program_of_dense_legs_alone_cannot_do_without_its_model(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    live(engine, program(name, {"content": {"dense": DENSE}}), write_documents(data, pages()), tmp_path)
    broken = Words(ModelError("is down"))
    with pytest.raises(ModelError, match="is down"):
        searcher(engine, name, broken, on_model_failure="lexical").search(SearchQuery("animal7"))
