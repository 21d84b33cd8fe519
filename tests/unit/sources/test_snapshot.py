"""One checked reading of a source, before anything is written."""

import os
from pathlib import Path

import pytest

from idxopt.errors import GateRefused, SourceError
from idxopt.sources import Reject, Rejects, Source, take_snapshot
from tests.unit.sources.test_files import AFTER, GOOD, jsonl, source_of


def write(path: Path, raw: bytes) -> Source:
    path.write_bytes(raw)
    return source_of(path)


def test_a_snapshot_gives_the_documents_again(tmp_path: Path) -> None:
    snapshot = take_snapshot(write(tmp_path / "docs.jsonl", GOOD + AFTER), tmp_path / "work")
    assert snapshot.count == 2
    assert [document.id for document in snapshot.documents()] == ["a", "z"]
    assert [document.id for document in snapshot.documents()] == ["a", "z"]
    assert snapshot.spool is None
    assert not list((tmp_path / "work").iterdir())


def test_the_digest_covers_ids_contents_and_order_but_not_how_they_are_written(tmp_path: Path) -> None:
    def digest(raw: bytes) -> str:
        return take_snapshot(write(tmp_path / "docs.jsonl", raw), tmp_path / "work").digest

    base = digest(GOOD + AFTER)
    assert digest(b'{"title": "", "_id" : "a", "text": "x"}\n' + AFTER) == base
    assert digest(AFTER + GOOD) != base
    assert digest(GOOD.replace(b'"x"', b'"X"') + AFTER) != base
    assert digest(GOOD.replace(b'"a"', b'"A"') + AFTER) != base
    assert digest(GOOD + AFTER + AFTER.replace(b'"z"', b'"zz"')) != base


def test_an_id_that_occurs_twice_is_named_with_both_places(tmp_path: Path) -> None:
    source = write(tmp_path / "docs.jsonl", GOOD + AFTER + GOOD + AFTER.replace(b'"z"', b'"y"') + AFTER)
    with pytest.raises(SourceError) as caught:
        take_snapshot(source, tmp_path / "work")
    assert caught.value.place == f"{tmp_path}/docs.jsonl:3"
    assert "the id 'a' occurs 2 times" in caught.value.message
    assert f"first at {tmp_path}/docs.jsonl:1" in caught.value.message
    assert "1 more" in caught.value.message


def test_numbers_and_texts_are_the_same_id(tmp_path: Path) -> None:
    source = write(tmp_path / "docs.jsonl", jsonl([{"_id": 7, "title": "", "text": ""}, {"_id": "7", "text": "x"}]))
    with pytest.raises(SourceError, match="the id '7' occurs 2 times"):
        take_snapshot(source, tmp_path / "work")


def test_bad_documents_are_all_listed_and_refused_before_anything_is_written(tmp_path: Path) -> None:
    raw = GOOD + b"{\n" + b'{"_id": "' + b"x" * 600 + b'"}\n' + b"17\n" + AFTER
    with pytest.raises(GateRefused) as caught:
        take_snapshot(write(tmp_path / "docs.jsonl", raw), tmp_path / "work", allow_rejected=2)
    assert caught.value.exit_code == 5
    assert "3 documents cannot be indexed" in caught.value.message
    assert "docs.jsonl:2" in caught.value.message
    assert "--allow-rejected 3" in (caught.value.remedy or "")
    listed = Rejects(None)
    listed.path = tmp_path / "work" / "rejects.jsonl"
    assert [reject.place[-2:] for reject in listed.read()] == [":2", ":3", ":4"]
    assert next(iter(listed.read())).id is None


def test_allowed_rejects_are_left_out(tmp_path: Path) -> None:
    source = write(tmp_path / "docs.jsonl", GOOD + b"{\n" + AFTER)
    snapshot = take_snapshot(source, tmp_path / "work", allow_rejected=1)
    assert (snapshot.count, snapshot.rejects.count) == (2, 1)
    assert [document.id for document in snapshot.documents()] == ["a", "z"]


def test_nothing_but_rejects_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no document that can be indexed"):
        take_snapshot(write(tmp_path / "docs.jsonl", b"{\n"), tmp_path / "work", allow_rejected=1)


def test_documents_that_lack_a_field_are_counted(tmp_path: Path) -> None:
    raw = jsonl([{"_id": 1, "title": "t"}, {"_id": 2, "text": "x"}, {"_id": 3, "text": "y"}])
    snapshot = take_snapshot(write(tmp_path / "docs.jsonl", raw), tmp_path / "work")
    assert snapshot.lacking == {"title": 2, "body": 1}


def test_a_file_that_changes_between_readings_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    snapshot = take_snapshot(write(path, GOOD + AFTER), tmp_path / "work")
    reading = snapshot.documents()
    next(reading)
    os.utime(path, ns=(1, 1))
    with pytest.raises(SourceError, match="changed while it was being read"):
        list(reading)
    with pytest.raises(SourceError, match="changed while it was being read"):
        next(snapshot.documents())


def test_progress_is_reported(tmp_path: Path) -> None:
    many = jsonl([{"_id": n, "title": "t", "text": "x"} for n in range(2500)])
    seen: list[int] = []
    take_snapshot(write(tmp_path / "docs.jsonl", many), tmp_path / "work", on_progress=seen.append)
    assert seen == [1000, 2000, 2500]


def test_rejects_of_an_earlier_run_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "rejects.jsonl"
    Rejects(path).add(Reject("a:1", "old", "mend it"))
    fresh = Rejects(path)
    assert list(fresh.read()) == []
    fresh.add(Reject("a:2", "new", "mend it", id="x"))
    assert list(fresh.read()) == [Reject("a:2", "new", "mend it", id="x")]
