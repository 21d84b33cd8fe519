"""Searches with models on a live build: dense legs, combined views, reranking, and models that fail."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from idxopt.builds.resolver import Resolver, live_build
from idxopt.deploy.observed import observe
from idxopt.engines.port import Engine
from idxopt.errors import ConfigError, ModelError, UsageError
from idxopt.models.opening import Models
from idxopt.models.ports import Embedded, ModelIdentity, Progress, TextKind, Tokenizer, Vectors
from idxopt.program.schema import Program
from idxopt.program.validate import program_from
from idxopt.search import Searcher, SearchQuery
from idxopt.search.explain import explain
from tests.deploy.harness import put_live, write_documents

DIMENSION = 64
_WORD = re.compile(r"\w+")


class Words:
    """A bag of words: each word has a place and a sign by its checksum, so that texts that share words are near.

    `broken`: a ModelError to raise, or what to do to the vectors of queries.
    """

    max_tokens = None

    def __init__(self, broken: Any = None, dimension: int = DIMENSION) -> None:
        self.broken = broken
        self.dimension = dimension
        self.queries: list[str] = []

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("embedder", "test/words", details={"dimension": self.dimension})

    def embed(self, texts: Sequence[str], kind: TextKind, *, on_progress: Progress | None = None) -> Embedded:
        vectors = np.stack([self.vector(text) for text in texts])
        if kind == "query":
            self.queries += texts
            if isinstance(self.broken, ModelError):
                raise self.broken
            if self.broken is not None:
                return Embedded(self.broken(vectors))
        return Embedded(vectors)

    def vector(self, text: str) -> Vectors:
        vector = np.full(self.dimension, 0.001, dtype=np.float32)
        for word in _WORD.findall(text.lower()):
            code = zlib.crc32(word.encode())
            vector[code % self.dimension] += 1.0 if code & 1024 else -1.0
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


class Overlap:
    """A reranker: the share of the query's words that the text has, less the text's length. `broken`: as above."""

    def __init__(self, max_tokens: int | None = None, broken: Any = None) -> None:
        self.max_tokens = max_tokens
        self.broken = broken
        self.texts: list[str] = []

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("reranker", "test/overlap")

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.texts += texts
        if isinstance(self.broken, ModelError):
            raise self.broken
        wanted = set(_WORD.findall(query.lower()))
        scores = [len(wanted & set(found := _WORD.findall(text.lower()))) - len(found) / 1e4 for text in texts]
        return scores if self.broken is None else self.broken(scores)


class Given:
    """Models as an application may give them, with nothing around them."""

    def __init__(self, embedder: Any = None, reranker: Any = None) -> None:
        self._embedder = embedder
        self._reranker = reranker

    def embedder(self, name: str) -> Any:
        assert name == "words"
        return self._embedder

    def reranker(self, name: str) -> Any:
        assert name == "overlap"
        return self._reranker

    def tokenizer(self, name: str) -> Tokenizer:
        raise ConfigError(f"the tokenizer of {name} is not known")


DENSE: dict[str, Any] = {"model": "words", "text": ["title", "body"]}
LEXICAL: dict[str, Any] = {"fields": {"title": {"analyzer": "english"}, "body": {"analyzer": "english"}}}
MODELS: dict[str, Any] = {
    "words": {"kind": "embedder", "id": "test/words", "dimension": DIMENSION, "similarity": "cosine"},
    "overlap": {"kind": "reranker", "id": "test/overlap"},
}


def program(name: str, views: Mapping[str, Any], **changes: Any) -> Program:
    value = {
        "schema": "idxopt/1",
        "name": name,
        "source": {"fields": {"title": "title", "body": "text"}, "metadata": {"lang": "keyword"}, "markup": "markdown"},
        "models": MODELS,
        "views": views,
    }
    return program_from({**value, **changes}, "test")


def live(engine: Engine, wanted: Program, data: Path, tmp_path: Path) -> None:
    given = {"words": Words()}
    with Models(wanted.models, {}, cache=None, secret=lambda reference: reference, given=given) as models:
        put_live(engine, wanted, data, tmp_path, models=models)


def searcher(engine: Engine, name: str, embedder: Any = None, reranker: Any = None, **options: Any) -> Searcher:
    given = Given(embedder or Words(), reranker or Overlap())
    return Searcher(engine, Resolver(engine, name, ttl=0.0), models=given, **options)


def pages(count: int = 12) -> list[dict[str, Any]]:
    """Documents with three sections; `animal{n}` stands in the last one only, `plant{n}` in the first."""
    return [
        {
            "_id": f"p{n:02}",
            "title": f"page {n}",
            "lang": "de" if n % 3 == 0 else "en",
            "text": f"# Page {n}\n\nAbout plant{n} and a common word.\n\n## Care\n\nWater the plant{n} well.\n\n"
            f"## Visitors\n\nThe animal{n} comes at night.\n",
        }
        for n in range(count)
    ]


BOTH: dict[str, Any] = {"content": {"lexical": LEXICAL, "dense": DENSE}}


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


RERANK: dict[str, Any] = {"model": "overlap", "candidates": 5, "sections": 3}


def test_reranked_by_the_best_section(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    wanted = program(name, BOTH, rerank=RERANK)
    made = pages()
    live(engine, wanted, write_documents(data, made), tmp_path)
    query = "common word animal4 night"
    plain = searcher(engine, name).search(SearchQuery(query, k=12, rerank=False))
    reranker = Overlap()
    result = searcher(engine, name, reranker=reranker).search(SearchQuery(query, k=12, source=True))
    assert result.reranked
    assert not plain.reranked
    candidates = [hit.doc_id for hit in plain.hits[:5]]
    assert {hit.doc_id for hit in result.hits[:5]} == set(candidates)
    assert [hit.doc_id for hit in result.hits[5:]] == [hit.doc_id for hit in plain.hits[5:]]
    assert len(reranker.texts) == 15
    scores = [hit.reranked for hit in result.hits[:5]]
    assert None not in scores
    assert scores == sorted(scores, key=lambda score: -(score or 0.0))
    assert all(hit.reranked is None and hit.sections == () for hit in result.hits[5:])
    best = next(hit for hit in result.hits if hit.doc_id == "p04")
    text = made[4]["text"]
    assert best.sections[0].path == ("Visitors",)
    for section in best.sections:
        assert section.text == text[section.start : section.end]
        assert section.field == "body"
    assert best.sections[0].text.startswith("## Visitors")
    assert best.source == {key: value for key, value in made[4].items() if key != "_id"}
    assert len(result.sections) == 3
    assert [one.score for one in result.sections] == sorted((one.score for one in result.sections), reverse=True)
    page = searcher(engine, name).search(SearchQuery(query, k=3, offset=4))
    assert [hit.doc_id for hit in page.hits] == [hit.doc_id for hit in result.hits[4:7]]
    ranking = searcher(engine, name).ranking(query, 12)
    assert [doc for doc, _ in ranking] == [hit.doc_id for hit in result.hits]
    assert all(one > other for (_, one), (_, other) in pairwise(ranking))
    explained = explain(engine, searcher(engine, name).live(), query, "p04", models=Given(Words(), Overlap()))
    assert explained.rank == [hit.doc_id for hit in result.hits].index("p04") + 1
    assert explained.fused_rank == [hit.doc_id for hit in plain.hits].index("p04") + 1
    assert explained.reranked == best.reranked
    assert [section.path for section in explained.sections] == [section.path for section in best.sections]


def test_sections_of_another_field_are_handed_over(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    made = pages(4)
    for n, one in enumerate(made):
        one["short"] = f"# Page {n}\n\nPlants.\n\n## Care\n\nWater {n}.\n\n## Visitors\n\nAnimal {n}.\n"
    made[3]["short"] = "no headings"
    wanted = program(
        name,
        BOTH,
        rerank={**RERANK, "context": "short"},
        source={"fields": {"title": "title", "body": "text", "short": "short"}, "markup": "markdown"},
    )
    live(engine, wanted, write_documents(data, made), tmp_path)
    result = searcher(engine, name).search(SearchQuery("animal2 comes", k=4))
    hit = next(hit for hit in result.hits if hit.doc_id == "p02")
    assert hit.sections[0].field == "short"
    assert hit.sections[0].path == ("Visitors",)
    assert hit.sections[0].text.split() == ["##", "Visitors", "Animal", "2."]
    kept = next(hit for hit in result.hits if hit.doc_id == "p03")
    assert kept.sections[0].field == "body"


def test_long_sections_are_windowed_and_whole_documents_too(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    made = pages(3)
    made[1]["text"] = f"## Long\n\n{'filler ' * 400} animal1 night\n"
    live(engine, program(name, BOTH, rerank=RERANK), write_documents(data, made), tmp_path)
    reranker = Overlap(max_tokens=64)
    result = searcher(engine, name, reranker=reranker).search(SearchQuery("animal1 night", k=3))
    assert max(len(text.split()) for text in reranker.texts) <= 64
    hit = next(hit for hit in result.hits if hit.doc_id == "p01")
    assert hit.sections[0].text == made[1]["text"]
    assert hit.reranked == pytest.approx(2, abs=0.01)
    whole = {**RERANK, "unit": "document"}
    live(engine, program(name, BOTH, rerank=whole), data, tmp_path)
    result = searcher(engine, name, reranker=reranker).search(SearchQuery("animal1 night", k=3))
    [section] = next(hit for hit in result.hits if hit.doc_id == "p01").sections
    assert section.path == ()
    assert section.text == made[1]["text"][section.start : section.end]
    assert "animal1" in section.text
    assert len(section.text.split()) <= 64


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
