"""Judgments that nobody gave are called so wherever they are read."""

import json

import pytest

from idxopt.errors import SourceError
from idxopt.evaluation.comparison import compare, evaluate_run
from idxopt.evaluation.datasets import load_dataset_folder, load_judged
from idxopt.evaluation.metrics import parse_metric
from idxopt.evaluation.synthetic.mark import mark_of_files
from idxopt.evaluation.tables import comparison_json, evaluation_json

MARK = {"schema": "idxopt-synthetic/1", "mark": "known-item from headings"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "rotate keys"}\n')
    (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    (tmp_path / "synthetic.json").write_text(json.dumps(MARK))
    return tmp_path


def test_a_folder_and_its_files_carry_the_mark(folder):
    assert load_dataset_folder(folder).synthetic == "known-item from headings"
    assert load_judged(folder / "queries.jsonl", folder / "qrels/test.tsv").synthetic == "known-item from headings"
    assert mark_of_files(folder / "qrels/test.tsv") == "known-item from headings"


def test_judgments_moved_away_from_their_queries_keep_the_mark(folder, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder / "qrels/test.tsv").rename(elsewhere / "test.tsv")
    assert load_judged(folder / "queries.jsonl", elsewhere / "test.tsv").synthetic == "known-item from headings"


def test_real_judgments_have_none(folder):
    (folder / "synthetic.json").unlink()
    judged = load_dataset_folder(folder)
    assert judged.synthetic is None
    assert judged.synthetic_note is None


def test_figures_carry_it_too(folder):
    judged = load_dataset_folder(folder)
    one = evaluate_run({"q": [("d", 1.0)]}, judged, [parse_metric("nDCG@10")])
    assert evaluation_json(one)["synthetic"] == "known-item from headings"
    assert comparison_json(compare(one, one))["synthetic"] == "known-item from headings"
    assert judged.synthetic_note == one.synthetic_note == "synthetic judgments (known-item from headings)"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"mark": "x"}', '{"schema": "idxopt-synthetic/1", "mark": " "}'])
def test_a_damaged_mark_is_an_error_and_never_real_judgments(folder, text):
    (folder / "synthetic.json").write_text(text)
    with pytest.raises(SourceError, match="mark of synthetic judgments") as caught:
        load_dataset_folder(folder)
    assert "queries make" in str(caught.value.remedy)
