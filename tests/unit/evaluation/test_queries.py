"""Reading queries: every format, and every way in which a file can be wrong."""

import csv
import gzip
import io
import tempfile
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import IdxoptError, SourceError
from idxopt.evaluation.datasets import Query, load_queries

IDS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)
TEXTS = st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" "), min_size=1, max_size=30).filter(
    lambda text: text.strip() == text
)
QUERIES = st.lists(st.builds(Query, IDS, TEXTS), min_size=1, max_size=6, unique_by=lambda query: query.id)

PIECES = [
    "<top>",
    "</top>",
    "<num>",
    "</num>",
    "<title>",
    "<desc>",
    "Number:1",
    "Topic:a",
    "text",
    "query-id",
    "query",
    ",",
    ";",
    "1",
    "[]",
    "{}",
    '"',
    '{"_id":"1"',
    ',"text":"x"}',
]
PIECES += ["\n", "\t", " ", "\ufeff", "\x00"]


def load(content: bytes, name: str = "queries") -> tuple[Query, ...]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        return load_queries(path)


def json_lines(queries: list[Query]) -> bytes:
    return b"".join(orjson.dumps({"_id": query.id, "text": query.text}) + b"\n" for query in queries)


def outcome(content: bytes) -> tuple[Query, ...] | IdxoptError:
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


@given(QUERIES)
def test_json_lines_round_trip(queries):
    assert load(json_lines(queries)) == tuple(queries)


@given(QUERIES)
def test_gzip_is_told_by_its_content_not_its_name(queries):
    assert load(gzip.compress(json_lines(queries)), "queries.jsonl") == tuple(queries)


@given(QUERIES, st.sampled_from([",", ";", "\t"]))
def test_table_round_trip(queries, delimiter):
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter)
    writer.writerow(["query_id", "Query"])
    writer.writerows((query.id, query.text) for query in queries)
    assert load(stream.getvalue().encode()) == tuple(queries)


@given(QUERIES)
def test_trec_topics_round_trip(queries):
    topics = "".join(
        f"<top>\n<num> Number: {query.id}\n<title> {query.text}\n\n<desc> Description:\nlonger\n</top>\n"
        for query in queries
        if not {"<", ">"} & set(query.id + query.text)
    )
    kept = tuple(query for query in queries if not {"<", ">"} & set(query.id + query.text))
    collapsed = tuple(Query(query.id, " ".join(query.text.split())) for query in kept)
    if topics:
        assert load(topics.encode()) == collapsed


@given(st.binary(max_size=300))
def test_arbitrary_bytes_give_queries_or_an_error_of_ours(content):
    assert_read_or_refused(content)


@given(
    st.lists(
        st.sampled_from(PIECES),
        max_size=20,
    ).map("".join)
)
def test_pieces_of_the_formats_give_queries_or_an_error_of_ours(content):
    assert_read_or_refused(content.encode())


def test_tab_separated_lines_with_a_byte_order_mark_and_windows_line_ends():
    assert load("\ufeffq1\tfirst query\r\n\r\nq2\tsecond\r\n".encode()) == (
        Query("q1", "first query"),
        Query("q2", "second"),
    )


def test_topics_with_closed_tags_on_one_line():
    assert load(b"<top><num>7</num><title>two  words</title></top>") == (Query("7", "two words"),)


def test_numbers_as_ids_and_other_field_names():
    assert load(b'{"id": 12, "query": "a question", "metadata": {}}') == (Query("12", "a question"),)


def test_a_table_of_judgments_names_each_query_once():
    table = b"query,docid,rating\nred shoes,d1,1\nred shoes,d2,0\nblue hat,d3,2\n"
    assert load(table) == (Query("red shoes", "red shoes"), Query("blue hat", "blue hat"))


def test_a_quoted_field_may_hold_a_line_end_and_the_line_number_stays_right():
    with pytest.raises(SourceError, match=r":4: the row has no query text"):
        load(b'query-id,query\n1,"two\nlines"\n2,\n')


@pytest.mark.parametrize(
    ("content", "line", "cause"),
    [
        (b'{"_id": "1", "text": "a"}\n{"_id": "2", "text": }\n', 2, "not valid JSON"),
        (b'{"_id": "1", "text": "a"}\n["2", "b"]\n', 2, "an array, not a JSON object"),
        (b'{"_id": "1", "text": "a"}\n\n{"text": "b"}\n', 3, "no field '_id'"),
        (b'{"_id": "1", "title": "a"}\n', 1, "no field 'text'"),
        (b'{"_id": "1", "text": ["a"]}\n', 1, "field 'text' is an array, not text"),
        (b'{"_id": true, "text": "a"}\n', 1, "field '_id' is a boolean"),
        (b'{"_id": "1", "text": "  "}\n', 1, "the query's text is empty"),
        (b'{"_id": "1", "text": "a"}\n{"_id": "1", "text": "b"}\n', 2, "'1' comes twice (first on line 1)"),
        (b'{"_id": "1", "text": "a\\u0000"}\n', 1, "NUL"),
        (b'{"_id": "1", "text": "a\x00"}\n', 1, "NUL byte (byte 24 of the line)"),
        (b'{"_id": "1", "text": "a"}\n{"_id": "2", "text": "caf\xe9"}\n', 2, "not UTF-8 (byte 0xe9 at position 26"),
        ('{"_id": "1", "text": "a"}\n'.encode("utf-16"), 1, "UTF-16"),
        (b"1\tfirst\nsecond\n", 2, "has no tab"),
        (b"1\tfirst\n1\tsecond\n", 2, "comes twice"),
        (b"\tfirst\n", 1, "the query's id is empty"),
        (b"just some words\n", 1, "no format of queries that is known"),
        (b"query-id,query\n1,a\n1,b\n", 3, "comes twice"),
        (b"query,docid,rating,qid\na,d,1,1\nb,d,1,1\n", 3, "comes twice with another text"),
        (b'query-id,query\n1,"open\n', 2, "the row cannot be read"),
        (b"<top>\n<num> 1\n<desc> d\n</top>\n", 1, "the topic has no <title>"),
        (b"<top>\n<num> 1\n<title> t\n", 1, "the topic is not closed"),
        (b'{"_id": "1", "text": "' + b"a" * (4 * 1024 * 1024) + b'"}\n', 1, "longer than 4,194,304 bytes"),
        (gzip.compress(b'{"_id": "1", "text": "a"}\n' * 9, mtime=0)[:-9], 1, "gzip data are damaged"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(content, line, cause, tmp_path):
    path = tmp_path / "queries"
    path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        load_queries(path)
    assert caught.value.place == f"{path}:{line}"
    assert cause in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize(
    "content", [b"", b"\n\r\n \n", b"\xef\xbb\xbf", b"query-id,query\n", gzip.compress(b"", mtime=0)]
)
def test_a_file_without_queries_is_called_empty(content):
    with pytest.raises(SourceError, match="the file is empty"):
        load(content)


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(SourceError, match="No such file"):
        load_queries(tmp_path / "none.jsonl")
    with pytest.raises(SourceError, match="Is a directory"):
        load_queries(tmp_path)
