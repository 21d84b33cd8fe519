"""Reads a whole index at one point in time, and proves by the count that nothing was lost.

On 3.x one PIT sorted by `_shard_doc` does it. On 2.19 a PIT over several shards loses rows silently whatever it is
sorted by, so each shard gets a PIT of its own, sorted by `_doc`. The shards' pages are taken in turn, which also keeps
all PITs alive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idxopt.engines.opensearch.faults import RequestFailed, reason_of
from idxopt.engines.opensearch.names import concrete
from idxopt.engines.opensearch.wire import Wire, logger, segment
from idxopt.engines.port import Body, StoredDocument, Version
from idxopt.errors import EngineError, NotFound, Rejected
from idxopt.operators.row import VECTOR

KEEP_ALIVE = "30m"
FIRST_PAGE = 20
LARGEST_PAGE = 250
PAGE_CHARACTERS = 4 * 1024 * 1024
GROWTH = 4


@dataclass
class _Reading:
    """One PIT on its way. `expected` is the count at that point in time, known after the first page."""

    pit: str
    label: str
    sort: str
    largest: int
    size: int
    after: list[Any] | None = None
    expected: int | None = None
    read: int = 0
    done: bool = False


def next_size(size: int, rows: int, characters: int, largest: int) -> int:
    """Rows to ask for next, so that a page stays near `PAGE_CHARACTERS` when rows are as long as the last ones.

    It grows at most fourfold, because the first rows may be the short ones.
    """
    fitting = PAGE_CHARACTERS * max(rows, 1) // max(characters, 1)
    return max(1, min(fitting, size * GROWTH, largest))


def scan(
    wire: Wire,
    index: str,
    *,
    single_pit: bool,
    fields: Sequence[str] | None,
    query: Body | None,
    vectors: bool = True,
) -> Iterator[StoredDocument]:
    """Every searchable document of an index, or of the indices behind an alias.

    Documents written since the last refresh are not there yet. A filtered alias is refused: its filter would be passed
    over. Raises EngineError when the number read is not the count at that point in time.
    """
    readings: list[_Reading] = []
    source: Any = True if fields is None else list(fields) or False  # an empty list would mean all
    if fields is None and not vectors:
        source = {"excludes": [VECTOR]}
    try:
        for name, state in _physical(wire, index).items():
            readings.extend(_open(wire, name, state, single_pit))
        for reading in _in_turn(readings):
            yield from _page(wire, reading, source, query)
    finally:
        _close(wire, readings)


def _in_turn(readings: list[_Reading]) -> Iterator[_Reading]:
    while waiting := [reading for reading in readings if not reading.done]:
        yield from waiting


def _physical(wire: Wire, name: str) -> dict[str, Any]:
    found = wire.find(f"/{segment(concrete(name))}", flat_settings="true", expand_wildcards="all")
    if found is None:
        raise NotFound("there is no such index or alias", place=name, remedy="check the name")
    for state in found.values():
        definition = state["aliases"].get(name)
        if definition and ("filter" in definition or "search_routing" in definition):
            raise Rejected(
                "the alias has a filter or a routing, which a full read would pass over",
                place=name,
                remedy="name the index behind it, or an alias without filter",
            )
    return dict(found)


def _open(wire: Wire, index: str, state: Mapping[str, Any], single_pit: bool) -> Iterator[_Reading]:
    settings = state["settings"]
    shards = int(settings["index.number_of_shards"])
    largest = min(LARGEST_PAGE, int(settings.get("index.max_result_window", LARGEST_PAGE)))
    path = f"/{segment(index)}/_search/point_in_time"
    for shard in [None] if single_pit else range(shards):
        params = {"keep_alive": KEEP_ALIVE, "allow_partial_pit_creation": "false"}
        if shard is not None:
            params["preference"] = f"_shards:{shard}"
        answer = wire.ask("POST", path, params=params)
        label = index if shard is None else f"{index} (shard {shard})"
        yield _Reading(
            answer["pit_id"], label, "_shard_doc" if single_pit else "_doc", largest, size=min(FIRST_PAGE, largest)
        )
        covered = answer["_shards"]
        if covered["failed"] or covered["total"] != (shards if shard is None else 1):
            raise EngineError(
                f"a point in time covers {covered['successful']} of {covered['total']} shards",
                place=label,
                remedy="wait until the index is green, then run again",
            )


def _page(wire: Wire, reading: _Reading, source: Any, query: Body | None) -> list[StoredDocument]:
    answer = _ask(wire, reading, source, query)
    shards = answer["_shards"]
    if shards.get("failed") or answer.get("timed_out"):
        failures = shards.get("failures") or [{}]
        reason = reason_of(failures[0].get("reason")) if shards.get("failed") else "it timed out"
        raise EngineError(f"a page could not be read: {reason}", place=reading.label, remedy="run again")
    reading.pit = answer.get("pit_id", reading.pit)
    hits = answer["hits"]["hits"]
    if reading.expected is None:
        reading.expected = int(answer["hits"]["total"]["value"])
    reading.read += len(hits)
    if not hits:
        reading.done = True
        if reading.read != reading.expected:
            raise EngineError(
                f"{reading.read} documents were read, but {reading.expected} are there",
                place=reading.label,
                remedy="run again; if it stays, the cluster loses rows of a point-in-time search",
            )
        return []
    reading.after = hits[-1]["sort"]
    reading.done = reading.read == reading.expected
    reading.size = next_size(reading.size, len(hits), wire.last_size, reading.largest)
    return [
        StoredDocument(hit["_id"], hit.get("_source") or {}, Version(hit["_seq_no"], hit["_primary_term"]))
        for hit in hits
    ]


def _ask(wire: Wire, reading: _Reading, source: Any, query: Body | None) -> Any:
    body: dict[str, Any] = {
        "pit": {"id": reading.pit, "keep_alive": KEEP_ALIVE},
        "sort": [{reading.sort: "asc"}],
        "_source": source,
        "seq_no_primary_term": True,
        "track_total_hits": reading.expected is None,
        "query": {"bool": {"filter": [query]}} if query else {"match_all": {}},
    }
    if reading.after is not None:
        body["search_after"] = reading.after
    while True:
        try:
            return wire.repeat("POST", "/_search", {**body, "size": reading.size})
        except RequestFailed as failed:
            # The page may be too much for a circuit breaker, a proxy or the time-out; a PIT can be asked again.
            if failed.fault.kind not in {"lost", "throttled", "too_large"} or reading.size == 1:
                raise failed.fault.error from failed.__cause__
            reading.size = max(1, reading.size // 4)


def _close(wire: Wire, readings: list[_Reading]) -> None:
    if not readings:
        return
    try:
        wire.repeat("DELETE", "/_search/point_in_time", {"pit_id": [reading.pit for reading in readings]})
    except RequestFailed as failed:
        logger.debug("points in time were not closed, they expire by themselves: %s", failed)
