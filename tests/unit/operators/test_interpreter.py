"""The interpreter: stored rows, ids of rows, streams over processes, documents that fail."""

import json
from collections.abc import Generator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import SourceError
from idxopt.operators.interpreter import MAX_KEYWORD_BYTES, Interpreter, Rejected, stored_rows
from idxopt.operators.row import Document, check_doc_id, row_id
from idxopt.operators.tables import EMPTY_TABLES, build_tables
from idxopt.program.effects import view_fields
from tests.unit.operators.corpus import document
from tests.unit.program.programs import program, step_lists

LOWER = {"op": "normalize", "scheme": "lowercase"}
SLICE = {"op": "slice", "unit": "words", "window": 2}


def stored(steps, *documents, view="parts", **options):
    wanted = program(steps, view=view)
    return list(stored_rows(wanted, [view], build_tables(wanted, documents), documents, **options))


def test_the_primary_view_keeps_the_source_and_adds_what_changed():
    source = {"title": "T", "text": "A B", "lang": "en", "other": [1, {"x": None}]}
    ((given_document, made),) = stored([LOWER], Document("d", source), view="content")
    assert given_document.source == source
    (row,) = made["content"]
    assert (row.id, row.doc_id) == ("d", "d")
    assert row.body == {**source, "idxopt": {"doc_id": "d", "body": "a b"}}


def test_other_views_keep_their_fields_and_the_metadata():
    ((_, made),) = stored([SLICE], document("A B C", lang="en", other=1))
    assert [(row.id, row.body) for row in made["parts"]] == [
        (
            "doc#0",
            {"lang": "en", "idxopt": {"doc_id": "doc", "row": 0, "title": "Title", "body": "A B ", "span": [0, 4]}},
        ),
        ("doc#1", {"lang": "en", "idxopt": {"doc_id": "doc", "row": 1, "title": "Title", "body": "C", "span": [4, 5]}}),
    ]


def test_what_a_source_says_of_idxopt_itself_is_replaced():
    ((_, made),) = stored([], document("x", idxopt={"doc_id": "other", "old": 1}), view="content")
    assert made["content"][0].body["idxopt"] == {"doc_id": "doc"}


def test_fields_are_found_at_their_paths():
    wanted = program([]).model_copy(
        update={"source": program([]).source.model_copy(update={"fields": {"title": "a.b", "body": "c.d"}})}
    )
    source = {"a": {"b": "nested"}, "c": [{"d": "one"}, {"e": 1}, {"d": ["two", None]}]}
    (row,) = Interpreter(wanted, "parts", EMPTY_TABLES).rows(Document("x", source))
    assert row.fields == {"title": "nested", "body": ["one", "two", None]}
    (row,) = Interpreter(wanted, "parts", EMPTY_TABLES).rows(Document("x", {"a.b": "dotted", "c": "no object"}))
    assert row.fields == {"title": "dotted"}


@pytest.mark.parametrize("character", ["a", "\U0001f600"], ids=["ascii", "emoji"])
@pytest.mark.parametrize("size", [511, 512, 513])
def test_h5_ids_near_the_limit_make_300_unique_rows_or_one_refusal(character, size):
    width = len(character.encode())
    doc_id = character * (size // width) + "b" * (size % width)
    assert len(doc_id.encode()) == size
    text = "word " * 600
    if size > 512:
        with pytest.raises(SourceError, match="513 bytes"):
            stored([SLICE], document(text, doc_id=doc_id))
        rejected: list[Rejected] = []
        other = document("one two", doc_id="other")
        made = stored([SLICE], document(text, doc_id=doc_id), other, on_reject=rejected.append)
        assert [kept.id for kept, _ in made] == ["other"]
        assert [item.doc_id for item in rejected] == [doc_id]
        return
    ((_, made),) = stored([SLICE], document(text, doc_id=doc_id))
    ids = [row.id for row in made["parts"]]
    assert len(set(ids)) == len(ids) == 300
    assert max(len(name.encode()) for name in ids) <= 512
    assert {row.doc_id for row in made["parts"]} == {row.body["idxopt"]["doc_id"] for row in made["parts"]} == {doc_id}


def test_rows_of_two_documents_never_share_an_id():
    ids = ["a", "a#0", "a#0#0", "x" * 511, "x" * 512]
    rows = [row_id(doc_id, number) for doc_id in ids for number in range(20)]
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize("doc_id", ["", "\ud800", "a" * 513])
def test_an_id_that_no_engine_stores_is_refused(doc_id):
    with pytest.raises(SourceError):
        check_doc_id(doc_id)


def test_a_keyword_over_the_limit_rejects_its_document_and_is_counted():
    rejected: list[Rejected] = []
    documents = [
        document("a", doc_id="fits", lang="x" * MAX_KEYWORD_BYTES),
        document("a", doc_id="long", lang="x" * (MAX_KEYWORD_BYTES + 1)),
        document("a", doc_id="bytes", lang=["x", "\u4e2d" * 11_000]),
    ]
    made = stored([], *documents, on_reject=rejected.append)
    assert [kept.id for kept, _ in made] == ["fits"]
    assert [item.doc_id for item in rejected] == ["long", "bytes"]
    assert all("`lang`" in item.reason for item in rejected)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_document_that_fails_is_handed_over_and_the_others_go_on(workers):
    step = {"op": "normalize", "scheme": "regex_replace", "pattern": "x", "replacement": "y" * 1_000}
    documents = [document("x" * (5_000 if n == 30 else 1), doc_id=str(n)) for n in range(100)]
    documents.append(document("half \ud800", doc_id="half"))
    rejected: list[Rejected] = []
    made = stored([step], *documents, workers=workers, on_reject=rejected.append)
    assert [kept.id for kept, _ in made] == [str(n) for n in range(100) if n != 30]
    assert [item.doc_id for item in rejected] == ["30", "half"]
    assert "too long" in rejected[0].reason
    assert "no valid Unicode" in rejected[1].reason
    with pytest.raises(SourceError, match="'30'"):
        stored([step], *documents, workers=workers)


@pytest.mark.parametrize("path", ["text", "text.inner"])
def test_a_document_nested_too_deeply_is_rejected(path):
    nested: Any = "x"
    for _ in range(2_000):
        nested = [nested]
    source = program([]).source.model_copy(update={"fields": {"title": "title", "body": path}})
    wanted = program([LOWER]).model_copy(update={"source": source})
    rejected: list[Rejected] = []
    documents = [Document("deep", {"title": "T", "text": nested}), document("a", doc_id="flat")]
    made = stored_rows(wanted, ["parts"], EMPTY_TABLES, documents, on_reject=rejected.append)
    assert [kept.id for kept, _ in made] == ["flat"]
    assert [item.doc_id for item in rejected] == ["deep"]


def test_processes_make_what_one_process_makes():
    steps: list[dict[str, Any]] = [
        {"op": "slice", "unit": "headings", "keep_heading_path": True},
        {"op": "enrich", "with": "prime_terms", "into": "terms"},
        {"op": "enrich", "with": "neighbours", "into": "near"},
    ]
    documents = [document(f"# One {n}\n\ntext {n % 7}\n\n## Two\n\nmore", doc_id=f"f/{n}") for n in range(300)]
    wanted = program(steps)
    tables = build_tables(wanted, documents)
    alone = list(stored_rows(wanted, ["content", "parts"], tables, documents))
    together = list(stored_rows(wanted, ["content", "parts"], tables, iter(documents), workers=2))
    assert together == alone
    assert [kept.id for kept, _ in together] == [item.id for item in documents]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stream_is_read_only_as_far_as_it_is_used(workers):
    read = 0

    def documents():
        nonlocal read
        for n in range(100_000):
            read += 1
            yield document("a b c", doc_id=str(n))

    made = stored_rows(program([SLICE]), ["parts"], EMPTY_TABLES, documents(), workers=workers)
    for _ in range(10):
        next(made)
    assert isinstance(made, Generator)
    made.close()
    assert read < 1_000


ALPHABET = "aB1 .#*-|`[]()<>&\n\t\u00e9\u4e2d\U0001f600\u200d\u0130\ufeff?:QA~=_"
BODIES = st.one_of(st.text(max_size=80), st.text(st.sampled_from(ALPHABET), max_size=120))
VALUES = st.one_of(BODIES, st.none(), st.integers(-(2**63), 2**63 - 1), st.booleans(), st.lists(BODIES, max_size=3))


@given(step_lists(), VALUES, BODIES, st.sampled_from(["markdown", "html", "text"]))
def test_any_program_takes_any_document_and_makes_the_same_rows_twice(steps, body, title, markup):
    wanted = program(steps, markup=markup)
    item = Document("f/a", {"title": title, "text": body})
    tables = build_tables(wanted, [item, document("a b", doc_id="f/b")])
    made = Interpreter(wanted, "parts", tables).stored(item)
    assert made
    assert made == Interpreter(wanted, "parts", tables).stored(item)
    names = set(view_fields(wanted, wanted.views["parts"]).names)
    for row in made:
        orjson.dumps(row.body)
        assert set(row.body["idxopt"]) <= names | {"doc_id", "row", "span"}
    changed = view_fields(wanted, wanted.views["parts"]).changed
    assert all(row.changed <= changed for row in Interpreter(wanted, "parts", tables).rows(item))


@given(step_lists(size=3), BODIES)
def test_the_source_is_never_changed(steps, body):
    source = {"title": "T", "text": body, "tags": ["a", {"b": 1}]}
    before = json.dumps(source)
    wanted = program(steps)
    Interpreter(wanted, "parts", build_tables(wanted, [Document("d", source)])).stored(Document("d", source))
    assert json.dumps(source) == before
