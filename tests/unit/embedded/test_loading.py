"""Loads: memory that does not grow with the input, several processes, bad rows."""

import tracemalloc
from collections.abc import Iterator

import pytest

from idxopt.engines.embedded import EmbeddedEngine, loading, merging, pack
from idxopt.engines.port import LoadRow
from tests.unit.embedded.shelf import BODY, fill, rows, search


def _rows(count: int) -> Iterator[LoadRow]:
    for n in range(count):
        words = " ".join(f"w{(n * 31 + k * k) % 1009}" for k in range(80))
        yield LoadRow(f"d{n}", {"text": words, "doc_id": f"d{n}"})


def _peak(engine: EmbeddedEngine, index: str, count: int) -> int:
    state = engine.create_index(index, BODY)
    tracemalloc.start()
    try:
        engine.load(index, state.uuid, _rows(count))
        engine.refresh(index)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_input(engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "BATCH_BYTES", 100_000)
    monkeypatch.setattr(merging, "BLOCK_POSTINGS", 10_000)
    monkeypatch.setattr(pack, "CHUNK_BYTES", 64_000)
    _peak(engine, "warm", 500)
    small = _peak(engine, "small", 400)
    # The least of three: what other threads of the test run allocate meanwhile is counted too.
    large = min(_peak(engine, f"large-{n}", 2_400) for n in range(3))
    assert large < 1.5 * small
    assert engine.stats("large-0").documents == 2_400


def test_several_processes_store_the_same(engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_TASK_CHARACTERS", 50_000)
    fill(engine, "one", list(_rows(300)))
    state = engine.create_index("two", BODY)
    assert engine.load("two", state.uuid, _rows(300), workers=2).created == 300
    engine.refresh("two")
    assert search(engine, "two", "w1 w16 w625").hits == search(engine, "one", "w1 w16 w625").hits != ()


@pytest.mark.parametrize(
    "row",
    [
        LoadRow("", {}),
        LoadRow("\ud800", {}),
        LoadRow("bad", {"text": "\ud800"}),
        LoadRow("bad", {"unmapped": 2**64}),
        LoadRow("bad", {"number": "x"}),
    ],
)
def test_a_row_that_cannot_be_stored(engine: EmbeddedEngine, row: LoadRow) -> None:
    state = engine.create_index("a", BODY)
    report = engine.load("a", state.uuid, [*rows(("1", {})), row, *rows(("2", {}))])
    assert report.created == 2
    assert [(failure.id, failure.status) for failure in report.failed] == [(row.id, 400)]
