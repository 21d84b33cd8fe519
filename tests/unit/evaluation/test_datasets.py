"""Pairing queries with judgments, from folders and from single files."""

import pytest

from idxopt.errors import EvaluationError, SourceError
from idxopt.evaluation.datasets import Query, load_dataset_folder, load_judged, split_of
from idxopt.evaluation.judgments import judged_without_texts

QUERIES = '{"_id": "1", "text": "a"}\n{"_id": "2", "text": "b"}\n{"_id": "3", "text": "c"}\n'
HEADER = "query-id\tcorpus-id\tscore\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "queries.jsonl").write_text(QUERIES)
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(HEADER + "1\td1\t1\n3\td2\t0\n9\td3\t1\n")
    return tmp_path


def test_what_is_left_out_is_counted(folder):
    judged = load_dataset_folder(folder)
    assert judged.queries == (Query("1", "a"), Query("3", "c"))
    assert judged.qrels == {"1": {"d1": 1}, "3": {"d2": 0}}
    assert judged.unjudged == {"2"}
    assert judged.unknown == {"9"}


def test_a_split_is_named_or_is_the_only_one(folder):
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "dev.tsv")
    assert load_dataset_folder(folder).qrels.keys() == {"1", "3"}
    assert split_of(folder) == "dev"
    with pytest.raises(SourceError, match=r"no judgments for split 'tset' \(found: dev\)"):
        load_dataset_folder(folder, "tset")
    (folder / "qrels" / "train.tsv").write_text(HEADER + "2\td1\t1\n")
    assert load_dataset_folder(folder, split="train").qrels.keys() == {"2"}
    with pytest.raises(SourceError, match=r"no judgments for split 'test' \(found: dev, train\)"):
        load_dataset_folder(folder)


def test_judgments_that_name_no_query_at_all_are_an_error(folder):
    (folder / "qrels" / "test.tsv").write_text(HEADER + "q1\td1\t1\n")
    with pytest.raises(EvaluationError, match="none of the 3 queries") as caught:
        load_dataset_folder(folder)
    assert "test.tsv" in (caught.value.place or "")


def test_one_table_is_both(tmp_path):
    table = tmp_path / "judged.csv"
    table.write_text("query-id,query,doc-id,grade\n1,red shoes,d1,2\n1,red shoes,d2,0\n")
    judged = load_judged(table, table)
    assert judged.queries == (Query("1", "red shoes"),)
    assert judged.qrels == {"1": {"d1": 2, "d2": 0}}


@pytest.mark.parametrize(
    ("missing", "cause"), [("queries.jsonl", "no file of queries"), ("qrels/test.tsv", r"split 'test' \(found: none\)")]
)
def test_a_missing_file_is_named(folder, missing, cause):
    (folder / missing).unlink()
    with pytest.raises(SourceError, match=cause):
        load_dataset_folder(folder)


def test_a_folder_without_judgments_and_a_file(folder):
    (folder / "qrels" / "test.tsv").unlink()
    (folder / "qrels").rmdir()
    with pytest.raises(SourceError, match="holds no judgments"):
        load_dataset_folder(folder)
    (folder / "qrels.tsv").write_text(HEADER + "1\td1\t1\n")
    assert split_of(folder) is None
    assert load_dataset_folder(folder).qrels.keys() == {"1"}
    with pytest.raises(SourceError, match="has no splits"):
        load_dataset_folder(folder, "test")
    with pytest.raises(SourceError, match="is not a folder"):
        load_dataset_folder(folder / "queries.jsonl")


def test_a_run_file_alone_needs_only_judgments():
    assert judged_without_texts({"q": {"d": 1}}).queries == (Query("q", "q"),)


@pytest.mark.parametrize(
    ("name", "queries", "judgments"),
    [
        ("awsdocs_small", 100, 100),
        ("chroma_chunking", 472, 546),
        ("covidqa_docs", 1380, 1380),
        ("cranfield", 225, 1837),
        ("medquad_pages", 60, 214),
        ("scifact", 300, 339),
    ],
)
def test_the_real_collections(shared, name, queries, judgments):
    judged = load_dataset_folder(shared / "datasets" / name)
    assert len(judged.queries) == queries
    assert sum(map(len, judged.qrels.values())) == judgments
    assert not judged.unjudged
    assert not judged.unknown
