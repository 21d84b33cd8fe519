"""Dense legs: mapping, settings, legs, query bodies, what a write loses, and view hashes."""

from __future__ import annotations

from typing import Any

import pytest

from idxopt.compiler.dense import knn_engine
from idxopt.compiler.legs import legs
from idxopt.compiler.lower import lower
from idxopt.compiler.lowered import Compiled, DenseText, Target
from idxopt.compiler.queries import knn_body
from idxopt.program.schema import Hnsw
from idxopt.program.validate import program_from

TARGET = Target(engine="opensearch", bm25_factor=True, pipelines=True)
EMBEDDED = Target(engine="embedded", bm25_factor=False, pipelines=False)
SPEC: dict[str, Any] = {
    "kind": "embedder",
    "id": "test/e",
    "revision": "1",
    "query_prefix": "query: ",
    "passage_prefix": "passage: ",
    "dimension": 4,
    "similarity": "cosine",
    "max_tokens": 256,
}
CONTENT: dict[str, Any] = {
    "steps": [{"op": "enrich", "with": "lead", "words": 5, "into": "lead"}],
    "lexical": {"fields": {"title": {}, "body": {}}},
    "dense": {"model": "e", "text": ["title", "lead"]},
}
WORDS: dict[str, Any] = {
    "steps": [{"op": "slice", "unit": "words", "window": 9}],
    "dense": {"model": "e", "text": ["body"], "hnsw": {"m": 32, "ef_construction": 200}},
    "weight": 0.5,
}


def value(**changes: Any) -> dict[str, Any]:
    return {
        "schema": "idxopt/1",
        "name": "docs",
        "source": {"fields": {"title": "meta.title", "body": "text"}},
        "models": {"e": SPEC},
        "views": {"content": CONTENT, "words": WORDS},
        **changes,
    }


def compiled(target: Target = TARGET, **changes: Any) -> Compiled:
    return lower(program_from(value(**changes), "test"), target, {})


def vector_of(made: Compiled, view: str) -> Any:
    return made.views[view].index_body["mappings"]["properties"]["idxopt"]["properties"].get("vector")


@pytest.mark.parametrize(("similarity", "space"), [("cosine", "cosinesimil"), ("dot", "innerproduct"), ("l2", "l2")])
def test_the_vector_is_mapped_as_the_model_says(similarity: str, space: str) -> None:
    made = compiled(models={"e": {**SPEC, "similarity": similarity}})
    assert vector_of(made, "words") == {
        "type": "knn_vector",
        "dimension": 4,
        "method": {
            "name": "hnsw",
            "engine": "lucene",
            "space_type": space,
            "parameters": {"m": 32, "ef_construction": 200},
        },
    }
    index = made.views["words"].index_body["settings"]["index"]
    assert (index["knn"], index["knn.derived_source.enabled"]) == (True, False)
    assert made.views["content"].template["template"]["settings"]["index"]["knn"] is True


def test_every_engine_gets_the_same_index() -> None:
    bodies = [{name: view.index_body for name, view in compiled(target).views.items()} for target in (TARGET, EMBEDDED)]
    assert bodies[0] == bodies[1]


def test_faiss_is_for_what_lucene_does_not_take() -> None:
    assert knn_engine(Hnsw(m=512, ef_construction=3_200)) == "lucene"
    assert knn_engine(Hnsw(ef_construction=3_201)) == "faiss"


def test_what_is_embedded_is_named_by_stored_paths() -> None:
    made = compiled()
    assert made.views["content"].dense == DenseText("e", 4, "cosine", ("meta.title", "idxopt.lead"), "idxopt.vector")
    assert made.views["words"].dense == DenseText("e", 4, "cosine", ("idxopt.body",), "idxopt.vector")
    without = compiled(views={"content": {"lexical": CONTENT["lexical"]}})
    assert without.views["content"].dense is None
    assert vector_of(without, "content") is None
    assert "knn" not in without.views["content"].index_body["settings"]["index"]


def test_a_write_through_the_alias_loses_the_vector() -> None:
    made = compiled()
    assert made.views["content"].lost_on_write == ("vector",)
    assert made.views["words"].lost_on_write[-1] == "vector"


def of(**changes: Any) -> Any:
    program = program_from(value(**changes), "test")
    return legs(program, {name: f"docs--{name}--01234567" for name in program.views}, TARGET)


def test_the_dense_leg_follows_the_lexical_one_of_its_view() -> None:
    found = of(fusion={"weights": {"words.dense": 0.5, "content.dense": 2.0}})
    assert [(leg.key, leg.kind, leg.weight, leg.many_rows, leg.primary) for leg in found] == [
        ("content.lexical", "lexical", 1.0, False, True),
        ("content.dense", "dense", 2.0, False, True),
        ("words.dense", "dense", 0.25, True, False),
    ]
    assert dict(found[1].fields) == dict(found[1].boosts) == {}
    silent = of(fusion={"weights": {"content.dense": 0.0}})
    assert [leg.key for leg in silent] == ["content.lexical", "words.dense"]


def test_the_filter_stands_inside_the_clause_and_k_beside_the_size() -> None:
    _, content, words = of()
    assert knn_body(content, [1.0, 0.5], k=30, size=10, filter={"ids": {"values": ["a"]}}) == {
        "query": {
            "knn": {"idxopt.vector": {"vector": [1.0, 0.5], "k": 30, "filter": {"ids": {"values": ["a"]}}}},
        },
        "size": 10,
        "_source": False,
        "sort": [{"_score": "desc"}, {"idxopt.doc_id": {"order": "asc", "missing": "_last"}}],
        "track_total_hits": False,
    }
    many = knn_body(words, [1.0], k=300, size=10, filter={"ids": {"values": ["a"]}}, source=["idxopt.row"])
    assert many["collapse"] == {"field": "idxopt.doc_id"}
    assert many["_source"] == ["idxopt.row"]
    assert many["query"]["knn"]["idxopt.vector"]["filter"] == {"terms": {"idxopt.doc_id": ["a"]}}
    assert "filter" not in knn_body(words, [1.0], k=3, size=1)["query"]["knn"]["idxopt.vector"]


def hashes(**changes: Any) -> dict[str, str]:
    return {name: view.view_hash for name, view in compiled(**changes).views.items()}


@pytest.mark.parametrize(
    "changed",
    [
        {"id": "test/other"},
        {"revision": "2"},
        {"passage_prefix": ""},
        {"query_prefix": ""},
        {"dimension": 5},
        {"similarity": "dot"},
        {"max_tokens": 128},
    ],
    ids=str,
)
def test_whatever_the_program_says_of_a_model_counts(changed: dict[str, Any]) -> None:
    before, after = hashes(), hashes(models={"e": {**SPEC, **changed}})
    assert before["content"] != after["content"]
    assert before["words"] != after["words"]


@pytest.mark.parametrize(
    "dense",
    [{"text": ["lead", "title"]}, {"text": ["title"]}, {"hnsw": {"m": 17}}, {"hnsw": {"ef_construction": 101}}],
    ids=str,
)
def test_text_and_graph_of_a_view_count_for_that_view_alone(dense: dict[str, Any]) -> None:
    views = {"content": {**CONTENT, "dense": {**CONTENT["dense"], **dense}}, "words": WORDS}
    before, after = hashes(), hashes(views=views)
    assert before["content"] != after["content"]
    assert before["words"] == after["words"]


def test_names_of_models_weights_and_defaults_spelt_out_do_not_count() -> None:
    renamed = {
        "models": {"f": SPEC, "ce": {"kind": "reranker", "id": "x"}},
        "views": {
            "content": {**CONTENT, "dense": {**CONTENT["dense"], "model": "f", "hnsw": {"m": 16}}, "combine": "rrf"},
            "words": {**WORDS, "dense": {**WORDS["dense"], "model": "f"}, "weight": 3.0},
        },
        "rerank": {"model": "ce"},
        "fusion": {"weights": {"content.dense": 0.0}},
    }
    assert hashes(**renamed) == hashes()


def test_models_do_not_count_where_no_step_and_no_leg_uses_them() -> None:
    views = {"content": {"lexical": CONTENT["lexical"]}}
    assert hashes(views=views) == hashes(views=views, models={})
    assert hashes(views=views, models={})["content"].startswith("59751eec0b8f43a0")  # as before there were dense legs


def test_the_model_of_a_slice_counts() -> None:
    def sliced(unit: str, **spec: Any) -> str:
        words = {**WORDS, "steps": [{"op": "slice", "unit": unit, "window": 9}], "dense": None}
        words = {**words, "lexical": {"fields": {"body": {}}}}
        del words["dense"]
        views = {"content": {"lexical": CONTENT["lexical"]}, "words": words}
        return hashes(views=views, models={"e": {**SPEC, **spec}, "f": {**SPEC, **spec}})["words"]

    assert sliced("e") == sliced("f")
    assert sliced("e") != sliced("words")
    assert sliced("e") != sliced("e", revision="2")
