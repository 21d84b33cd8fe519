import math
from dataclasses import replace

import pytest

from idxopt.evaluation.bootstrap import Interval
from idxopt.optimizer.ports import Size
from idxopt.optimizer.record import Rankings, Shown
from idxopt.optimizer.report.coverage import to_fill_in
from idxopt.optimizer.report.derived import completed, decisive, effects
from idxopt.optimizer.report.heat import level
from idxopt.optimizer.report.overview import judged_apart
from idxopt.optimizer.report.pareto import Point, front
from idxopt.optimizer.report.similarity import jaccard, rank_biased_overlap
from tests.unit.optimizer.report.records import URL_ID, empty, filled


def test_finals_are_the_paired_figures_of_each_set_and_metric():
    full = completed(filled(5, queries=60))
    final = next(one for one in full.finals if one.role == "test" and one.metric == "nDCG@10")
    asked = [query for query in full.queries if query.role == "test"]
    moved = [(query.values["nDCG@10"][-1] or 0.0) - (query.values["nDCG@10"][0] or 0.0) for query in asked]
    assert final.difference.mean == pytest.approx(sum(moved) / len(moved))
    assert (final.wins, final.losses) == (sum(one > 1e-9 for one in moved), sum(one < -1e-9 for one in moved))
    assert final.wins + final.ties + final.losses == final.difference.n == len(asked)
    assert {(one.role, one.metric) for one in full.finals} == {
        (role, metric) for role in ("dev", "held_out", "test") for metric in ("nDCG@10", "Recall@100", "Judged@10")
    }


def test_what_the_study_filled_in_is_kept():
    record = completed(filled(5))
    assert completed(record) == record
    assert completed(empty()) == empty()


def test_slices_hold_every_query_of_their_name():
    full = completed(filled(3, queries=40))
    dev = [query for query in full.queries if query.role == "dev"]
    sizes = {one.name: one.difference.n for one in full.slices if one.set == "cranfield (dev)"}
    assert sizes["short"] == sum(query.kind == "short" for query in dev)
    assert sizes["1-3 words"] == sum("1-3 words" in query.slices for query in dev)


def test_coverage_differs_is_told_from_coverage_is_equal():
    full = completed(filled(5))
    judged = [one for one in full.finals if one.metric == "Judged@10"]
    assert judged
    assert all(map(judged_apart, judged))
    same = replace(judged[0], difference=Interval(0.0, 0.0, 0.0, 9, 0.95, "constant"))
    assert not judged_apart(same)
    assert not judged_apart(next(one for one in full.finals if one.metric == "nDCG@10"))


def test_effects_count_trials_with_a_gain():
    record = filled(30)
    assert sum(one.gain.n for one in effects(record)) == sum(trial.gain is not None for trial in record.trials)
    means = [one.gain.mean for one in effects(record)]
    assert means == sorted(means, reverse=True)


def test_the_unjudged_document_that_moves_most_comes_first():
    relevant, stays, enters, climbs = Shown("r", 2), Shown("s", None), Shown("e", None), Shown("c", None)
    one = Rankings("q", {"baseline": (relevant, stays, climbs), "winner": (enters, stays, relevant, climbs)})
    found = decisive((one,))
    assert [each.doc_id for each in found] == ["e", "c"]
    assert found[0].weight == pytest.approx(1 / 2)  # place 1 against none; the ideal gain is 2
    assert found[1].weight == pytest.approx((1 / math.log2(4) - 1 / math.log2(5)) / 2)
    assert found[1].ranks == {"baseline": 3, "winner": 4}


def test_the_list_to_fill_in_is_read_as_judgments_once_it_has_grades(tmp_path):
    from idxopt.evaluation.qrels import load_qrels

    full = completed(filled(3))
    lines = to_fill_in(full).splitlines()
    assert len(lines) == 1 + len(full.unjudged) <= 21
    filled_in = tmp_path / "unjudged.csv"
    filled_in.write_text(to_fill_in(full).replace(",,", ",1,", len(full.unjudged)), encoding="utf-8")
    read = load_qrels(filled_in)
    assert {(query, doc) for query, graded in read.items() for doc in graded} == {
        (one.query_id, one.doc_id) for one in full.unjudged
    }
    assert URL_ID in read


def test_texts_in_the_list_are_no_formulas():
    record = completed(filled(3))
    unjudged = (replace(record.unjudged[0], title="=1+1"), replace(record.unjudged[1], title="plain"))
    text = to_fill_in(replace(record, unjudged=unjudged))
    assert "'=1+1" in text
    assert ",plain" in text


def test_the_front_has_what_nothing_beats():
    def point(label: str, value: float, size: int) -> Point:
        return Point("trial", label, Interval(value, None, None, 1, 0.95, "none"), Size(size, size, 1))

    found = [point("a", 0.4, 10), point("b", 0.5, 10), point("c", 0.5, 20), point("d", 0.6, 30), point("e", 0.3, 5)]
    assert [one.label for one in front(found, lambda one: one.size.bytes)] == ["e", "b", "d"]


def test_similarity_of_rankings():
    ids = [str(number) for number in range(10)]
    assert rank_biased_overlap(ids, ids) == pytest.approx(1)
    assert rank_biased_overlap(ids, ["x", "y"]) == 0
    assert rank_biased_overlap([], []) == 1
    assert rank_biased_overlap(ids, []) == 0
    # By hand, p = .5: overlaps 0 and 2 of 2; (1-p)/p * (0*p + 1*p^2) + 1*p^2 = .25 + .25.
    assert rank_biased_overlap(["a", "b"], ["b", "a"], 0.5) == pytest.approx(0.5)
    assert rank_biased_overlap(ids, ids[::-1]) == pytest.approx(rank_biased_overlap(ids[::-1], ids))
    assert jaccard(["a", "b"], ["b", "c"]) == pytest.approx(1 / 3)
    assert jaccard([], []) == 1


@pytest.mark.parametrize(
    ("difference", "expected"), [(0, "h0"), (0.019, "h0"), (-0.02, "l1"), (0.1, "g2"), (-0.5, "l3"), (0.2, "g3")]
)
def test_cells_get_stronger_with_the_difference(difference, expected):
    assert level(difference) == expected
