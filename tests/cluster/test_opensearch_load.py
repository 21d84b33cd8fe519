"""Loads, overwrites and full reads of the OpenSearch adapter, on real nodes."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import AliasAction, IndexState, LoadReport, LoadRow
from idxopt.errors import Conflict, EngineError, Forbidden, NotFound, Rejected

MAPPING = {"dynamic": False, "properties": {"t": {"type": "text"}, "k": {"type": "keyword"}}}


def make(cluster: OpenSearchEngine, name: str, shards: int = 1, **settings: object) -> IndexState:
    index = {"number_of_shards": shards, "number_of_replicas": 0, "refresh_interval": "-1", "hidden": True, **settings}
    return cluster.create_index(name, {"settings": {"index": index}, "mappings": MAPPING})


def rows(count: int) -> Iterator[LoadRow]:
    return (LoadRow(f"id {number} ü/#", {"t": f"text number {number}", "n": number}) for number in range(count))


def read(cluster: OpenSearchEngine, index: str) -> dict[str, object]:
    cluster.refresh(index)
    found = list(cluster.scan(index))
    stored: dict[str, object] = {document.id: document.source for document in found}
    assert len(stored) == len(found)
    return stored


def open_contexts(cluster: OpenSearchEngine) -> int:
    figures = cluster._wire.get("/_nodes/stats/indices/search")["nodes"]
    return sum(int(node["indices"]["search"]["point_in_time_current"]) for node in figures.values())


@pytest.mark.parametrize("workers", [1, 3])
def test_all_rows_arrive_once(cluster: OpenSearchEngine, prefix: str, workers: int) -> None:
    state = make(cluster, f"{prefix}--a--1", shards=3)
    done: list[int] = []
    report = cluster.load(state.name, state.uuid, rows(5000), workers=workers, on_progress=done.append)
    assert report == LoadReport(created=5000, existed=0, failed=())
    assert done == sorted(done)
    assert done[-1] == 5000
    assert read(cluster, state.name) == {row.id: row.body for row in rows(5000)}
    stats = cluster.stats(state.name)
    assert (stats.documents, stats.deleted) == (5000, 0)
    assert sum(checkpoint + 1 for checkpoint in stats.checkpoints.values()) == 5000


def test_a_resumed_load_compares_what_is_there(cluster: OpenSearchEngine, prefix: str) -> None:
    state = make(cluster, f"{prefix}--a--1")
    cluster.load(state.name, state.uuid, [LoadRow("same", {"n": 1, "t": "x"}), LoadRow("other", {"t": "old"})])
    report = cluster.load(
        state.name,
        state.uuid,
        [LoadRow("same", {"t": "x", "n": 1.0}), LoadRow("other", {"t": "new"}), LoadRow("new", {"t": "z"})],
    )
    assert (report.created, report.existed) == (1, 1)
    (failure,) = report.failed
    assert (failure.id, failure.status, failure.reason) == ("other", 409, "another document is stored under this id")
    assert read(cluster, state.name)["other"] == {"t": "old"}


def test_a_bad_row_never_fails_the_others(cluster: OpenSearchEngine, prefix: str) -> None:
    """H5 among them: bulk is the one way in that would take other ids than the rest of the engine."""
    state = make(cluster, f"{prefix}--a--1")
    limits = ["a" * 511, "b" * 512, "c" * 513, "\N{GRINNING FACE}" * 128, "\N{GRINNING FACE}" * 129, ""]
    bad = [
        LoadRow("object for a text", {"t": {"a": 1}}),
        LoadRow("half a surrogate \ud800", {"t": "x"}),
        LoadRow("half a surrogate in the text", {"t": "\udc00"}),
        LoadRow("beyond 64 bits", {"n": 2**70}),
        LoadRow("keyword too long", {"k": "x" * 40_000}),
    ]
    good = list(rows(300))
    given = [*good[:100], *bad, *good[100:200], *(LoadRow(one, {"t": "x"}) for one in limits), *good[200:]]
    report = cluster.load(state.name, state.uuid, given)
    stored = {row.id for row in good} | {"a" * 511, "b" * 512, "\N{GRINNING FACE}" * 128}
    assert report.created == len(stored)
    assert {failure.id for failure in report.failed} == {row.id for row in given} - stored
    assert all(failure.status == 400 and failure.reason for failure in report.failed)
    assert set(read(cluster, state.name)) == stored


def test_a_request_refused_for_one_row_is_halved_to_find_it(
    cluster: OpenSearchEngine, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("idxopt.engines.opensearch.bulk.ID_BYTES", 10_000)
    state = make(cluster, f"{prefix}--a--1")
    given = [*rows(100), LoadRow("x" * 600, {"t": "a"}), LoadRow("y" * 700, {"t": "b"})]
    report = cluster.load(state.name, state.uuid, given)
    assert report.created == 100
    assert [(failure.id, failure.status) for failure in report.failed] == [("x" * 600, 400), ("y" * 700, 400)]
    assert "too long" in report.failed[0].reason


def test_requests_that_are_all_refused_end_the_load(
    cluster: OpenSearchEngine, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("idxopt.engines.opensearch.bulk.ID_BYTES", 10_000)
    state = make(cluster, f"{prefix}--a--1")
    with pytest.raises(Rejected, match="too long"):
        cluster.load(state.name, state.uuid, (LoadRow(f"{number}" * 600, {"t": "a"}) for number in range(10, 60)))


def test_a_row_larger_than_a_request_is_named(cluster: OpenSearchEngine, prefix: str) -> None:
    cluster._capabilities = replace(cluster.capabilities(), max_request_bytes=1_000_000)
    state = make(cluster, f"{prefix}--a--1")
    report = cluster.load(state.name, state.uuid, [*rows(3), LoadRow("big", {"t": "word " * 200_000})])
    assert report.created == 3
    assert [(failure.id, failure.status) for failure in report.failed] == [("big", 413)]


def test_a_real_413_halves_requests(cluster: OpenSearchEngine, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("idxopt.engines.opensearch.loader.BATCH_BYTES", 10**9)
    cluster._capabilities = replace(cluster.capabilities(), max_request_bytes=10**9)
    state = make(cluster, f"{prefix}--a--1")
    large = {"n": "y" * (4 * 1024 * 1024)}
    report = cluster.load(state.name, state.uuid, (LoadRow(str(number), large) for number in range(27)))
    assert (report.created, report.failed) == (27, ())
    assert report.splits >= 1


def test_the_pipeline_of_the_index_is_passed_by(cluster: OpenSearchEngine, prefix: str) -> None:
    cluster.put_pipeline(f"{prefix}-p", {"processors": [{"set": {"field": "marked", "value": True}}]})
    state = make(cluster, f"{prefix}--a--1", default_pipeline=f"{prefix}-p")
    cluster.load(state.name, state.uuid, [LoadRow("1", {"t": "x"})])
    cluster.overwrite(state.name, state.uuid, [LoadRow("2", {"t": "y"})], [])
    cluster.put_document(state.name, "3", {"t": "z"})
    assert read(cluster, state.name) == {"1": {"t": "x"}, "2": {"t": "y"}, "3": {"t": "z"}}
    cluster.update_settings(state.name, {"index.default_pipeline": None})


def test_a_load_never_goes_into_another_index(cluster: OpenSearchEngine, prefix: str) -> None:
    name = f"{prefix}--a--1"
    first = make(cluster, name)
    with pytest.raises(Conflict, match="is gone"):
        cluster.load(f"{prefix}--absent", first.uuid, rows(10))
    assert cluster.get_index(f"{prefix}--absent") is None
    cluster.delete_index(name, first.uuid)
    second = make(cluster, name)
    with pytest.raises(Conflict, match="instead of"):
        cluster.load(name, first.uuid, rows(10))
    assert read(cluster, name) == {}
    assert cluster.load(name, second.uuid, rows(10)).created == 10


def test_an_index_deleted_during_the_load_is_noticed(cluster: OpenSearchEngine, prefix: str) -> None:
    name = f"{prefix}--a--1"
    state = make(cluster, name)

    def meddled() -> Iterator[LoadRow]:
        yield from rows(4000)
        cluster.delete_index(name, state.uuid)
        yield from (LoadRow(f"late {number}", {"t": "x"}) for number in range(4000))

    with pytest.raises(Conflict, match="during the load"):
        cluster.load(name, state.uuid, meddled(), workers=2)


def test_a_read_only_index_stops_the_load(cluster: OpenSearchEngine, prefix: str) -> None:
    state = make(cluster, f"{prefix}--a--1")
    cluster.update_settings(state.name, {"index.blocks.write": True})
    with pytest.raises(Forbidden, match="blocked by") as caught:
        cluster.load(state.name, state.uuid, rows(10))
    assert "index.blocks" in str(caught.value.remedy)
    cluster.update_settings(state.name, {"index.blocks.write": None, "index.blocks.read_only_allow_delete": True})
    with pytest.raises(Forbidden, match="disk is full") as caught:
        cluster.load(state.name, state.uuid, rows(10))
    assert "read_only_allow_delete" in str(caught.value.remedy)
    with pytest.raises(Forbidden, match="disk is full"):
        cluster.update_aliases([AliasAction("add", state.name, f"{prefix}-alias")])
    cluster.update_settings(state.name, {"index.blocks.read_only_allow_delete": None})
    assert cluster.load(state.name, state.uuid, rows(10)).created == 10


def test_an_error_of_the_reader_ends_the_load(cluster: OpenSearchEngine, prefix: str) -> None:
    state = make(cluster, f"{prefix}--a--1")

    def broken() -> Iterator[LoadRow]:
        yield from rows(3000)
        raise OSError("the source is gone")

    before = threading.active_count()
    with pytest.raises(OSError, match="the source is gone"):
        cluster.load(state.name, state.uuid, broken(), workers=2)
    assert threading.active_count() == before
    assert cluster.load(state.name, state.uuid, rows(3000)).failed == ()


def test_overwrite_puts_and_deletes(cluster: OpenSearchEngine, prefix: str) -> None:
    state = make(cluster, f"{prefix}--a--1")
    cluster.load(state.name, state.uuid, rows(10))
    ids = [row.id for row in rows(10)]
    report = cluster.overwrite(
        state.name,
        state.uuid,
        [LoadRow(ids[0], {"t": "new"}), LoadRow("added", {"t": "added"}), LoadRow("bad", {"t": {"a": 1}})],
        [ids[1], "never there"],
    )
    assert report.created == 2
    assert [failure.id for failure in report.failed] == ["bad"]
    stored = read(cluster, state.name)
    assert (stored[ids[0]], stored["added"]) == ({"t": "new"}, {"t": "added"})
    assert set(stored) == {*ids, "added"} - {ids[1]}
    with pytest.raises(Conflict):
        cluster.overwrite(state.name, "another uuid", [], ids)


@pytest.mark.parametrize("shards", [1, 5])
def test_scan_finds_every_document(cluster: OpenSearchEngine, prefix: str, shards: int) -> None:
    """One PIT over several shards loses rows on 2.19; here deletes and several segments are in it too."""
    state = make(cluster, f"{prefix}--a--1", shards=shards)
    everything = list(rows(2900))
    for start in range(0, 2900, 290):
        cluster.load(state.name, state.uuid, everything[start : start + 290])
        cluster.refresh(state.name)
    cluster.overwrite(state.name, state.uuid, [], [row.id for row in everything[:100]])
    kept = {row.id: row.body for row in everything[100:]}
    assert read(cluster, state.name) == kept
    chosen = {document.id for document in cluster.scan(state.name, query={"match": {"t": "1234"}}, fields=["n"])}
    assert chosen == {"id 1234 ü/#"}
    (only,) = cluster.scan(state.name, query={"match": {"t": "1234"}}, fields=["n"])
    assert only.source == {"n": 1234}
    (bare,) = cluster.scan(state.name, query={"match": {"t": "1234"}}, fields=[])
    assert bare.source == {}
    stored = cluster.get_document(state.name, only.id)
    assert stored is not None
    assert stored.version == only.version


def test_scan_is_of_one_point_in_time_and_leaves_no_context(cluster: OpenSearchEngine, prefix: str) -> None:
    state = make(cluster, f"{prefix}--a--1", shards=2)
    cluster.load(state.name, state.uuid, rows(500))
    cluster.refresh(state.name)
    before = open_contexts(cluster)
    reading = cluster.scan(state.name)
    first = next(reading)
    assert open_contexts(cluster) == before + 2
    cluster.overwrite(state.name, state.uuid, [LoadRow("late", {"t": "x"})], [row.id for row in rows(200)])
    cluster.refresh(state.name)
    assert {first.id, *(document.id for document in reading)} == {row.id for row in rows(500)}
    abandoned = cluster.scan(state.name)
    next(abandoned)
    abandoned.close()  # type: ignore[attr-defined]
    assert open_contexts(cluster) == before


def test_scan_of_an_alias_and_of_nothing(cluster: OpenSearchEngine, prefix: str) -> None:
    for number in (1, 2):
        state = make(cluster, f"{prefix}--a--{number}", shards=2)
        cluster.load(state.name, state.uuid, [LoadRow(f"{number} {one}", {"t": "x"}) for one in range(50)])
        cluster.refresh(state.name)
        cluster.update_aliases([AliasAction("add", state.name, f"{prefix}-both")])
    assert len({document.id for document in cluster.scan(f"{prefix}-both")}) == 100
    cluster.update_aliases([AliasAction("add", state.name, f"{prefix}-part", {"filter": {"term": {"k": "z"}}})])
    with pytest.raises(Rejected, match="filter"):
        list(cluster.scan(f"{prefix}-part"))
    with pytest.raises(NotFound):
        list(cluster.scan(f"{prefix}-absent"))
    empty = make(cluster, f"{prefix}--empty--1")
    assert list(cluster.scan(empty.name)) == []


def test_scan_of_long_documents_asks_for_short_pages(
    cluster: OpenSearchEngine, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = make(cluster, f"{prefix}--a--1", max_result_window=150)
    short = [LoadRow(f"a{number:03}", {"n": number}) for number in range(400)]
    long = [LoadRow(f"b{number:03}", {"n": "x" * 200_000}) for number in range(400)]
    cluster.load(state.name, state.uuid, [*short, *long, LoadRow("c", {"n": 1})])
    cluster.refresh(state.name)
    sizes: list[tuple[int, int]] = []
    once = cluster._wire.once

    def counted(method: str, path: str, body: object = None, **more: object) -> object:
        answer = once(method, path, body, **more)  # type: ignore[arg-type]
        if path == "/_search":
            assert isinstance(body, dict)
            sizes.append((body["size"], cluster._wire.last_size))
        return answer

    monkeypatch.setattr(cluster._wire, "once", counted)
    assert len({document.id for document in cluster.scan(state.name)}) == 801
    assert max(size for size, _ in sizes) == 150
    long_pages = [(size, length) for size, length in sizes if length > 1_000_000]
    assert all(size <= 42 and length < 9 * 1024 * 1024 for size, length in long_pages[2:-1])
    assert len(long_pages) >= 5


def test_scan_says_when_rows_are_missing(
    cluster: OpenSearchEngine, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = make(cluster, f"{prefix}--a--1", shards=2)
    cluster.load(state.name, state.uuid, rows(300))
    cluster.refresh(state.name)
    once = cluster._wire.once

    def lossy(method: str, path: str, body: object = None, **more: object) -> object:
        answer = once(method, path, body, **more)  # type: ignore[arg-type]
        if path == "/_search" and len(answer["hits"]["hits"]) > 3:
            del answer["hits"]["hits"][1]
        return answer

    monkeypatch.setattr(cluster._wire, "once", lossy)
    with pytest.raises(EngineError, match="documents were read, but"):
        list(cluster.scan(state.name))
