"""Reading judgments: every format, and every way in which a file can be wrong."""

import gzip
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import IdxoptError, SourceError
from idxopt.evaluation.datasets import Qrels, load_qrels

IDS = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters='",;'), min_size=1, max_size=8)
QRELS = st.dictionaries(IDS, st.dictionaries(IDS, st.integers(-2, 4), min_size=1, max_size=4), min_size=1, max_size=4)


def load(content: bytes) -> Qrels:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "qrels"
        path.write_bytes(content)
        return load_qrels(path)


def lines(qrels, pattern: str) -> str:
    return "".join(
        pattern.format(query_id, doc_id, grade)
        for query_id, graded in qrels.items()
        for doc_id, grade in graded.items()
    )


def outcome(content: bytes) -> Qrels | IdxoptError:
    try:
        return load(content)
    except IdxoptError as error:
        return error


def assert_read_or_refused(content: bytes) -> None:
    found = outcome(content)
    if isinstance(found, IdxoptError):
        assert found.place
        assert found.remedy
    else:
        assert found, "something was read"


@given(QRELS)
def test_beir_round_trip(qrels):
    assert load(("query-id\tcorpus-id\tscore\n" + lines(qrels, "{}\t{}\t{}\n")).encode()) == qrels


@given(QRELS)
def test_trec_round_trip(qrels):
    assert load(lines(qrels, "{} 0 {} {}\n").encode()) == qrels


@given(QRELS)
def test_csv_round_trip_with_other_names_and_order(qrels):
    assert load(("Grade,Doc ID,Query ID\n" + lines(qrels, "{2},{1},{0}\n")).encode()) == qrels


@given(QRELS)
def test_packed_and_without_header(qrels):
    assert load(gzip.compress(lines(qrels, "{}\t{}\t{}\n").encode())) == qrels


@given(st.binary(max_size=300))
def test_arbitrary_bytes_give_judgments_or_an_error_of_ours(content):
    assert_read_or_refused(content)


@given(
    st.lists(
        st.sampled_from(
            ["q1", "0", "d1", "1", "1.5", "nan", "1e999", " ", "\t", ",", ";", "\n", '"', "query-id", "doc"]
        ),
        max_size=24,
    ).map("".join)
)
def test_pieces_of_the_formats_give_judgments_or_an_error_of_ours(content):
    assert_read_or_refused(content.encode())


def test_ids_with_spaces_survive_where_tabs_separate():
    assert load(b"red shoes\t0\tmy page.md\t1\n") == {"red shoes": {"my page.md": 1}}


def test_whole_numbers_written_with_a_point_are_whole():
    assert load(b"query-id\tcorpus-id\tscore\nq\td\t2.0\n") == {"q": {"d": 2}}


def test_a_judgment_repeated_with_the_same_grade_counts_once():
    assert load(b"q 0 d 1\nq 0 d 1\n") == {"q": {"d": 1}}


@pytest.mark.parametrize(
    ("content", "line", "cause"),
    [
        (b"q 0 d 1\nq 0 e high\n", 2, "the grade 'high' is no whole number"),
        (b"q 0 d 0.5\n", 1, "the grade '0.5' is no whole number"),
        (b"query-id\tcorpus-id\tscore\nq\td\tnan\n", 2, "the grade 'nan' is no whole number"),
        (b"q 0 d 1000000000\n", 1, "out of range"),
        (b"q 0 d 1\nq 0 d\n", 2, "has 3 fields, not 4"),
        (b"q 0 d 1\nq 0 d 2\n", 2, "grades document 'd' twice: 1 and 2"),
        (b"query-id\tcorpus-id\tscore\nq\t\t1\n", 2, "the row has no document id"),
        (b"query-id\tcorpus-id\tscore\nq\td\n", 2, "the row has no grade"),
        (b"query-id,corpus-id\nq,d\n", 1, "no format of judgments that is known"),
        (b'{"query-id": "q"}\n', 1, "no format of judgments that is known"),
        (b"q 0 d\x00 1\n", 1, "NUL byte"),
        (b"q 0 d\xff 1\n", 1, "not UTF-8"),
        ("q 0 d 1\n".encode("utf-16"), 1, "UTF-16"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(content, line, cause, tmp_path):
    path = tmp_path / "qrels"
    path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        load_qrels(path)
    assert caught.value.place == f"{path}:{line}"
    assert cause in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize("content", [b"", b"\n \n", b"query-id\tcorpus-id\tscore\n"])
def test_a_file_without_judgments_is_called_empty(content):
    with pytest.raises(SourceError, match="the file is empty"):
        load(content)
