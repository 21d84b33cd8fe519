"""Legs and query bodies."""

from typing import Any

import pytest

from idxopt.compiler.legs import boosts_and_scale, legs
from idxopt.compiler.lowered import Leg, LegField, Target
from idxopt.compiler.queries import leg_body
from idxopt.errors import ProgramError
from idxopt.program.validate import program_from

FACTOR = Target(engine="opensearch", bm25_factor=True, pipelines=True)
PLAIN = Target(engine="embedded", bm25_factor=False, pipelines=False)


def made(views: dict[str, Any], target: Target = PLAIN, **rest: Any) -> tuple[Leg, ...]:
    value = {
        "schema": "idxopt/1",
        "name": "docs",
        "source": {"fields": {"title": "meta.title", "body": "text"}},
        "views": views,
        **rest,
    }
    return legs(program_from(value, "test"), {name: f"docs--{name}--01234567" for name in views}, target)


WORDS = {"steps": [{"op": "slice", "unit": "words", "window": 9}], "lexical": {"fields": {"body": {}}}, "weight": 0.5}


def test_legs_follow_the_views_with_their_paths_and_weights() -> None:
    content = {
        "steps": [
            {"op": "normalize", "field": "body", "scheme": "lowercase"},
            {"op": "reweight", "field": "title", "alpha": 2.0},
            {"op": "reweight", "field": "title", "alpha": 3.0},
        ],
        "lexical": {"fields": {"title": {"weight": 0.5}, "body": {"analyzer": "standard"}}},
    }
    first, second = made({"content": content, "words": WORDS}, fusion={"weights": {"words.lexical": 0.5}})
    assert (first.key, first.index, first.many_rows, first.primary) == (
        "content.lexical",
        "docs--content--01234567",
        False,
        True,
    )
    assert dict(first.fields) == {
        "meta.title": LegField("meta.title", "english", 1.2, 0.75, 3.0),
        "idxopt.body": LegField("idxopt.body", "standard", 1.2, 0.75, 1.0),
    }
    assert (second.key, second.many_rows, second.primary, second.weight) == ("words.lexical", True, False, 0.25)
    assert list(second.fields) == ["idxopt.body"]


def test_weight_zero_leaves_out_fields_and_views() -> None:
    content = {"lexical": {"fields": {"title": {"weight": 0}, "body": {}}}}
    (only,) = made({"content": content, "words": {**WORDS, "weight": 0}})
    assert list(only.fields) == ["text"]
    silent = {"lexical": {"fields": {"title": {"weight": 0}}}}
    with pytest.raises(ProgramError, match="no view has a searched field"):
        made({"content": silent})


def field(k1: float, weight: float) -> LegField:
    return LegField("x", "english", k1, 0.75, weight)


def test_boosts_are_weights_where_the_engine_scores_plain_bm25() -> None:
    assert boosts_and_scale({"a": field(0.9, 2.0), "b": field(1.2, 1.0)}, bm25_factor=False) == ({"a": 2, "b": 1}, 1)


def test_the_factor_of_one_k1_is_taken_from_the_score() -> None:
    boosts, scale = boosts_and_scale({"a": field(1.2, 2.0), "b": field(1.2, 1.0)}, bm25_factor=True)
    assert boosts == {"a": 2.0, "b": 1.0}
    assert scale == pytest.approx(1 / 2.2)


def test_factors_that_differ_are_taken_from_the_boosts() -> None:
    boosts, scale = boosts_and_scale({"a": field(0.5, 3.0), "b": field(1.0, 1.0)}, bm25_factor=True)
    assert boosts == pytest.approx({"a": 2.0, "b": 0.5})
    assert scale == 1.0


CONTENT = {"lexical": {"fields": {"title": {"weight": 2}, "body": {}}}}


def test_the_body_of_a_leg_with_one_row_a_document() -> None:
    (leg,) = made({"content": CONTENT}, FACTOR)
    assert leg_body(leg, "a question", size=100) == {
        "query": {
            "bool": {
                "must": [
                    {
                        "multi_match": {
                            "query": "a question",
                            "type": "most_fields",
                            "fields": ["meta.title^2.0", "text^1.0"],
                        }
                    }
                ]
            }
        },
        "size": 100,
        "_source": False,
        "sort": [{"_score": "desc"}, {"idxopt.doc_id": {"order": "asc", "missing": "_last"}}],
        "track_total_hits": False,
    }


def test_several_rows_a_document_are_collapsed_and_ids_are_asked_for_by_document() -> None:
    first, second = made({"content": CONTENT, "words": WORDS})
    asked = {"bool": {"must_not": [{"ids": {"values": ["a", "b"]}}], "filter": [{"term": {"ids": "x"}}]}}
    body = leg_body(second, "q", size=5, filter=asked, source=["idxopt.doc_id"], total=True)
    assert body["collapse"] == {"field": "idxopt.doc_id"}
    assert body["_source"] == ["idxopt.doc_id"]
    assert body["track_total_hits"] is True
    assert body["query"]["bool"]["filter"] == [
        {"bool": {"must_not": [{"terms": {"idxopt.doc_id": ["a", "b"]}}], "filter": [{"term": {"ids": "x"}}]}}
    ]
    assert leg_body(first, "q", size=5, filter=asked)["query"]["bool"]["filter"] == [asked]
