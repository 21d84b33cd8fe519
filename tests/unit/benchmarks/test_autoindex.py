"""The AutoIndex benchmark: its lists of programs are what it says, its summaries count right, its contenders agree."""

import math

import pytest

from benchmarks.autoindex.bench import BASELINE
from benchmarks.autoindex.candidates import KINDS, candidates
from benchmarks.autoindex.contenders import Incremental, Naive, Scored, Task, searched_texts
from benchmarks.autoindex.singles import made, searched, singles, sliced, whole
from benchmarks.autoindex.speed import Pair, Timings, add_timings
from benchmarks.autoindex.summary import mean_by_seed, over_seeds, wins, without_best
from benchmarks.report import Bar, Report
from idxopt.evaluation.judgments import JudgedQueries, Query
from idxopt.operators.row import Document, Row
from idxopt.optimizer.corpus import Corpus
from idxopt.program.canonical import program_hash

TEXTS = {
    "a": ("Pumps", "A pump leaks where its gasket is worn. " * 4),
    "b": ("Valves", "Valves are opened by hand. The valve of a boiler is opened by nobody."),
    "c": ("Boilers", "A boiler heats water; its burner is cleaned once a year."),
    "d": ("Nothing", "Other matters."),
}


def task() -> Task:
    documents = [Document(id, {"title": title, "text": body}) for id, (title, body) in TEXTS.items()]
    queries = (Query("1", "leaking gasket"), Query("2", "boiler valve"), Query("3", "clean the burner"))
    qrels = {"1": {"a": 1}, "2": {"b": 1}, "3": {"c": 1}}
    return Task(Corpus.of(documents), JudgedQueries(queries, qrels))


def test_the_single_changes_are_about_sixty_different_programs():
    programs = singles()
    hashes = {program_hash(program) for program in programs.values()}
    assert 55 <= len(programs) == len(hashes) <= 65
    assert program_hash(BASELINE) not in hashes


def test_the_candidates_are_ten_of_each_kind_in_turn():
    found = candidates()
    assert [one.kind for one in found] == [*KINDS] * 10
    assert [one.number for one in found[:8]] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert len({program_hash(one.program) for one in found} | {program_hash(BASELINE)}) == 41
    assert [one.name for one in candidates(1)] == [one.name for one in found[:4]]


def test_a_single_change_is_the_baseline_with_that_change():
    assert program_hash(made({"content": whole()})) == program_hash(BASELINE)


@pytest.mark.parametrize(
    ("pairs", "share", "equal"),
    [
        ([(0.5, 0.4), (0.5, 0.4), (0.4, 0.5)], 2 / 3, 0),
        ([(0.5, 0.5 + 1e-15), (0.6, 0.5)], 1, 1),
        ([(0.5, 0.5)], math.nan, 1),
    ],
)
def test_equal_pairs_decide_nothing(pairs, share, equal):
    found = wins(pairs)
    assert found.equal == equal
    assert found.share == pytest.approx(share, nan_ok=True)


def test_the_mean_without_the_best_collection_is_geometric():
    assert without_best({"a": 1.1, "b": 3.0, "c": 0.9}) == pytest.approx(math.sqrt(1.1 * 0.9) - 1)
    assert math.isnan(without_best({"a": 1.1}))


def test_means_by_seed_are_over_collections():
    by_seed = mean_by_seed({"a": [0.1, 0.3], "b": [0.3, 0.5]})
    assert by_seed == pytest.approx([0.2, 0.4])
    assert over_seeds(by_seed).mean == pytest.approx(0.3)
    with pytest.raises(ValueError, match="shorter"):
        mean_by_seed({"a": [0.1, 0.3], "b": [0.3]})


def test_a_bar_above_a_limit_is_not_met_at_it():
    assert not Bar("gain", 0.0, ">", 0).met
    assert Bar("gain", 1e-9, ">", 0).met


def test_contenders_rank_alike():
    given = task()
    naive, ours = Naive(given), Incremental(given, BASELINE)
    rows = made({"content": whole(), "rows": {"steps": [sliced(5)], "lexical": searched(body=1, title=0.5)}})
    for program in (BASELINE, made({"content": whole(title=2)}), rows):
        assert naive.score(program).ndcg == pytest.approx(ours.score(program).ndcg)
        assert naive.score(program).ndcg > 0.9


def test_the_texts_of_a_row_are_its_searched_fields_with_their_weights():
    program = made({"content": whole(title=2)})
    row = Row("a", {"text": "Pumps leak", "title": "Pumps", "body": "leak"})
    assert dict(searched_texts(program, "content", row)) == {"Pumps leak": 1, "Pumps": 2}


def test_speed_compares_medians_and_totals():
    pairs = [
        Pair(one, Scored(0.5, seconds), Scored(0.4, other))
        for one, seconds, other in zip(candidates(1), (0.1, 0.1, 1.0, 1.0), (30.0, 20.0, 10.0, 10.0), strict=True)
    ]
    report = Report("speed")
    add_timings(report, Timings(2.0, pairs={Naive.name: pairs}))
    assert {bar.name: bar.value for bar in report.bars} == {
        "naive loop: median ratio": pytest.approx(105),
        "naive loop: ratio of totals": pytest.approx(70 / 2.2),
    }
    assert report.met
    assert "naive loop: ratio of totals with our start 16.7" in report.notes
