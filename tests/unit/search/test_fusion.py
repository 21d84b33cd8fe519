"""Fusion by hand: ranks, weights, ties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.program.schema import Fusion
from idxopt.search.fusion import LegList, fuse


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
