"""What is printed: every figure with interval and n, hostile text harmless, JSON that is JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from idxopt.evaluation.bootstrap import mean_interval
from idxopt.evaluation.comparison import MetricComparison, QueryDifference, compare, evaluate_run
from idxopt.evaluation.judgments import Query, pair_with_judgments
from idxopt.evaluation.metrics import parse_metric
from idxopt.evaluation.tables import (
    comparison_json,
    comparison_notes,
    comparison_table,
    detectable_note,
    evaluation_json,
    evaluation_notes,
    evaluation_table,
    query_table,
    wins_bar,
)

METRICS = [parse_metric("MRR"), parse_metric("nDCG@10")]


def printed(renderable) -> str:
    console = Console(width=160, no_color=True, force_terminal=False)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


def evaluated(run, label="run", text="[bold]a[/] query"):
    queries = [Query("1", text), Query("2", "second"), Query("3", "never judged")]
    return evaluate_run(
        run, pair_with_judgments(queries, {"1": {"d": 1}, "2": {"d": 1}, "9": {"d": 1}}), METRICS, label=label
    )


A = evaluated({"1": [("x", 2.0), ("d", 1.0)]}, "base[line]")
B = evaluated({"1": [("d", 1.0)], "2": [("d", 1.0)]}, "better")


def test_an_evaluation_shows_mean_interval_and_n():
    text = printed(evaluation_table(A, B))
    assert "base[line] (n = 2)" in text
    assert "better (n = 2)" in text
    assert "0.250 [0.000, 0.500]" in text
    assert "1.000 [1.000, 1.000]" in text


def test_what_was_left_out_is_said():
    assert evaluation_notes(A) == [
        "1 query found nothing: counted as 0 in every mean",
        "1 query without judgments: left out",
        "1 query judged, but not among the queries: left out",
    ]


def test_the_smallest_detectable_difference_is_said_with_its_n():
    # n = 2: t(.975; 1) = 12.706, t(.8; 1) = 1.3764; values 0 and .5: sd .3536
    note = detectable_note(A)
    assert note is not None
    assert "n = 2" in note
    assert "MRR none" in note  # 3.521 is more than any difference can be
    assert evaluation_json(A)["metrics"]["MRR"]["smallest_detectable"]["difference"] == pytest.approx(3.5206, abs=1e-3)
    found = [("x", 2.0), ("d", 1.0)]
    many = {str(number): found[number % 2 :] for number in range(40)}
    judged = pair_with_judgments([Query(key, key) for key in many], {key: {"d": 1} for key in many})
    note = detectable_note(evaluate_run(many, judged, METRICS))
    assert note is not None
    assert "MRR 0.115" in note  # (2.023 + .851) * .2532 / sqrt(40)
    assert detectable_note(B) is None  # all values are equal
    assert evaluation_json(B)["metrics"]["MRR"]["smallest_detectable"] is None


def test_a_comparison_takes_the_deviation_of_its_differences():
    compared = comparison_json(compare(A, B))["metrics"]["MRR"]["smallest_detectable"]
    assert compared["basis"] == "differences"
    assert compared["sd"] == pytest.approx(0.3536, abs=1e-4)


def test_a_comparison_says_it_in_words():
    text = printed(comparison_table(compare(A, B)))
    assert "B = better against A = base[line], n = 2" in text
    assert "+0.750 [+0.500, +1.000]" in text
    assert "2 / 0 / 0" in text
    assert "++++" in text
    assert "better" in text.split("B is")[1]


def test_one_query_prints_no_interval():
    queries = pair_with_judgments([Query("1", "q")], {"1": {"d": 1}})
    alone = evaluate_run({"1": [("d", 1.0)]}, queries, METRICS)
    assert "1.000 (no interval)" in printed(evaluation_table(alone))
    assert "one query gives no interval" in evaluation_notes(alone)


def test_differing_query_sets_are_said():
    other = evaluate_run({}, pair_with_judgments([Query("1", "q")], {"1": {"d": 1}}), METRICS)
    notes = " ".join(comparison_notes(compare(A, other)))
    assert "the query sets differ: 1 only in A and 0 only in B" in notes
    assert "the judgments differ" in notes
    assert comparison_notes(compare(A, B)) == []


def test_queries_are_listed_with_their_text_as_it_is():
    text = printed(query_table(compare(A, B).metric("MRR")))
    assert "1: [bold]a[/] query" in text
    assert "win" in text
    assert "+1.000" in text
    assert "loss" not in text


def test_json_is_json_and_complete():
    evaluation = json.loads(json.dumps(evaluation_json(A), allow_nan=False))
    assert evaluation["metrics"]["MRR"]["per_query"] == {"1": 0.5, "2": 0.0}
    assert evaluation["found_nothing"] == ["2"]
    comparison = json.loads(json.dumps(comparison_json(compare(A, B)), allow_nan=False))
    assert comparison["metrics"]["MRR"]["difference"]["mean"] == pytest.approx(0.75)
    assert [query["query"] for query in comparison["metrics"]["MRR"]["queries"]] == ["2", "1"]


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=400), st.integers(3, 40))
def test_a_bar_has_its_width_and_shows_every_kind_that_occurs(differences, width):
    queries = tuple(QueryDifference(str(number), "", 0.0, value) for number, value in enumerate(differences))
    compared = MetricComparison(METRICS[0], 0.0, 0.0, mean_interval([0.0]), queries)
    bar = wins_bar(compared, width)
    assert len(bar) == width
    assert bar == "".join(sorted(bar, key="+=-".index))
    for sign, value in (("+", 1.0), ("=", 0.0), ("-", -1.0)):
        assert (sign in bar) == (value in differences)
        share = differences.count(value) / len(differences) * width
        assert abs(bar.count(sign) - share) <= 2
