"""State documents, loads, scans and counts, as every engine keeps them."""

from typing import Any

import pytest

from idxopt.engines.port import Engine, IndexState, LoadRow, Version
from idxopt.errors import Conflict, NotFound, Rejected
from tests.contract.library import ROWS, ask, book, filtered


def test_a_document_is_compared_and_swapped(engine: Engine, empty: IndexState) -> None:
    index = empty.name
    first = engine.put_document(index, "lock", {"n": 1}, create=True)
    with pytest.raises(Conflict):
        engine.put_document(index, "lock", {"n": 2}, create=True)
    second = engine.put_document(index, "lock", {"n": 2}, expect=first)
    assert second.seq_no > first.seq_no
    with pytest.raises(Conflict):
        engine.put_document(index, "lock", {"n": 3}, expect=first)
    stored = engine.get_document(index, "lock")
    assert stored is not None
    assert (stored.id, stored.source, stored.version) == ("lock", {"n": 2}, second)
    with pytest.raises(Conflict):
        engine.delete_document(index, "lock", expect=first)
    engine.delete_document(index, "lock", expect=second)
    assert engine.get_document(index, "lock") is None
    with pytest.raises(Conflict):
        engine.put_document(index, "lock", {"n": 4}, expect=second)
    again = engine.put_document(index, "lock", {"n": 5}, create=True)
    assert again.seq_no > second.seq_no


def test_a_document_survives_refreshes(engine: Engine, empty: IndexState) -> None:
    index = empty.name
    first = engine.put_document(index, "a", book("a", title="one"), refresh=True)
    assert engine.get_documents(index, ["a", "b"]) == {"a": engine.get_document(index, "a")}
    second = engine.put_document(index, "a", book("a", title="two"), expect=first)
    assert [hit.id for hit in engine.scan(index)] == ["a"]
    assert [hit.source["title"] for hit in engine.scan(index)] == ["one"]
    engine.refresh(index)
    [scanned] = engine.scan(index)
    assert (scanned.source["title"], scanned.version) == ("two", second)
    engine.delete_document(index, "a", expect=second)
    engine.delete_document(index, "a")
    assert engine.get_document(index, "a") is None
    assert len(list(engine.scan(index))) == 1
    engine.refresh(index)
    assert list(engine.scan(index)) == []
    with pytest.raises(NotFound):
        engine.get_document(f"{index}-absent", "a")


def test_a_document_that_the_mapping_refuses(engine: Engine, empty: IndexState) -> None:
    with pytest.raises(Rejected):
        engine.put_document(empty.name, "a", {"idxopt": {"doc_id": "a", "surprise": 1}})
    with pytest.raises(Rejected):
        engine.put_document(empty.name, "a", {"year": "no year"})
    assert engine.get_document(empty.name, "a") is None


def test_a_load_is_seen_after_a_refresh(engine: Engine, empty: IndexState) -> None:
    done: list[int] = []
    rows = [LoadRow(id, body) for id, body in ROWS.items()]
    report = engine.load(empty.name, empty.uuid, rows, on_progress=done.append)
    assert (report.created, report.existed, report.failed) == (len(ROWS), 0, ())
    assert done[-1] == len(ROWS)
    assert engine.get_documents(empty.name, list(ROWS)).keys() == ROWS.keys()
    assert ask(engine, empty.name, {"query": {"match_all": {}}}).total == 0
    engine.refresh(empty.name)
    assert {row.id: row.source for row in engine.scan(empty.name)} == dict(ROWS)
    stats = engine.stats(empty.name)
    assert (stats.documents, stats.deleted, stats.checkpoints) == (len(ROWS), 0, {0: len(ROWS) - 1})
    assert stats.bytes > 0


def test_a_load_repeated_creates_nothing_twice(engine: Engine, empty: IndexState) -> None:
    rows = [LoadRow("a", book("a", year=1)), LoadRow("b", book("b", price=1.0)), LoadRow("a", book("a", year=1))]
    report = engine.load(empty.name, empty.uuid, rows)
    assert (report.created, report.existed, report.failed) == (2, 1, ())
    again = [LoadRow("b", book("b", price=1)), LoadRow("a", book("a", year=2)), LoadRow("c", book("c"))]
    report = engine.load(empty.name, empty.uuid, again, workers=2)
    assert (report.created, report.existed) == (1, 1)
    assert [(failure.id, failure.status) for failure in report.failed] == [("a", 409)]
    engine.refresh(empty.name)
    assert sorted(row.id for row in engine.scan(empty.name)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "body",
    [
        {"year": "no year"},
        {"year": 2**31},
        {"big": 2**63},
        {"price": {"a": 1}},
        {"open": "yes"},
        {"open": 1},
        {"seen": "yesterday"},
        {"seen": "2024-02-30"},
        {"seen": "2024-13-01"},
        {"lang": "x" * 32_767},
        {"lang": {"a": 1}},
        {"title": {"a": 1}},
        {"author": "Ana"},
        {"idxopt": {"doc_id": "x", "surprise": 1}},
    ],
)
def test_a_bad_row_fails_alone(engine: Engine, empty: IndexState, body: dict[str, Any]) -> None:
    rows = [LoadRow("good", book("good")), LoadRow("bad", body), LoadRow("better", book("better"))]
    report = engine.load(empty.name, empty.uuid, rows)
    assert (report.created, report.existed) == (2, 0)
    [failure] = report.failed
    assert (failure.id, failure.status) == ("bad", 400)
    assert failure.reason
    assert engine.get_document(empty.name, "bad") is None


@pytest.mark.parametrize(("id", "fits"), [("x" * 512, True), ("\U0001f30a" * 128, True), ("x" * 513, False)])
def test_ids_up_to_512_bytes(engine: Engine, empty: IndexState, id: str, fits: bool) -> None:
    report = engine.load(empty.name, empty.uuid, [LoadRow(id, {}), LoadRow("other", {})])
    assert report.created == 1 + fits
    assert [failure.id for failure in report.failed] == ([] if fits else [id])
    assert (engine.get_documents(empty.name, [id]) != {}) is fits


def test_a_load_goes_only_into_the_index_that_was_meant(engine: Engine, empty: IndexState) -> None:
    with pytest.raises(Conflict):
        engine.load(empty.name, f"{empty.uuid[:-1]}_", [LoadRow("a", book("a"))])
    assert engine.get_document(empty.name, "a") is None


def test_overwrite_replaces_and_deletes(engine: Engine, empty: IndexState) -> None:
    engine.load(empty.name, empty.uuid, [LoadRow(id, book(id, year=1)) for id in "abc"])
    engine.refresh(empty.name)
    puts = [LoadRow("a", book("a", year=2)), LoadRow("d", book("d")), LoadRow("e", {"year": "no year"})]
    report = engine.overwrite(empty.name, empty.uuid, puts, ["b", "absent"])
    assert report.created == 2
    assert [failure.id for failure in report.failed] == ["e"]
    engine.refresh(empty.name)
    assert {row.id: row.source.get("year") for row in engine.scan(empty.name)} == {"a": 2, "c": 1, "d": None}
    with pytest.raises(Conflict):
        engine.overwrite(empty.name, f"{empty.uuid[:-1]}_", [], ["a"])


def test_scan_filters_and_selects(engine: Engine, library: str) -> None:
    rows = list(engine.scan(library, query={"term": {"lang": "en"}}, fields=["title", "author.name"]))
    assert {row.id: row.source for row in rows} == {
        "b#0": {"title": "Running rivers", "author": {"name": "Ana"}},
        "b#1": {"title": "Deserts"},
    }
    assert all(isinstance(row.version, Version) for row in rows)
    assert {row.id for row in engine.scan(library, fields=[])} == ROWS.keys()
    assert all(row.source == {} for row in engine.scan(library, fields=[]))
    with pytest.raises(Rejected):
        list(engine.scan(library, query={"no_such_query": {}}))
    with pytest.raises(NotFound):
        list(engine.scan(f"{library}-absent"))


def test_many_rows_are_all_read_back(engine: Engine, empty: IndexState) -> None:
    rows = [LoadRow(f"{number:05d}", book(f"{number:05d}", text="wave " * (number % 7))) for number in range(2_500)]
    report = engine.load(empty.name, empty.uuid, iter(rows), workers=2)
    assert (report.created, report.failed) == (2_500, ())
    engine.refresh(empty.name)
    read = [row.id for row in engine.scan(empty.name, fields=[])]
    assert len(read) == 2_500
    assert set(read) == {row.id for row in rows}
    assert ask(engine, empty.name, filtered({"match_all": {}}, size=1, track_total_hits=True)).total == 2_500
