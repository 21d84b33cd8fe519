"""Searches with models on a live build: dense legs, combined views, and whose models are asked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from idxopt.builds.resolver import Resolver, live_build
from idxopt.deploy.observed import observe
from idxopt.engines.port import Engine
from idxopt.errors import ConfigError, UsageError
from idxopt.program.schema import Program
from idxopt.search import Searcher, SearchQuery
from idxopt.search.explain import explain
from tests.deploy.harness import write_documents
from tests.deploy.words import BOTH, DENSE, LEXICAL, Given, Overlap, Words, live, pages, program, searcher


def test_one_query_is_encoded_once_and_asks_all_legs(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    views = {**BOTH, "sections": {"steps": [{"op": "slice", "unit": "headings"}], "dense": {**DENSE, "text": ["body"]}}}
    live(engine, program(name, views), write_documents(data, pages()), tmp_path)
    embedder = Words()
    result = searcher(engine, name, embedder).search(SearchQuery("animal7 comes at night", k=3))
    assert embedder.queries == ["animal7 comes at night"]
    assert result.hits[0].doc_id == "p07"
    assert set(result.hits[0].legs) == {"content.lexical", "content.dense", "sections.dense"}
    assert {leg.rank for leg in result.hits[0].legs.values()} == {1}
    assert 0.5 < result.hits[0].legs["sections.dense"].score <= 1.0
    assert not result.reranked
    assert not result.degraded


def test_h8_a_search_by_vectors_alone_reaches_what_a_filter_leaves(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    made = [
        {"_id": f"d{n:04}", "title": "t", "lang": "de", "text": f"river {'stone ' * (n % 50)}w{n} w{n}"}
        for n in range(1_000)
    ]
    embedder = Words()
    query = embedder.vector("river")
    near = np.argsort([-float(embedder.vector(f"t\n{one['text']}") @ query) for one in made], kind="stable")
    chosen = made[int(near[499])]
    chosen["lang"] = "en"
    live(engine, program(name, {"content": {"dense": DENSE}}), write_documents(data, made), tmp_path)
    found = searcher(engine, name).search(SearchQuery("river", k=10, filter={"term": {"lang": "en"}}))
    assert [hit.doc_id for hit in found.hits] == [chosen["_id"]]
    assert chosen["_id"] not in {hit.doc_id for hit in searcher(engine, name).search(SearchQuery("river", k=10)).hits}


def test_k_grows_until_there_are_enough_documents(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    """Two documents fill the first rows with 40 near sections each; the others have one that is far, and 20 rows."""
    near = "".join(f"## S{n}\n\nriver{' river' * (n % 3)}\n\n" for n in range(40))
    far = "".join(f"## S{n}\n\nstone{n} river{' stone' * 5}\n\n" for n in range(3))
    made = [{"_id": f"n{n}", "title": "t", "text": near} for n in range(2)]
    made += [{"_id": f"f{n}", "title": "t", "text": far} for n in range(10)]
    sections = {"steps": [{"op": "slice", "unit": "headings"}], "dense": {**DENSE, "text": ["body"]}}
    wanted = program(name, {"content": {"lexical": LEXICAL}, "sections": sections}, fusion={"window": 8})
    live(engine, wanted, write_documents(data, made), tmp_path)
    result = searcher(engine, name).search(SearchQuery("river", k=20))
    ranks = sorted(hit.legs["sections.dense"].rank for hit in result.hits if "sections.dense" in hit.legs)
    assert ranks == list(range(1, 9))
    build = searcher(engine, name).live()
    explained = explain(engine, build, "river", "n1", models=Given(Words(), Overlap()))
    dense = next(leg for leg in explained.legs if leg.key == "sections.dense")
    assert dense.k is not None
    assert dense.k >= 88  # 80 rows of the two near documents, and one of each of the other six at least
    assert dense.rank in {1, 2}
    assert next(leg for leg in explained.legs if leg.key == "content.lexical").k is None
    every = searcher(engine, name).search(SearchQuery("river", k=20, filter={"term": {"lang": "xx"}}))
    assert every.hits == ()


def test_a_view_that_combines_its_legs(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    wanted = program(name, {"content": {**BOTH["content"], "combine": "weighted"}})
    live(engine, wanted, write_documents(data, pages()), tmp_path)
    result = searcher(engine, name).search(SearchQuery("plant3 water"))
    assert result.hits[0].doc_id == "p03"
    assert result.hits[0].views["content"].rank == 1
    assert result.hits[0].views["content"].score == pytest.approx(1.0)
    assert set(result.hits[0].legs) == {"content.lexical", "content.dense"}
    explained = explain(engine, searcher(engine, name).live(), "plant3 water", "p03", models=Given(Words()))
    assert explained.views["content"].rank == 1
    assert [leg.score is not None for leg in explained.legs] == [True, True]


def test_models_that_were_not_given_are_asked_for(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    live(engine, program(name, BOTH), write_documents(data, pages(3)), tmp_path)
    resolver = Resolver(engine, name, ttl=0.0)
    for bare in (Searcher(engine, resolver), Searcher(engine, resolver, on_model_failure="lexical")):
        with pytest.raises(ConfigError) as refused:
            bare.search(SearchQuery("animal1"))
        assert "words" in refused.value.message
        assert refused.value.remedy
    embedder = Words()
    with pytest.raises(UsageError):
        searcher(engine, name, embedder).search(SearchQuery("animal1", filter={"term": {"lnag": "de"}}))
    assert embedder.queries == []


def test_models_follow_the_build_that_answers(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    live(engine, program(name, BOTH), write_documents(data, pages(3)), tmp_path)
    asked: list[str] = []

    def models_of(wanted: Program) -> Given:
        asked.append(json.dumps(sorted(wanted.models)))
        return Given(Words(), Overlap())

    one = Searcher(engine, Resolver(engine, name, ttl=0.0), models_of=models_of)
    assert one.search(SearchQuery("animal1")).hits[0].doc_id == "p01"
    assert asked
    lexical = program(name, {"content": {"lexical": LEXICAL}}, models={})
    live(engine, lexical, data, tmp_path)
    asked.clear()
    assert one.search(SearchQuery("animal1")).hits[0].doc_id == "p01"
    assert asked == []
    manifest = observe(engine, name).live
    assert manifest is not None
    assert Searcher(engine, live_build(manifest, engine)).ranking("animal1", 3)[0][0] == "p01"
