"""Corpus tables: what is counted, what is kept, and that they come back as they were."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import BuildError, ProgramError
from idxopt.operators.counting import TablesNeeded, line_digest
from idxopt.operators.frequencies import BoundedCounts, DocumentFrequencies
from idxopt.operators.interpreter import Interpreter
from idxopt.operators.row import Document
from idxopt.operators.tables import EMPTY_TABLES, Tables, build_tables, tables_needed
from tests.unit.operators.corpus import document
from tests.unit.program.programs import program

PRIME: dict[str, Any] = {"op": "enrich", "with": "prime_terms", "into": "terms"}
ALL: list[dict[str, Any]] = [
    {"op": "normalize", "scheme": "lowercase"},
    PRIME,
    {"op": "enrich", "with": "keywords", "field": "title", "into": "kw"},
    {"op": "enrich", "with": "neighbours", "into": "near"},
    {"op": "discard", "span": {"repeated_lines": {"min_docs": 2}}},
]


def test_a_program_without_such_steps_needs_none_and_reads_nothing():
    documents = iter([document("a")])
    plain = program([{"op": "normalize", "scheme": "lowercase"}])
    assert not tables_needed(plain)
    assert build_tables(plain, documents) == EMPTY_TABLES
    assert next(documents).id == "doc"


def test_what_is_needed_is_the_most_that_any_step_asks_for():
    needed = tables_needed(
        program(
            [
                {**PRIME, "max_idf_terms": 10},
                {**PRIME, "max_idf_terms": 20, "into": "more"},
                {"op": "discard", "span": {"repeated_lines": {"min_docs": 5}}},
                {"op": "discard", "span": {"repeated_lines": {}}},
            ]
        )
    )
    assert needed.frequencies == {("prime", "body"): 20}
    assert needed.lines == {"body": 5}
    assert tables_needed(program([{**PRIME, "max_idf_terms": 10}, {**PRIME, "into": "all"}])).frequencies == {
        ("prime", "body"): None
    }


def test_tables_are_of_the_source_and_come_back_from_json():
    documents = [document("Alpha beta\nSame line", title="One Two", doc_id="f/a")]
    documents += [document("alpha\n Same line", title="Two", doc_id="f/b"), document("x", doc_id="g/a")]
    tables = build_tables(program(ALL), documents)
    assert tables.documents == 3
    assert dict(tables.frequencies[("prime", "body")].counts) == {"alpha": 2, "beta": 1, "same": 2, "line": 2, "x": 1}
    assert dict(tables.frequencies[("words", "title")].counts) == {"one": 1, "two": 2, "title": 1}
    assert tables.lines == {"body": {line_digest("Same line"): 2}}
    assert tables.titles == {"title": (("f/a", "One Two"), ("f/b", "Two"), ("g/a", "Title"))}
    again = Tables.from_json(json.loads(json.dumps(tables.to_json())))
    assert again == tables
    assert again.digest == tables.digest != EMPTY_TABLES.digest


def test_the_order_of_documents_does_not_matter():
    documents = [document(f"text {n} alpha", title=f"T{n}", doc_id=f"{n % 3}/{n}") for n in range(600)]
    assert build_tables(program(ALL), documents).digest == build_tables(program(ALL), documents[::-1]).digest


def test_processes_count_what_one_process_counts():
    documents = [document(f"text {n} alpha\nline {n % 5}", title=f"T{n}", doc_id=f"{n % 3}/{n}") for n in range(600)]
    assert build_tables(program(ALL), documents, workers=2) == build_tables(program(ALL), documents)


def test_a_smaller_table_is_not_enough():
    made = TablesNeeded({("prime", "body"): 10}, {"body": 5}, frozenset({"title"}))
    assert not TablesNeeded({("prime", "body"): 10}, {"body": 6}).beyond(made)
    assert TablesNeeded({("prime", "body"): 11}, {"body": 4}).beyond(made).frequencies == {("prime", "body"): 11}
    assert TablesNeeded({("prime", "body"): None}).beyond(made)
    assert TablesNeeded(lines={"body": 4}).beyond(made).lines == {"body": 4}


def test_an_interpreter_without_its_tables_is_refused():
    with pytest.raises(ProgramError, match="corpus tables lack"):
        Interpreter(program([PRIME]), "parts", EMPTY_TABLES)
    Interpreter(program([PRIME]), "content", EMPTY_TABLES)


def test_documents_that_cannot_be_read_are_left_to_the_interpreter():
    nested: Any = "x"
    for _ in range(2_000):
        nested = [nested]
    documents = [document("half \ud800", doc_id="a"), Document("b", {"text": nested}), document("alpha", doc_id="c")]
    tables = build_tables(program(ALL), documents)
    assert dict(tables.frequencies["prime", "body"].counts) == {"alpha": 1}
    assert len(tables.digest) == 64


@pytest.mark.parametrize("value", [{}, {"schema": "idxopt-tables/0"}, {"schema": "idxopt-tables/1", "documents": "x"}])
def test_damaged_tables_are_refused(value):
    with pytest.raises(BuildError, match="damaged"):
        Tables.from_json(value)


def test_inverse_document_frequencies():
    from math import log

    table = DocumentFrequencies(9, {"a": 9, "b": 4, "c": 1})
    idf, absent = table.idf()
    assert idf == {"a": 1.0, "b": round(log(2) + 1, 12), "c": round(log(5) + 1, 12)}
    assert absent == round(log(10) + 1, 12)
    cut, absent = table.limited(2).idf()
    assert cut == {"a": 1.0, "b": round(log(2) + 1, 12)}
    assert absent == round(log(2) + 1, 12)


def test_ties_at_the_cut_go_by_code_point():
    table = DocumentFrequencies(9, {"z": 3, "\U0001f600": 2, "\uff5a": 2, "b": 2}).limited(3)
    assert list(table.counts) == ["b", "z", "\uff5a"]


@given(
    st.lists(st.dictionaries(st.text("abcdefgh", min_size=1, max_size=2), st.integers(1, 3), max_size=8), max_size=20)
)
def test_bounded_counts_are_too_low_by_their_floor_at_most(chunks):
    counts = BoundedCounts(limit=10)
    exact: dict[str, int] = {}
    for chunk in chunks:
        counts.add(chunk)
        for key, count in chunk.items():
            exact[key] = exact.get(key, 0) + count
        assert len(counts.counts) <= 10
    for key, count in exact.items():
        assert count - counts.floor <= counts.counts.get(key, 0) <= count
