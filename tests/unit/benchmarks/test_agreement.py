"""When two rankings agree: by hand."""

from __future__ import annotations

import pytest

from benchmarks.agreement import agreement, compare_rankings, share


def ranking(*scores: float) -> list[tuple[str, float]]:
    return [(f"d{number}", score) for number, score in enumerate(scores)]


def test_equal_rankings_agree() -> None:
    found = compare_rankings(ranking(3, 2, 1), ranking(3, 2, 1))
    assert (found.same_set, found.same_order, found.score) == (True, True, 0.0)


def test_a_swap_is_another_order_of_the_same_set() -> None:
    found = compare_rankings([("a", 2.0), ("b", 1.0)], [("b", 2.0), ("a", 1.0)])
    assert found.same_set
    assert not found.same_order
    assert found.score == pytest.approx(1.0)


def test_only_documents_at_the_last_score_stand_for_each_other() -> None:
    ours = [("a", 5.0), ("b", 1.0)]
    assert compare_rankings(ours, [("a", 5.0), ("c", 1.000_005)], depth=2).same_set
    assert not compare_rankings(ours, [("c", 5.0), ("b", 1.0)], depth=2).same_set
    # c scores as the last one of theirs, but b does not score as the last one of ours
    assert not compare_rankings([("b", 1.1), ("a", 1.0)], [("a", 1.0), ("c", 1.0)], depth=2).same_set


def test_below_the_depth_nothing_may_be_missing() -> None:
    assert not compare_rankings([("a", 1.0)], [("b", 1.0)], depth=100).same_set
    assert not compare_rankings(ranking(2, 1), ranking(2), depth=100).same_set
    assert not compare_rankings([], ranking(1), depth=100).same_set
    assert compare_rankings([], [], depth=100).same_set


def test_what_comes_after_the_depth_does_not_count() -> None:
    assert compare_rankings(ranking(3, 2, 1), ranking(3, 2), depth=2).same_order


def test_over_queries() -> None:
    ours = {"1": ranking(2, 1), "2": ranking(2, 1), "3": []}
    theirs = {"1": ranking(2, 1), "2": [("d1", 2.0), ("d0", 1.0)], "3": ranking(1)}
    found = agreement(ours, theirs, ["1", "2", "3"], {"1": {"d0": 1}, "2": {"d0": 1}, "3": {"d0": 1}})
    assert found.queries == 3
    assert found.sets == pytest.approx(2 / 3)
    assert found.orders == pytest.approx(1 / 3)
    assert found.score == pytest.approx(1.0)
    assert found.ndcg == pytest.approx(2 / 3)
    assert found.ndcg_difference == pytest.approx(abs(2 / 3 - found.ndcg_other))
    assert found.ndcg_difference > 0.1


def test_nothing_measured_is_nothing_proved() -> None:
    assert share([]) == 0.0
