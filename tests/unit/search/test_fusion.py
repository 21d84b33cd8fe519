"""Fusion by hand: ranks, weights, ties."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.program.schema import Fusion, Program
from idxopt.program.validate import program_from
from idxopt.search.fusion import LegList, fuse, fuse_views


def leg(key: str, *documents: str, weight: float = 1.0) -> LegList:
    return LegList(key, weight, [(doc, float(len(documents) - n)) for n, doc in enumerate(documents)])


def test_h7_found_by_both_beats_found_by_one() -> None:
    fused = fuse([leg("x", "X", "a", "Y"), leg("y", "b", "c", "Y")], Fusion(k=60))
    assert [item.doc_id for item in fused] == ["Y", "X", "b", "a", "c"]
    assert fused[0].score == pytest.approx(2 / 63, abs=1e-15)
    assert fused[1].score == fused[2].score == 1 / 61
    assert fused[3].score == fused[4].score == 1 / 62
    assert fused[0].legs["x"].rank == fused[0].legs["y"].rank == 3
    assert set(fused[1].legs) == {"x"}


def test_weights_apply_to_rrf() -> None:
    fused = fuse([leg("x", "a", weight=0.5), leg("y", "b", weight=2.0)], Fusion(k=60))
    assert [(item.doc_id, item.score) for item in fused] == [("b", 2.0 / 61), ("a", 0.5 / 61)]


def test_weighted_sum_counts_missing_as_zero() -> None:
    x = LegList("x", 1.0, [("a", 4.0), ("b", 1.0)])
    y = LegList("y", 0.5, [("b", 8.0)])
    fused = fuse([x, y], Fusion(method="weighted_sum"))
    assert [(item.doc_id, item.score) for item in fused] == [("b", 5.0), ("a", 4.0)]


def test_min_max_stretches_each_leg() -> None:
    x = LegList("x", 1.0, [("a", 30.0), ("b", 20.0), ("c", 10.0)])
    y = LegList("y", 1.0, [("c", 0.2)])
    fused = fuse([x, y], Fusion(method="weighted_sum", normalize="min_max"))
    assert [(item.doc_id, item.score) for item in fused] == [("a", 1.0), ("c", 1.0), ("b", 0.5)]


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8), min_size=1, max_size=4))
def test_every_document_once_and_sorted(lists: list[list[str]]) -> None:
    fused = fuse([leg(str(n), *docs) for n, docs in enumerate(lists)], Fusion())
    ids = [item.doc_id for item in fused]
    assert sorted(ids) == sorted({doc for docs in lists for doc in docs})
    assert [(-item.score, item.doc_id) for item in fused] == sorted((-item.score, item.doc_id) for item in fused)


def combining(combine: str | None, **fusion: Any) -> Program:
    """Two views: `content` joins its two legs (or not), `sections` has a dense leg alone."""
    model = {"kind": "embedder", "id": "test/any", "dimension": 2, "similarity": "cosine"}
    dense = {"model": "any", "text": ["body"]}
    content = {"lexical": {"fields": {"body": {}}}, "dense": dense, "weight": 2.0}
    return program_from(
        {
            "schema": "idxopt/1",
            "name": "combined",
            "source": {"fields": {"body": "text"}, "markup": "markdown"},
            "models": {"any": model},
            "views": {
                "content": {**content, **({"combine": combine} if combine else {})},
                "sections": {"steps": [{"op": "slice", "unit": "headings"}], "dense": dense},
            },
            "fusion": fusion,
        },
        "test",
    )


def oracle_list(lists: dict[str, list[tuple[str, float]]], weights: dict[str, float], gain: Any) -> list[Any]:
    """(document, score) by definition: each document by itself, over every list."""
    found = {doc for ranked in lists.values() for doc, _ in ranked}
    scores = {}
    for doc in found:
        scores[doc] = sum(
            weights[key] * gain(ranked, place)
            for key, ranked in lists.items()
            for place, (other, _) in enumerate(ranked)
            if other == doc
        )
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def by_rank(ranked: list[tuple[str, float]], place: int) -> float:
    return 1 / (60 + place + 1)


def by_stretched_score(ranked: list[tuple[str, float]], place: int) -> float:
    scores = [score for _, score in ranked]
    low, high = min(scores), max(scores)
    return 1.0 if high == low else (scores[place] - low) / (high - low)


RANKED = st.lists(
    st.tuples(st.sampled_from("abcdefghij"), st.integers(0, 40).map(lambda n: n / 4)),
    unique_by=lambda pair: pair[0],
    max_size=10,
).map(lambda pairs: sorted(pairs, key=lambda pair: (-pair[1], pair[0])))


@given(RANKED, RANKED, RANKED, st.sampled_from(["rrf", "weighted"]), st.floats(0.1, 5))
def test_combined_views_as_defined(lexical: Any, dense: Any, sections: Any, combine: str, weight: float) -> None:
    """A view's legs become one list; this list and the other view's leg are fused by RRF."""
    program = combining(combine, weights={"content.dense": weight})
    legs = [
        LegList("content.lexical", 2.0, lexical),
        LegList("content.dense", 2.0 * weight, dense),
        LegList("sections.dense", 1.0, sections),
    ]
    inside = {"content.lexical": 1.0, "content.dense": weight}
    if combine == "weighted":
        inside = {key: value / (1.0 + weight) for key, value in inside.items()}
    gain = by_rank if combine == "rrf" else by_stretched_score
    view = oracle_list({"content.lexical": lexical, "content.dense": dense}, inside, gain)
    scores = {doc: pytest.approx(score, abs=1e-9) for doc, score in view}
    fused = fuse_views(legs, program)
    combined = sorted((item for item in fused if item.views), key=lambda item: item.views["content"].rank)
    assert {item.doc_id for item in combined} == {doc for doc, _ in view}
    assert all(item.views["content"].score == scores[item.doc_id] for item in combined)
    own = [(item.doc_id, item.views["content"].score) for item in combined]  # ranks of equal sums may differ by an ulp
    wanted = oracle_list({"content": own, "sections": sections}, {"content": 2.0, "sections": 1.0}, by_rank)
    assert [item.doc_id for item in fused] == [doc for doc, _ in wanted]
    assert [item.score for item in fused] == pytest.approx([score for _, score in wanted])
    for item in fused:
        for key, ranked in (("content.lexical", lexical), ("content.dense", dense), ("sections.dense", sections)):
            place = next((n for n, (doc, _) in enumerate(ranked, 1) if doc == item.doc_id), None)
            assert (item.legs[key].rank if key in item.legs else None) == place


@given(RANKED, RANKED, RANKED)
def test_without_combine_every_leg_counts_by_itself(lexical: Any, dense: Any, sections: Any) -> None:
    program = combining(None)
    legs = [
        LegList("content.lexical", 2.0, lexical),
        LegList("content.dense", 2.0, dense),
        LegList("sections.dense", 1.0, sections),
    ]
    assert fuse_views(legs, program) == fuse(legs, program.fusion)


def test_a_combined_view_whose_dense_leg_is_missing_keeps_its_place() -> None:
    fused = fuse_views([leg("content.lexical", "a", "b"), leg("sections.dense", "b", "c")], combining("weighted"))
    assert [item.doc_id for item in fused] == ["b", "a", "c"]
    assert fused[0].views["content"].rank == 2
    assert set(fused[0].legs) == {"content.lexical", "sections.dense"}
