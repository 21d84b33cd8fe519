"""The rules of acceptance over arrays: what passes, what does not, and why."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from idxopt.optimizer.autoindex.acceptance import (
    Bar,
    Limits,
    Objective,
    choose_objective,
    confidence,
    fallen,
    final_cut,
    judge,
    judged_warnings,
    rank,
)
from idxopt.optimizer.ports import JUDGED, NDCG, RECALL, Scores, Size
from idxopt.optimizer.splits import PlacedQueries

N = 100
SIZE = Size(100, 1_000, 1)
NDCG_ONLY = Objective("ndcg", "")
RECALL_FIRST = Objective("recall", "")


def placed(name="all", places=range(N)) -> PlacedQueries:
    found = np.array(list(places), dtype=np.int64)
    return PlacedQueries(name, tuple(f"q{place}" for place in found), found)


def scores(ndcg=0.5, recall=0.9, judged=0.5, size=SIZE) -> Scores:
    values = {NDCG: ndcg, RECALL: recall, JUDGED: judged}
    return Scores({metric: np.broadcast_to(np.float64(each), (N,)).copy() for metric, each in values.items()}, size)


def moved(by: float, queries, start=0.5) -> np.ndarray:
    """N values of `start`; those of `queries` are changed."""
    values = np.full(N, start)
    values[list(queries)] += by
    return values


def bar(objective=NDCG_ONLY, rule="guarded", **more) -> Bar:
    return Bar(rule, objective, more.pop("dev", (placed(),)), **more)


BASE = scores()


def judged(candidate, how=None, current=BASE, baseline=BASE):
    return judge(candidate, current, baseline, how or bar())


@pytest.mark.parametrize(
    ("recall", "documents", "wanted", "aim"),
    [
        (0.951, 10_000, "auto", "ndcg"),
        (0.95, 10_000, "auto", "recall"),
        (0.5, 1_000, "auto", "recall"),
        (0.5, 999, "auto", "ndcg"),
        (0.99, 10, "recall", "recall"),
        (0.5, 10_000, "ndcg", "ndcg"),
    ],
)
def test_recall_is_the_objective_unless_it_is_blind(recall, documents, wanted, aim):
    found = choose_objective(recall, documents, wanted)
    assert found.aim == aim
    assert found.metrics == ((RECALL, NDCG) if aim == "recall" else (NDCG,))
    assert found.sentence.startswith(
        "the objective is Recall@100, then" if aim == "recall" else "the objective is nDCG"
    )


def test_the_sentence_says_why_recall_is_blind():
    assert "above 0.95" in choose_objective(0.97, 10_000).sentence
    assert "100 is more than 10% of 98 documents" in choose_objective(0.5, 98).sentence


def test_a_clear_gain_passes_and_says_how_clear():
    found = judged(scores(ndcg=moved(0.2, range(20))))
    assert (found.passed, found.metric, found.refused) == (True, NDCG, None)
    assert found.gain == pytest.approx(0.04)
    assert found.confidence > 0.99


def test_a_gain_that_may_be_luck_is_refused_by_the_guarded_rule_alone():
    candidate = scores(ndcg=moved(0.5, range(12)) + moved(-0.5, range(50, 60)) - 0.5)
    found = judged(candidate)
    assert not found.passed
    assert found.confidence == pytest.approx(0.62, abs=0.03)  # 12 wins, 10 losses of the same size; ties are none
    assert "confidence 0." in found.refused
    assert judged(candidate, bar(rule="paper")).passed


def test_a_sure_gain_that_is_too_small_is_refused_by_the_guarded_rule_alone():
    candidate = scores(ndcg=0.504)
    assert judged(candidate).refused == "nDCG@10 +0.0040: below 0.005"
    assert judged(candidate).confidence == 1.0
    assert judged(candidate, bar(rule="paper")).passed
    assert judged(scores(ndcg=0.505)).passed


def test_few_queries_need_more():
    """Three wins and one loss: a confidence between .90 and .95 is enough from 50 queries on."""
    three = scores(ndcg=moved(0.3, [0, 1, 2]) + moved(-0.08, [5]) - 0.5)
    share = confidence(three.values[NDCG][:49] - 0.5)
    assert 0.90 < share < 0.95
    assert not judged(three, bar(dev=(placed(places=range(49)),))).passed
    assert judged(three, bar(dev=(placed(places=range(50)),))).passed


def test_nothing_moved_is_no_win():
    for rule in ("guarded", "paper"):
        found = judged(scores(ndcg=0.5 + 1e-12), bar(rule=rule))
        assert (found.passed, found.confidence) == (False, 0.0)


def test_ties_count_as_no_win():
    """One win in 4 queries: (3/4)^4 of the resamples have a mean of exactly 0."""
    assert confidence(np.array([0.3, 0.0, 0.0, 0.0])) == pytest.approx(1 - 0.75**4, abs=0.02)
    assert confidence(np.array([0.1, -0.1])) == pytest.approx(0.25, abs=0.02)


@given(arrays(np.float64, st.integers(1, 80), elements=st.floats(-1, 1, width=16)), st.integers(0, 3))
def test_confidence_is_the_share_of_resampled_means_above_zero(differences, seed):
    generator = np.random.default_rng([seed, len(differences)])
    drawn = generator.integers(0, len(differences), size=(2_500, len(differences)))
    assert confidence(differences, seed) == np.mean(differences[drawn].sum(axis=1) > 1e-9)


def test_confidence_of_700_queries_takes_milliseconds():
    differences = np.random.default_rng(1).normal(0.001, 0.2, 700)
    confidence(differences)
    started = time.perf_counter()
    for _ in range(10):
        confidence(differences)
    assert (time.perf_counter() - started) / 10 < 0.05


def test_recall_may_not_pay_for_ndcg_beyond_the_tolerance():
    gained = moved(0.2, range(20))
    assert judged(scores(ndcg=gained, recall=0.8971)).passed
    refused = judged(scores(ndcg=gained, recall=0.8969)).refused
    assert refused == "nDCG@10 is gained, but Recall@100 falls by 0.0031 against the current program, more than 0.003"


def test_small_falls_do_not_add_up_over_a_path():
    current = scores(recall=0.898)
    refused = judged(scores(ndcg=moved(0.2, range(20)), recall=0.896), current=current).refused
    assert "Recall@100 falls by 0.0040 against the baseline" in refused


def test_with_recall_first_either_metric_may_pass():
    how = bar(RECALL_FIRST)
    by_recall = judged(scores(recall=moved(0.1, range(30), 0.9)), how)
    by_ndcg = judged(scores(ndcg=moved(0.2, range(20))), how)
    assert (by_recall.passed, by_recall.metric) == (True, RECALL)
    assert (by_ndcg.passed, by_ndcg.metric) == (True, NDCG)
    assert rank(by_recall) > rank(by_ndcg)
    neither = judged(scores(recall=moved(0.1, range(30), 0.9), ndcg=0.49), how)
    assert "Recall@100 is gained, but nDCG@10 falls by 0.0100" in neither.refused
    assert "nDCG@10 -0.0100: below 0.005" in neither.refused


def test_the_papers_rule_is_lexicographic():
    how = bar(RECALL_FIRST, "paper")
    assert judged(scores(recall=moved(0.001, [0], 0.9), ndcg=0.1), how).passed
    assert judged(scores(ndcg=moved(0.001, [0])), how).passed
    assert "Recall@100 falls by 0.0100" in judged(scores(ndcg=0.9, recall=0.89), how).refused
    assert judged(scores(ndcg=0.51, recall=0.1), bar(rule="paper")).passed


def test_no_dev_set_may_fall():
    sets = (placed("web", range(60)), placed("mail", range(60, N)))
    candidate = scores(ndcg=moved(0.3, range(40)) + moved(-0.1, range(60, 75)) - 0.5)
    assert judged(candidate).passed
    refused = judged(candidate, bar(dev=sets)).refused
    assert refused.startswith("dev set mail falls: nDCG@10 -0.0375 over 40 queries")
    assert judged(candidate, bar(rule="paper", dev=sets)).passed


def test_no_slice_may_collapse_but_small_ones_are_not_looked_at():
    candidate = scores(ndcg=moved(0.3, range(40)) + moved(-0.2, range(60, 75)) - 0.5)
    ten = bar(slices=(placed("identifier", range(60, 70)),))
    assert "slice identifier falls: nDCG@10 -0.2000 over 10 queries" in judged(candidate, ten).refused
    assert judged(candidate, bar(slices=(placed("identifier", range(60, 69)),))).passed
    noise = scores(ndcg=moved(0.3, range(40)) + moved(-0.2, [60]) - 0.5)
    assert fallen(noise, BASE, ten) is None


def test_limits_hold_under_every_rule():
    candidate = scores(ndcg=moved(0.2, range(20)), size=Size(101, 2_000, 2))
    for rule in ("guarded", "paper"):
        assert judged(candidate, bar(rule=rule, limits=Limits(views=2, rows=101, bytes=2_000))).passed
        for limits, name in ((Limits(views=1), "views"), (Limits(rows=100), "rows"), (Limits(bytes=1_999), "bytes")):
            assert name in judged(candidate, bar(rule=rule, limits=limits)).refused


def test_a_difference_in_judged_documents_is_warned_of():
    places = np.arange(N)
    assert judged_warnings(scores(judged=0.52), BASE, places) == ()
    (warning,) = judged_warnings(scores(judged=0.47), BASE, places)
    assert "from 0.500 to 0.470" in warning
    assert "too small" in warning
    assert judged(scores(judged=0.6)).warnings


def test_only_dev_queries_are_looked_at():
    """Whatever the others are worth, the judgement is the same."""
    dev = (placed("dev", range(0, N, 2)),)
    gained = moved(0.2, range(40))
    spoiled = gained.copy()
    spoiled[1::2] = 0.0
    found = [judged(scores(ndcg=each), bar(dev=dev)) for each in (gained, spoiled)]
    assert found[0] == found[1]


def test_the_cut_keeps_the_longest_prefix_near_the_baseline():
    good, bad = scores(ndcg=moved(0.1, range(10))), scores(ndcg=moved(-0.3, range(50)))
    held_out = [placed("held", range(0, N, 5))]
    for path, kept in (([good, good], 2), ([good, bad], 1), ([bad, good], 2), ([bad, bad], 0), ([], 0)):
        cut = final_cut(BASE, path, NDCG_ONLY, held_out)
        assert (cut.kept, cut.of, cut.n) == (kept, len(path), 20)
        assert str(kept) in cut.sentence or not path


def test_one_standard_error_below_is_still_near():
    one_loss = scores(ndcg=moved(-0.4, [0]))  # mean -s / n, standard error s / n
    assert final_cut(BASE, [one_loss], NDCG_ONLY, [placed()]).kept == 1
    three = scores(ndcg=moved(-0.4, [0, 1, 2]))
    assert final_cut(BASE, [three], NDCG_ONLY, [placed()]).kept == 0
    assert final_cut(BASE, [scores(ndcg=0.499)], NDCG_ONLY, [placed()]).kept == 0


def test_the_cut_looks_at_recall_with_the_tolerance_where_it_is_a_constraint():
    candidate = scores(ndcg=0.6, recall=0.898)
    assert final_cut(BASE, [candidate], NDCG_ONLY, [placed()]).kept == 1
    assert final_cut(BASE, [candidate], RECALL_FIRST, [placed()]).kept == 0


@pytest.mark.parametrize("places", [[], [4]])
def test_too_few_held_out_queries_cut_nothing(places):
    cut = final_cut(BASE, [scores(ndcg=0.0)], NDCG_ONLY, [placed(places=places)])
    assert (cut.kept, cut.n) == (1, len(places))
    assert "show nothing" in cut.sentence


def test_useless_changes_rarely_pass_and_useful_ones_often():
    """100 queries, differences with a deviation of .15: no effect passes in about 10%, one of .04 nearly always."""
    generator = np.random.default_rng(3)
    rates = []
    for effect in (0.0, 0.04):
        drawn = generator.normal(effect, 0.15, size=(300, N))
        rates.append(np.mean([judged(scores(ndcg=0.5 + values)).passed for values in drawn]))
    assert rates[0] < 0.14
    assert rates[1] > 0.85
