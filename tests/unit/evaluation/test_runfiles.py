"""Run files: strictly falling scores, what survives a round trip, what is refused."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import EvaluationError, IdxoptError, SourceError
from idxopt.evaluation.metrics import parse_metric, per_query_values
from idxopt.evaluation.runfiles import read_run, strictly_falling, write_run

IDS = st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" "), min_size=1, max_size=8).filter(
    lambda text: text == text.strip()
)
SCORES = st.floats(allow_nan=False, allow_infinity=False)
RANKINGS = st.lists(st.tuples(IDS, SCORES), min_size=1, max_size=8, unique_by=lambda hit: hit[0])
RUNS = st.dictionaries(IDS, RANKINGS, min_size=1, max_size=4)


def through_a_file(run):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        write_run(path, run)
        return read_run(path), path.read_text(encoding="utf-8")


def documents(run):
    return {query_id: [doc_id for doc_id, _ in ranking] for query_id, ranking in run.items()}


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=30))
def test_scores_fall_strictly_in_single_precision(scores):
    falling = np.array(strictly_falling(scores), dtype=np.float32)
    assert len(falling) == len(scores)
    assert np.isfinite(falling).all()
    assert (np.diff(falling) < 0).all()


def test_scores_that_fall_already_stay_what_they_are():
    assert strictly_falling([3.5, 2.25, 0.0, -1.0]) == [3.5, 2.25, 0.0, -1.0]


@given(RUNS)
def test_queries_documents_and_order_survive(run):
    read, _ = through_a_file(run)
    assert documents(read) == documents(run)


@given(RUNS)
def test_h18_a_written_run_has_strictly_falling_scores(run):
    tied = {query_id: [(doc_id, 1.0) for doc_id, _ in ranking] for query_id, ranking in run.items()}
    _, text = through_a_file(tied)
    written: dict[str, list[float]] = {}
    for line in text.splitlines():
        query_id, _, _, rank, score, _ = line.split("\t")
        written.setdefault(query_id, []).append(float(score))
        assert int(rank) == len(written[query_id])
    for scores in written.values():
        assert (np.diff(np.array(scores, dtype=np.float32)) < 0).all()


def test_h18_another_tool_gets_the_same_figures_from_the_file(tmp_path):
    """trec_eval, reading the file itself, orders equal scores by id; it meets none."""
    run = {"q": [("b", 1.0), ("c", 1.0), ("a", 1.0), ("d", 1.0), ("e", 1.0)]}
    qrels = {"q": {"a": 1, "e": 2}}
    write_run(tmp_path / "run", run)
    with (tmp_path / "run").open() as stream:
        parsed = pytrec_eval.parse_run(stream)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10", "recip_rank"}).evaluate(parsed)["q"]
    ours = per_query_values(run, qrels, [parse_metric("nDCG@10"), parse_metric("MRR")])
    assert [by_query["q"] for by_query in ours.values()] == pytest.approx([theirs["ndcg_cut_10"], theirs["recip_rank"]])


def test_a_query_without_hits_has_no_line_and_the_same_figures():
    run = {"full": [("d", 1.0)], "none": []}
    read, _ = through_a_file(run)
    assert read.keys() == {"full"}
    qrels = {"full": {"d": 1}, "none": {"d": 1}}
    metrics = [parse_metric("nDCG@10")]
    assert per_query_values(read, qrels, metrics) == per_query_values(run, qrels, metrics)


def test_other_tools_files_are_ordered_by_score_then_rank(tmp_path):
    path = tmp_path / "run"
    path.write_text("q Q0 low 1 1.5 x\nq  Q0  second 3 2.0 x\nq Q0 first 2 2.0 x\n")
    assert documents(read_run(path)) == {"q": ["first", "second", "low"]}


@pytest.mark.parametrize(
    ("run", "cause"),
    [
        ({"q": [("a\tb", 1.0)]}, "document id"),
        ({"q": [("", 1.0)]}, "document id"),
        ({"q": [("\ud800", 1.0)]}, "document id"),
        ({"q\n": [("a", 1.0)]}, "query id"),
        ({"q": [("a", 1.0), ("a", 0.5)]}, "twice"),
    ],
)
def test_what_a_run_file_cannot_hold_is_refused(run, cause, tmp_path):
    with pytest.raises(EvaluationError, match=cause):
        write_run(tmp_path / "run", run)


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(EvaluationError, match="cannot be written"):
        write_run(tmp_path, {"q": [("a", 1.0)]})


@pytest.mark.parametrize(
    ("content", "line", "cause"),
    [
        (b"q Q0 d 1 1.0\n", 1, "has 5 fields, not 6"),
        (b"q Q0 d 1 1.0 t\nq Q0 e 2 high t\n", 2, "the score 'high' is no finite number"),
        (b"q Q0 d 1 nan t\n", 1, "the score 'nan'"),
        (b"q Q0 d first 1.0 t\n", 1, "the rank 'first'"),
        (b"q Q0 d 1 1.0 t\nq Q0 d 2 0.5 t\n", 2, "lists document 'd' twice"),
        (b"q Q0 d\x00 1 1.0 t\n", 1, "NUL byte"),
        (b"q Q0 \xff 1 1.0 t\n", 1, "not UTF-8"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(content, line, cause, tmp_path):
    path = tmp_path / "run"
    path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        read_run(path)
    assert caught.value.place == f"{path}:{line}"
    assert cause in caught.value.message


def read_or_refuse(content: bytes):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        path.write_bytes(content)
        try:
            return read_run(path)
        except IdxoptError as error:
            return error


@given(st.binary(max_size=200) | st.text("qQ0d1. \t\nna", max_size=60).map(str.encode))
def test_arbitrary_bytes_give_a_run_or_an_error_of_ours(content):
    found = read_or_refuse(content)
    assert found.remedy if isinstance(found, IdxoptError) else all(found.values())
