"""Evaluations, comparisons and verdicts (contract 10; H17)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import EvaluationError, LegFailed, UsageError
from idxopt.evaluation.comparison import (
    answer_queries,
    compare,
    evaluate_run,
    non_inferior,
    parse_requirement,
)
from idxopt.evaluation.judgments import Query, pair_with_judgments
from idxopt.evaluation.metrics import parse_metric

MRR = [parse_metric("MRR")]
FOUND = {1: [("good", 1.0)], 0.5: [("x", 2.0), ("good", 1.0)], 0: [("x", 1.0)]}
"""Rankings by the MRR that they have."""


def judged(*query_ids, grade=1):
    queries = [Query(query_id, f"text of {query_id}") for query_id in query_ids]
    return pair_with_judgments(queries, {query_id: {"good": grade} for query_id in query_ids})


def evaluated(values, label="run"):
    """An evaluation whose MRR is as given by query."""
    run = {query_id: FOUND[value] for query_id, value in values.items()}
    return evaluate_run(run, judged(*values), MRR, label=label)


def of_length(value, count):
    return {f"q{number}": value for number in range(count)}


QUERIES = (Query("hits", "a"), Query("nothing", "b"), Query("slow", "c"), Query("unjudged", "d"))
QRELS = {query.id: {"good": 1} for query in QUERIES[:3]}


class TestH17:
    """Three judged queries: hits, no hits, a time-out; and one query that nobody judged."""

    def search(self, query):
        if query.id == "slow":
            raise LegFailed("the leg content.lexical timed out after 2 s")
        return FOUND[1] if query.id == "hits" else []

    def test_a_timed_out_query_is_named_and_no_mean_exists(self):
        with pytest.raises(EvaluationError, match=r"query 'slow' \('c'\) failed: the leg content.lexical timed out"):
            answer_queries(pair_with_judgments(QUERIES, QRELS).queries, self.search)

    def test_a_failure_that_was_collected_is_named_too(self):
        pair = pair_with_judgments(QUERIES, QRELS)
        with pytest.raises(EvaluationError, match=r"query 'slow' .* timed out"):
            evaluate_run({"hits": FOUND[1], "nothing": []}, pair, MRR, failures={"slow": "timed out"})

    def test_without_it_the_empty_one_counts_zero(self):
        pair = pair_with_judgments(QUERIES, {name: QRELS[name] for name in ("hits", "nothing")})
        evaluation = evaluate_run(answer_queries(pair.queries, self.search), pair)
        assert evaluation.n == 2
        assert evaluation.mean("nDCG@10") == evaluation.mean("MRR") == 0.5
        assert evaluation.empty == ("nothing",)
        assert evaluation.unjudged == 2, "'slow' and 'unjudged' have no judgment here"

    def test_a_query_missing_from_the_run_breaks_no_comparison(self):
        pair = pair_with_judgments(QUERIES, QRELS)
        a = evaluate_run({"hits": FOUND[1]}, pair, MRR)
        b = evaluate_run({"hits": FOUND[1], "nothing": FOUND[1]}, pair, MRR)
        comparison = compare(a, b)
        assert comparison.n == 3
        assert comparison.metric("MRR").difference.mean == pytest.approx(1 / 3)


def test_queries_of_the_run_without_judgments_are_counted_and_left_out():
    evaluation = evaluate_run({"q": FOUND[1], "other": FOUND[0]}, judged("q"), MRR)
    assert (evaluation.n, evaluation.unjudged, evaluation.mean("MRR")) == (1, 1, 1.0)


def test_queries_without_any_relevant_document_count_and_are_counted():
    pair = pair_with_judgments([Query("a", "a"), Query("b", "b")], {"a": {"good": 1}, "b": {"good": 0}})
    evaluation = evaluate_run({"a": FOUND[1], "b": FOUND[1]}, pair, MRR)
    assert (evaluation.mean("MRR"), evaluation.n, evaluation.without_relevant) == (0.5, 2, 1)


def test_a_metric_that_was_not_computed_is_an_error():
    with pytest.raises(EvaluationError, match=r"nDCG@10 was not computed for run"):
        evaluated({"q": 1}).mean("nDCG@10")


def test_a_comparison_is_paired_and_sorted():
    a = evaluated({"one": 0, "two": 1, "three": 0.5, "four": 0.5}, "A")
    b = evaluated({"one": 1, "two": 0.5, "three": 0.5, "four": 1}, "B")
    compared = compare(a, b).metric("MRR")
    assert (compared.mean_a, compared.mean_b, compared.difference.mean) == (0.5, 0.75, 0.25)
    assert (compared.wins, compared.ties, compared.losses) == (2, 1, 1)
    assert [(query.query_id, query.difference) for query in compared.queries] == [
        ("one", 1),
        ("four", 0.5),
        ("three", 0),
        ("two", -0.5),
    ]
    assert compared.queries[0].text == "text of one"


def test_only_shared_queries_are_compared_and_the_rest_is_counted():
    comparison = compare(evaluated({"x": 1, "y": 0, "a": 1}), evaluated({"x": 0, "y": 0, "b": 1, "c": 1}))
    assert (comparison.n, comparison.only_a, comparison.only_b) == (2, 1, 2)
    assert comparison.metric("MRR").difference.mean == -0.5


def test_other_judgments_are_noticed():
    run = {"q": FOUND[1]}
    a, b = evaluate_run(run, judged("q"), MRR), evaluate_run(run, judged("q", grade=2), MRR)
    assert compare(a, a).same_judgments
    assert not compare(a, b).same_judgments


def test_nothing_shared_is_an_error():
    with pytest.raises(EvaluationError, match="share no judged query"):
        compare(evaluated({"x": 1}), evaluated({"y": 1}))
    other = evaluate_run({"x": FOUND[1]}, judged("x"), [parse_metric("P@5")])
    with pytest.raises(EvaluationError, match="share no metric"):
        compare(evaluated({"x": 1}), other)


@pytest.mark.parametrize(("a", "b", "finding"), [(0, 1, "better"), (1, 0, "worse"), (1, 1, "no clear difference")])
def test_findings(a, b, finding):
    assert compare(evaluated(of_length(a, 9)), evaluated(of_length(b, 9))).metric("MRR").finding == finding


def test_one_query_is_no_finding():
    assert compare(evaluated({"q": 0}), evaluated({"q": 1})).metric("MRR").finding == "no clear difference"


@given(st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([0, 0.5, 1]), min_size=1))
def test_swapping_the_sides_swaps_the_findings(values):
    other = {query_id: 1 - value if value != 0.5 else 0.5 for query_id, value in values.items()}
    there = compare(evaluated(values), evaluated(other)).metric("MRR")
    back = compare(evaluated(other), evaluated(values)).metric("MRR")
    assert there.difference.mean == pytest.approx(-back.difference.mean)
    assert (there.wins, there.losses, there.ties) == (back.losses, back.wins, back.ties)


class TestNonInferiority:
    def test_the_same_results_pass(self):
        live = evaluated(of_length(0.5, 50))
        verdict = non_inferior(live, live, "MRR")
        assert (verdict.outcome, verdict.lower, verdict.n) == ("passed", 0.0, 50)

    def test_clearly_worse_fails(self):
        live = evaluated(of_length(1, 50))
        new = evaluated(of_length(1, 50) | of_length(0, 20))
        verdict = non_inferior(new, live, "MRR")
        assert verdict.outcome == "failed"
        assert (verdict.upper or 0) < -0.02

    def test_a_few_queries_that_differ_both_ways_are_undecided(self):
        live = evaluated(of_length(0, 10) | {"a": 0, "b": 1})
        new = evaluated(of_length(0, 10) | {"a": 1, "b": 0})
        verdict = non_inferior(new, live, "MRR")
        assert verdict.outcome == "undecided"
        assert (verdict.lower or 0) < -0.02 < (verdict.upper or 0)

    def test_one_query_decides_nothing(self):
        verdict = non_inferior(evaluated({"q": 1}), evaluated({"q": 0}), "MRR")
        assert (verdict.outcome, verdict.lower) == ("undecided", None)
        assert "no bounds" in str(verdict)

    def test_the_margin_counts(self):
        live, new = evaluated(of_length(1, 200)), evaluated(of_length(1, 200) | of_length(0.5, 10))
        assert non_inferior(new, live, "MRR", margin=0.001).outcome == "failed"
        assert non_inferior(new, live, "MRR", margin=0.1).outcome == "passed"

    def test_the_bound_is_the_one_sided_one(self):
        rng = np.random.default_rng(4)
        choices = rng.choice([0, 0.5, 1], (2, 120))
        live, new = (evaluated({f"q{i}": FOUND_KEYS[v] for i, v in enumerate(row)}) for row in choices)
        verdict = non_inferior(new, live, "MRR")
        differences = choices[1] - choices[0]
        theory = differences.mean() - 1.645 * differences.std(ddof=1) / 120**0.5
        assert verdict.lower == pytest.approx(theory, abs=0.005)

    @pytest.mark.parametrize("margin", [-0.01, 1.5, float("nan")])
    def test_a_margin_out_of_range(self, margin):
        live = evaluated({"q": 1})
        with pytest.raises(UsageError, match="margin"):
            non_inferior(live, live, "MRR", margin=margin)

    def test_no_shared_query(self):
        with pytest.raises(EvaluationError, match="no judged query"):
            non_inferior(evaluated({"a": 1}), evaluated({"b": 1}), "MRR")


FOUND_KEYS = {0.0: 0, 0.5: 0.5, 1.0: 1}


@pytest.mark.parametrize(
    ("text", "shown", "met"),
    [
        ("MRR>=.5", "MRR>=0.5", True),
        ("MRR > 0.5", "MRR>0.5", False),
        ("mrr>=1", "MRR>=1", False),
        ("MRR>=0", "MRR>=0", True),
    ],
)
def test_requirements(text, shown, met):
    requirement = parse_requirement(text)
    assert str(requirement) == shown
    assert requirement.met(evaluated({"a": 1, "b": 0})) is met


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("nDCG@10", "is no requirement"),
        ("nDCG@10<=.4", "is no requirement"),
        ("nDCG@10>=high", "is no requirement"),
        (">=.4", "is no requirement"),
        ("nDCG@10>=40", "above 1"),
        ("quality>=.4", "is no metric"),
    ],
)
def test_wrong_requirements(text, cause):
    with pytest.raises(UsageError, match=cause) as caught:
        parse_requirement(text)
    assert caught.value.remedy


def requirement_or_error(text: str):
    try:
        return parse_requirement(text)
    except UsageError as error:
        return error


@given(st.text("nDCGMR@1>=.0 ", max_size=15))
def test_any_text_is_a_requirement_or_a_usage_error(text):
    found = requirement_or_error(text)
    assert found.remedy if isinstance(found, UsageError) else parse_requirement(str(found)) == found
