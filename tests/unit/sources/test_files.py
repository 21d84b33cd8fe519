"""Files of documents: every format read alike, and every bad input named with its place and remedy."""

import csv
import gzip
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import SourceError
from idxopt.program.schema import Program
from idxopt.sources import Options, Rejects, Source, open_source

DOCUMENTS = [
    {"_id": "a", "title": "Erde", "text": 'blau, "rund"\nund groß', "year": 1999},
    {"_id": "b", "title": "Mond", "text": "grau 🌙", "year": 2001},
]


def program(**source: Any) -> Program:
    fields = {"title": "title", "body": "text"}
    return Program.model_validate(
        {
            "schema": "idxopt/1",
            "name": "demo",
            "source": {"fields": fields, **source},
            "views": {"content": {"lexical": {"fields": {"body": {}}}}},
        }
    )


def source_of(path: Path, options: Options | None = None, **source: Any) -> Source:
    return open_source(str(path), program(**source), options=options)


def jsonl(documents: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(document, ensure_ascii=False).encode() + b"\n" for document in documents)


def table(delimiter: str) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(DOCUMENTS[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(DOCUMENTS)
    return out.getvalue().encode()


def parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(DOCUMENTS), out)
    return out.getvalue()


FORMATS = {
    "docs.jsonl": jsonl(DOCUMENTS),
    "docs.ndjson": b"\xef\xbb\xbf" + jsonl(DOCUMENTS).replace(b"\n", b"\r\n\r\n"),
    "docs.jsonl.gz": gzip.compress(jsonl(DOCUMENTS)),
    "packed-without-saying.jsonl": gzip.compress(jsonl(DOCUMENTS)),
    "docs.json": json.dumps(DOCUMENTS, indent=2).encode(),
    "array-with-bom.json": b"\xef\xbb\xbf \n" + json.dumps(DOCUMENTS).encode() + b"\n",
    "lines.json": jsonl(DOCUMENTS),
    "docs.csv": table(","),
    "semicolons.csv": table(";"),
    "docs.csv.gz": gzip.compress(table(",")),
    "docs.tsv": table("\t"),
    "docs.parquet": parquet(),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_documents(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(FORMATS[name])
    source = source_of(path, metadata={"year": "integer"})
    assert source.kind == "file"
    expected = [(d["_id"], {key: value for key, value in d.items() if key != "_id"}) for d in DOCUMENTS]
    assert [(document.id, document.source) for document in source.documents()] == expected
    assert source.estimate().documents in (2, 3, None)  # a quoted line end looks like two lines


GOOD = b'{"_id": "a", "text": "x", "title":""}\n'
BROKEN_LINES = {
    "broken JSON": (b'{"_id": "b", "text": \n', "is no valid JSON", "one complete JSON object a line"),
    "two objects on a line": (b'{"_id":"b"} {"_id":"c"}\n', "is no valid JSON", "one complete"),
    "NaN": (b'{"_id": "b", "text": NaN}\n', "is no valid JSON", "one complete"),
    "lone surrogate": (b'{"_id": "b", "text": "\\ud800"}\n', "is no valid JSON", "one complete"),
    "a list": (b'["b"]\n', "is a list, no JSON object", "as an object"),
    "a number": (b"17\n", "is a number, no JSON object", "as an object"),
    "null": (b"null\n", "is null, no JSON object", "as an object"),
    "no id": (b'{"text": "x", "id": "b"}\n', "has no `_id`", "keys here: text, id"),
    "null id": (b'{"_id": null, "text": "x"}\n', "has no `_id`", "keys here"),
    "empty id": (b'{"_id": "", "text": "x"}\n', "the id is empty", "give every document an id"),
    "fraction as id": (
        b'{"_id": 1.5, "text": "x"}\n',
        "is a number with a fraction, no id",
        "a text or a whole number",
    ),
    "truth as id": (b'{"_id": true, "text": "x"}\n', "is true or false, no id", "a text or a whole number"),
    "list as id": (b'{"_id": ["b"], "text": "x"}\n', "is a list, no id", "a text or a whole number"),
    "NUL in the id": (b'{"_id": "b\\u0000", "text": "x"}\n', "the id holds a NUL character", "remove it"),
    "NUL byte": (
        b'{"_id": "b", "text": "x\x00"}\n',
        f"holds a NUL byte at byte {len(GOOD) + 23} of the file",
        "remove it",
    ),
    "latin-1": (
        b'{"_id": "b", "text": "gr\xfcn"}\n',
        f"is not UTF-8 (byte 0xfc at byte {len(GOOD) + 24} of the file)",
        "iconv",
    ),
    "reserved key": (b'{"_id": "b", "_source": {}, "text": "x"}\n', "has a key `_source`", "remove or rename"),
    "our key": (b'{"_id": "b", "idxopt": {}, "text": "x"}\n', "has a key `idxopt`", "remove or rename"),
    "too deep": (
        b'{"_id": "b", "text": ' + b"[" * 201 + b"]" * 201 + b"}\n",
        "nested deeper than 200 levels",
        "flatten",
    ),
    "far too deep": (b'{"_id": "b", "text": ' + b"[" * 5000 + b"]" * 5000 + b"}\n", "is no valid JSON", "one complete"),
    "long id": (b'{"_id": "' + b"x" * 513 + b'", "text": "x"}\n', "has 513 bytes; engines take at most 512", "shorten"),
}
AFTER = b'{"_id": "z", "text": "y", "title": "t"}\n'


@pytest.mark.parametrize("case", BROKEN_LINES)
def test_a_bad_line_is_refused_with_its_place(tmp_path: Path, case: str) -> None:
    raw, reason, remedy = BROKEN_LINES[case]
    path = tmp_path / "docs.jsonl"
    path.write_bytes(GOOD + raw + AFTER)
    with pytest.raises(SourceError) as caught:
        list(source_of(path).documents())
    assert caught.value.place == f"{path}:2"
    assert reason in caught.value.message
    assert remedy in (caught.value.remedy or "")


@pytest.mark.parametrize("case", BROKEN_LINES)
def test_a_bad_line_is_collected_and_the_others_are_read(tmp_path: Path, case: str) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_bytes(GOOD + BROKEN_LINES[case][0] + AFTER)
    rejects = Rejects(tmp_path / "out" / "rejects.jsonl")
    assert [document.id for document in source_of(path).documents(rejects)] == ["a", "z"]
    assert rejects.count == 1
    assert [reject.place for reject in rejects.read()] == [f"{path}:2"]


@pytest.mark.parametrize(
    ("letter", "times", "accepted"),
    [("x", 511, True), ("x", 512, True), ("x", 513, False), ("🌙", 127, True), ("🌙", 128, True), ("🌙", 129, False)],
)
def test_h5_ids_are_measured_in_bytes(tmp_path: Path, letter: str, times: int, accepted: bool) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_bytes(jsonl([{"_id": letter * times, "title": "t", "text": "x"}]))
    rejects = Rejects()
    assert len(list(source_of(path).documents(rejects))) == int(accepted)
    assert rejects.count == int(not accepted)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_a_line_over_the_limit_is_skipped_to_its_end(tmp_path: Path, end: bytes) -> None:
    head, tail = b'{"_id": "b", "text": "', b'"}'
    path = tmp_path / "docs.jsonl"
    for size, accepted in [(1000, True), (1001, False), (5_000_000, False)]:
        line = head + b"x" * (size - len(head) - len(tail)) + tail
        path.write_bytes(GOOD + line + end + (AFTER if end else b""))
        rejects = Rejects()
        ids = [document.id for document in source_of(path, Options(max_document_bytes=1000)).documents(rejects)]
        assert ids == ["a", *(["b"] if accepted else []), *(["z"] if end else [])]
        assert [reject.place for reject in rejects.first] == ([] if accepted else [f"{path}:2"])


UNREADABLE = {
    "empty.jsonl": (b"", "the file is empty", "at least one document"),
    "blank.jsonl": (b"\n \n\r\n", "holds no documents", "at least one document"),
    "utf16.jsonl": ('{"_id": "a"}\n'.encode("utf-16"), "the file is UTF-16", "iconv -f UTF-16"),
    "utf16.json": ('[{"_id": "a"}]\n'.encode("utf-16"), "the file is UTF-16", "iconv -f UTF-16"),
    "cut.jsonl.gz": (gzip.compress(jsonl(DOCUMENTS) * 50)[:-9], "gzip data are damaged", "compress the file again"),
    "spoiled.jsonl.gz": (
        gzip.compress(b"{}\n")[:12] + b"\xff" * 20,
        "gzip data are damaged",
        "compress the file again",
    ),
    "docs.xml": (b"<docs/>", "the name does not say what is in it", ".jsonl"),
    "docs": (b"{}", "the name does not say what is in it (no ending)", ".jsonl"),
    "cut.json": (b'[{"_id": "a"}, {"_id": ', "is no valid JSON", "or use JSON Lines"),
    "comma.json": (b'[{"_id": "a"} {"_id": "b"}]', "expected ',', found '{'", "or use JSON Lines"),
    "after.json": (b'[{"_id": "a"}] x', "something follows the array", "or use JSON Lines"),
    "open.json": (b'[{"_id": "a"},', "is no valid JSON", "or use JSON Lines"),
    "none.json": (b"[]", "holds no documents", "at least one document"),
    "latin.json": (b'[{"_id": "\xfc"}]', "is not UTF-8 near byte 10", "iconv"),
    "twice.csv": (b"_id,text,text\n1,2,3\n", "the column `text` occurs twice", "its own name"),
    "unnamed.csv": (b"_id,,text\n1,2,3\n", "column 2 has no name", "name every column"),
    "quote.csv": (b'_id,title,text\n1,2,"open\n', "the row cannot be read", "double the quotes"),
    "quotes.csv": (b'_id,title,text\n1,2,"a"b"\n', "the row cannot be read", "double the quotes"),
    "nul.csv": (b"_id,title,text\n1,2,a\x00b\n", "holds a NUL byte", "remove it"),
    "latin.csv": (b"_id,title,text\n1,2,\xfc\n", "is not UTF-8", "iconv"),
    "header.csv": (b"_id,title,text\n", "holds no documents", "at least one document"),
    "fake.parquet": (b"PAR1 not really PAR1", "is no Parquet file", "write the file again"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_makes_a_whole_file_unreadable(tmp_path: Path, name: str) -> None:
    raw, reason, remedy = UNREADABLE[name]
    path = tmp_path / name
    path.write_bytes(raw)
    with pytest.raises(SourceError) as caught:
        list(source_of(path).documents(Rejects()))
    assert reason in caught.value.message
    assert str(path) in (caught.value.place or "")
    assert remedy in (caught.value.remedy or "")


def test_places_that_are_not_there(tmp_path: Path) -> None:
    for place, reason in [
        (tmp_path / "nothing.jsonl", "does not exist"),
        (Path("/dev/null"), "neither a file nor a folder"),
        (tmp_path, "holds no files to index"),
    ]:
        with pytest.raises(SourceError, match=reason) as caught:
            source_of(place)
        assert caught.value.place == str(place)
    with pytest.raises(SourceError, match="names no index"):
        open_source("index:x", program())
    with pytest.raises(SourceError, match="cannot be read"):
        source_of(tmp_path / ("x" * 300 + ".jsonl"))


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "docs.parquet"
    path.write_bytes(FORMATS["docs.parquet"])
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(SourceError, match="need pyarrow") as caught:
        list(source_of(path).documents())
    assert caught.value.remedy == "pip install 'idxopt[parquet]'"


def test_a_field_that_no_document_has_is_an_error_and_in_some_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_bytes(jsonl([{"_id": "1", "head": {"name": "x"}}, {"_id": "2", "text": "y"}]))
    with pytest.raises(SourceError) as caught:
        list(source_of(path).documents())
    assert "`title` (field title)" in caught.value.message
    assert "text" not in caught.value.message
    assert "_id, head.name" in (caught.value.remedy or "")
    assert len(list(source_of(path, fields={"title": "head.name", "body": "text"}).documents())) == 2


def test_the_id_may_be_any_path(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_bytes(jsonl([{"_id": "x", "meta": {"key": 17}, "title": "t", "text": "b"}]))
    (document,) = source_of(path, id="meta.key").documents()
    assert (document.id, document.source) == ("17", {"meta": {"key": 17}, "title": "t", "text": "b"})


def test_csv_values_take_the_type_of_the_metadata(tmp_path: Path) -> None:
    path = tmp_path / "docs.csv"
    types = {"n": "long", "f": "double", "ok": "boolean", "day": "date"}
    path.write_text(
        "_id,title,text,n,f,ok,day\n1,a,b,7,.5,Yes,2026-01-01\n2,a,b,,,,\n3,a,b,x,,,\n4,a,b,,nan,,\n5,a,b,,,ja,\n"
    )
    rejects = Rejects()
    first, second = source_of(path, metadata=types).documents(rejects)
    assert first.source == {"title": "a", "text": "b", "n": 7, "f": 0.5, "ok": True, "day": "2026-01-01"}
    assert second.source == {"title": "a", "text": "b"}
    assert [(r.place.rsplit(":", 1)[1], r.reason[:25]) for r in rejects.first] == [
        ("4", "`x` in column `n` is no l"),
        ("5", "`nan` in column `f` is no"),
        ("6", "`ja` in column `ok` is no"),
    ]


def test_a_csv_row_of_another_width_is_rejected_at_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "docs.csv"
    path.write_text('_id,title,text\n1,a,"two\nlines"\n2,b\n3,c,d,e\n4,e,f\n')
    rejects = Rejects()
    assert [document.id for document in source_of(path).documents(rejects)] == ["1", "4"]
    assert [reject.place for reject in rejects.first] == [f"{path}:4", f"{path}:5"]


def test_elements_of_an_array_are_judged_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "docs.json"
    path.write_text(
        '[\n{"_id": "a", "title": "", "text": "x"},\n 17,\n{"_id": "c", "text": NaN},\n{"_id": "d", "text": "y"}]'
    )
    rejects = Rejects()
    assert [document.id for document in source_of(path).documents(rejects)] == ["a", "d"]
    assert [(reject.place, reject.reason[:20]) for reject in rejects.first] == [
        (f"{path}:3", "is a number, no JSON"),
        (f"{path}:4", "is no valid JSON (un"),
    ]


def test_an_array_element_over_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "docs.json"
    path.write_text(
        json.dumps([{"_id": "a", "text": "x" * 200_000, "title": ""}, {"_id": "b", "text": "x", "title": "y"}])
    )
    assert len(list(source_of(path).documents())) == 2
    with pytest.raises(SourceError, match="larger than 100,000 bytes") as caught:
        list(source_of(path, Options(max_document_bytes=100_000)).documents(Rejects()))
    assert caught.value.place == f"{path}:1"


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
KEYS = st.text().filter(lambda key: key != "idxopt" and not key.startswith("_"))
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=5
)


@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=4), min_size=1, max_size=8), st.sampled_from([None, 1, 3]))
def test_arrays_and_lines_read_alike(values: list[dict[str, Any]], indent: int | None) -> None:
    documents = [{**value, "_id": str(n), "title": "t", "text": "b"} for n, value in enumerate(values)]
    with tempfile.TemporaryDirectory() as folder:
        lines, array = Path(folder) / "a.jsonl", Path(folder) / "a.json"
        lines.write_text("".join(json.dumps(document) + "\n" for document in documents), "utf-8")
        array.write_text(json.dumps(documents, indent=indent), "utf-8")
        assert list(source_of(lines).documents()) == list(source_of(array).documents())


@given(st.binary(max_size=300), st.sampled_from([".jsonl", ".json", ".csv", ".tsv", ".parquet"]))
def test_any_bytes_end_in_documents_or_in_our_errors(raw: bytes, ending: str) -> None:
    def read(path: Path) -> SourceError | None:
        try:
            source = source_of(path)
            source.estimate()
            list(source.documents(Rejects()))
        except SourceError as error:
            return error
        return None

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x{ending}"
        path.write_bytes(raw)
        error = read(path)
    assert error is None or (error.place and error.remedy)


def test_marks_tell_later_data_from_these(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_bytes(jsonl(DOCUMENTS))
    source = source_of(path)
    before = source.marks()
    assert before == {"files": {"docs.jsonl": {"size": path.stat().st_size, "mtime_ns": str(path.stat().st_mtime_ns)}}}
    assert source.marks() == before
    with path.open("ab") as file:
        file.write(AFTER)
    assert source.marks() != before


def test_a_sample_is_the_beginning_and_estimates_come_from_it(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl.gz"
    many = [{"_id": str(n), "title": "t", "text": f"word{n} " * 50} for n in range(30_000)]
    path.write_bytes(gzip.compress(jsonl(many)))
    source = source_of(path)
    assert [document.id for document in source.sample(3)] == ["0", "1", "2"]
    estimate = source.estimate()
    assert not estimate.exact
    assert estimate.documents == pytest.approx(30_000, rel=0.2)
