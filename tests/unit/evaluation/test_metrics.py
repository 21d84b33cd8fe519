"""Metric names and values, against figures worked out by hand and against pytrec_eval."""

import math

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import EvaluationError, UsageError
from idxopt.evaluation.metrics import DEFAULT_METRICS, PAPER_METRICS, Metric, mean, parse_metric, per_query_values

DOCS = [f"d{number}" for number in range(12)]
RANKINGS = st.lists(st.sampled_from(DOCS), unique=True, max_size=12).map(lambda docs: [(doc, 1.0) for doc in docs])
GRADED = st.dictionaries(st.sampled_from(DOCS), st.integers(0, 3), min_size=1)


def values(run, qrels, *names):
    computed = per_query_values(run, qrels, [parse_metric(name) for name in names])
    return {str(metric): by_query for metric, by_query in computed.items()}


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("nDCG@10", "nDCG@10"),
        ("ndcg@5", "nDCG@5"),
        ("NDCG", "nDCG"),
        ("Recall@100", "Recall@100"),
        ("R@10", "Recall@10"),
        ("MRR@10", "MRR@10"),
        ("rr", "MRR"),
        (" P@5 ", "P@5"),
        ("precision(rel=2)@5", "P(rel=2)@5"),
        ("MAP", "MAP"),
        ("AP@100", "MAP@100"),
        ("hit@3", "Success@3"),
        ("judged@10", "Judged@10"),
    ],
)
def test_names_that_users_type(typed, name):
    assert str(parse_metric(typed)) == name


def test_the_default_metrics():
    assert [str(metric) for metric in DEFAULT_METRICS] == ["nDCG@10", "Recall@10", "Recall@100", "MRR", "Judged@10"]


@given(st.sampled_from(["nDCG", "Recall", "MRR", "P", "MAP", "Success", "Judged"]), st.integers(1, 10_000))
def test_names_round_trip(kind, cutoff):
    assert parse_metric(str(Metric(kind, cutoff))) == Metric(kind, cutoff)


def parsed(text: str) -> Metric | UsageError:
    try:
        return parse_metric(text)
    except UsageError as error:
        return error


@given(st.text(max_size=20) | st.from_regex(r"[A-Za-z]{0,6}(\(rel=\d*\))?@?\d{0,6}", fullmatch=True))
def test_any_text_is_a_metric_or_a_usage_error(text):
    found = parsed(text)
    if isinstance(found, UsageError):
        assert found.remedy
    else:
        assert parse_metric(str(found)) == found


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("nDGC@10", "did you mean nDCG"),
        ("recal@10", "did you mean Recall"),
        ("@10", "use one of"),
        ("Recall", "write Recall@10"),
        ("P@0", "use 1 to 10000"),
        ("P@10001", "use 1 to 10000"),
        ("nDCG(rel=2)@10", "takes no"),
        ("P(rel=0)@10", "must be 1 or more"),
        ("P@-1", "use one of"),
    ],
)
def test_a_wrong_name_gets_a_remedy(typed, message):
    with pytest.raises(UsageError, match=message):
        parse_metric(typed)


def test_figures_worked_out_by_hand():
    """Grades 3, 2, 1; ranks 2 and 4 of five hold the documents with grade 2 and 3; one hit is judged 0."""
    qrels = {"q": {"a": 3, "b": 2, "c": 1, "z": 0}}
    run = {"q": [("x", 9.0), ("b", 8.0), ("z", 7.0), ("a", 6.0), ("y", 5.0)]}
    found = values(run, qrels, "nDCG@10", "nDCG@2", "Recall@10", "Recall@2", "MRR", "MRR@1", "P@5", "P(rel=3)@5", "MAP")
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    assert found["nDCG@10"]["q"] == pytest.approx((2 / math.log2(3) + 3 / math.log2(5)) / ideal)
    assert found["nDCG@2"]["q"] == pytest.approx((2 / math.log2(3)) / (3 + 2 / math.log2(3)))
    assert found["Recall@10"]["q"] == pytest.approx(2 / 3)
    assert found["Recall@2"]["q"] == pytest.approx(1 / 3)
    assert found["MRR"]["q"] == 0.5
    assert found["MRR@1"]["q"] == 0
    assert found["P@5"]["q"] == pytest.approx(2 / 5)
    assert found["P(rel=3)@5"]["q"] == pytest.approx(1 / 5)
    assert found["MAP"]["q"] == pytest.approx((1 / 2 + 2 / 4) / 3)
    rest = values(run, qrels, "Success@1", "Success@2", "Judged@10", "Judged@2")
    assert (rest["Success@1"]["q"], rest["Success@2"]["q"]) == (0, 1)
    assert rest["Judged@10"]["q"] == pytest.approx(3 / 5), "of the five that were returned"
    assert rest["Judged@2"]["q"] == 0.5


@given(st.dictionaries(st.sampled_from("pqr"), GRADED, min_size=1), st.dictionaries(st.sampled_from("pqrs"), RANKINGS))
def test_equal_to_pytrec_eval(qrels, run):
    names = {"nDCG@5": "ndcg_cut_5", "Recall@10": "recall_10", "MRR": "recip_rank", "P@5": "P_5", "MAP": "map"}
    scored = {query: {doc: float(-rank) for rank, (doc, _) in enumerate(ranking)} for query, ranking in run.items()}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(names.values()))
    expected = evaluator.evaluate({query: scored[query] for query in qrels if scored.get(query)})
    for name, by_query in values(run, qrels, *names).items():
        assert by_query.keys() == qrels.keys()
        for query, value in by_query.items():
            assert value == pytest.approx(expected.get(query, {}).get(names[name], 0.0)), (name, query)


def test_h17_a_query_that_found_nothing_counts_zero():
    qrels = {"hits": {"d": 1}, "absent": {"d": 1}, "none": {"d": 1}}
    found = values({"hits": [("d", 1.0)], "none": [], "unjudged": [("d", 1.0)]}, qrels, "nDCG@10", "MRR", "Judged@10")
    for by_query in found.values():
        assert by_query == {"absent": 0, "hits": 1, "none": 0}
        assert mean(by_query) == pytest.approx(1 / 3)


@given(GRADED, st.lists(st.sampled_from(DOCS), unique=True, min_size=5, max_size=12))
def test_h18_renaming_documents_changes_no_figure(graded, documents):
    """All scores equal; the renaming reverses the order of the ids, by which trec_eval would break the ties."""
    renamed = dict(zip(sorted(DOCS), sorted((f"e{doc}" for doc in DOCS), reverse=True), strict=True))
    names = ("nDCG@3", "nDCG@10", "Recall@3", "MRR", "MRR@2", "P@3", "MAP", "Success@2", "Judged@3")
    before = values({"q": [(doc, 1.0) for doc in documents]}, {"q": graded}, *names)
    after = values(
        {"q": [(renamed[doc], 1.0) for doc in documents]},
        {"q": {renamed[doc]: grade for doc, grade in graded.items()}},
        *names,
    )
    assert before == after


def test_the_order_of_the_ranking_decides_even_against_the_scores():
    assert values({"q": [("a", 1.0), ("b", 2.0)]}, {"q": {"a": 1}}, "MRR")["MRR"]["q"] == 1


def test_scores_that_differ_too_little_for_single_precision_keep_their_order():
    ranking = [("z", 1.0 + 1e-12), ("a", 1.0)]
    assert values({"q": ranking}, {"q": {"z": 1}}, "MRR", "MRR@1") == {"MRR": {"q": 1.0}, "MRR@1": {"q": 1.0}}


def test_a_document_that_comes_twice_is_an_error():
    with pytest.raises(EvaluationError, match="query 'q' holds document 'a' twice"):
        values({"q": [("a", 2.0), ("b", 1.5), ("a", 1.0)]}, {"q": {"a": 1}}, "MRR")


@pytest.mark.parametrize("odd", ["a\x00b", "a\ud800b", "", "a b", "\U0001f600"])
def test_odd_ids_are_ids_like_others(odd):
    assert values({odd: [("a", 2.0), (odd, 1.0)]}, {odd: {odd: 1, "b": 1}}, "MRR", "Recall@10", "Judged@2") == {
        "MRR": {odd: 0.5},
        "Recall@10": {odd: 0.5},
        "Judged@2": {odd: 0.5},
    }


def test_negative_grades_are_judged_and_not_relevant():
    found = values({"q": [("spam", 2.0), ("good", 1.0)]}, {"q": {"spam": -2, "good": 1}}, "nDCG@10", "P@2", "Judged@2")
    assert found["nDCG@10"]["q"] == pytest.approx(1 / math.log2(3))
    assert found["P@2"]["q"] == 0.5
    assert found["Judged@2"]["q"] == 1


def test_the_papers_metrics_with_one_relevant_document():
    computed = per_query_values({"q": [("b", 2.0), ("a", 1.0)]}, {"q": {"a": 1}}, PAPER_METRICS)
    named = {str(metric): found["q"] for metric, found in computed.items()}
    discounted = 1 / math.log2(3)
    assert named == pytest.approx(
        {"nDCG@5": discounted, "nDCG@10": discounted, "Recall@5": 1, "P@5": 0.2, "P@1": 0, "Recall@1": 0, "MRR": 0.5}
    )
