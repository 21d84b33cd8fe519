"""The drift of frozen tables, by hand."""

from math import log

import pytest

from idxopt.deploy.table_drift import table_drifts
from idxopt.operators.counting import Stream, TablesNeeded
from idxopt.operators.frequencies import DocumentFrequencies
from idxopt.operators.tables import Tables


def tables(documents: int, counts: dict[str, int], stream: Stream = "prime") -> Tables:
    key = (stream, "body")
    return Tables(documents, TablesNeeded({key: None}), {key: DocumentFrequencies(documents, counts)})


def test_equal_tables_have_not_moved() -> None:
    (drift,) = table_drifts(tables(9, {"a": 4, "b": 1}), tables(9, {"a": 4, "b": 1}))
    assert (drift.moved, drift.largest) == (0.0, None)


def test_terms_move_when_their_idf_does() -> None:
    (drift,) = table_drifts(tables(9, {"a": 4, "b": 1, "gone": 1}), tables(9, {"a": 4, "b": 9, "new": 1}))
    assert drift.documents == (9, 9)
    assert drift.terms == (3, 3)
    assert drift.moved == pytest.approx(3 / 4), "b, gone and new of a, b, gone, new"
    assert drift.largest is not None
    term, before, after = drift.largest
    assert term == "b"
    assert (before, after) == pytest.approx((log(5) + 1, 1.0))


def test_more_documents_move_rare_terms() -> None:
    (drift,) = table_drifts(tables(99, {"a": 99, "b": 1}), tables(199, {"a": 199, "b": 1}))
    assert drift.documents == (99, 199)
    assert drift.moved == 0.5
    assert drift.largest is not None
    assert drift.largest[0] == "b"


def test_a_table_of_one_side_only_is_compared_with_nothing() -> None:
    drifts = table_drifts(tables(3, {"a": 1}), tables(3, {"a": 1}, "words"))
    assert [(one.stream, one.terms) for one in drifts] == [("prime", (1, 0)), ("words", (0, 1))]
