"""The port that every engine adapter implements, in the terms of OpenSearch's REST interface.

One shape for all: index bodies, templates, pipelines and queries are the JSON that the compiler makes; the embedded
engine understands exactly the subset that the compiler emits (see `engines/embedded`). Planning gets the `Reader` half
only; nothing in it writes. Errors are those of `idxopt.errors`; every call has a time-out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Json = Any
Body = Mapping[str, Any]

MAX_K = 10_000
"""Most rows that any engine looks for in one `knn` clause."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the probe found. `None` means: could not be read (permissions), assume the careful choice.

    `bm25_factor`: scores carry the factor k1 + 1 (OpenSearch 2.x, Elasticsearch). `pipelines`: ingest pipelines run
    here.
    `knn`: every node has the k-NN plugin (None: the plugins could not be read), so that rows can have vectors.
    `single_pit`: one PIT sorted by `_shard_doc` reads a whole index (3.x, Elasticsearch), else one PIT a shard.
    `notes`: one sentence for each thing that the probe could not find out.
    """

    engine: Literal["embedded", "opensearch", "elasticsearch"]
    version: str
    cluster_uuid: str
    bm25_factor: bool
    pipelines: bool
    single_pit: bool
    knn: bool | None = False
    plugins: frozenset[str] = frozenset()
    nodes: int | None = 1
    max_clauses: int = 1024
    max_result_window: int = 10_000
    max_request_bytes: int = 100 * 1024 * 1024
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexState:
    """One physical index as the engine reports it.

    `settings` is flat (`index.number_of_shards` -> "1"), without what the engine makes itself (uuid, creation date,
    version, provided name). `mappings` is the mapping with `_meta`. `aliases` maps alias to its definition
    (`is_hidden`, ...).
    """

    name: str
    uuid: str
    settings: Mapping[str, str]
    mappings: Mapping[str, Any]
    aliases: Mapping[str, Mapping[str, Any]]
    health: Literal["green", "yellow", "red", "unknown"] = "unknown"


@dataclass(frozen=True, slots=True)
class IndexStats:
    """Counts of one index.

    `checkpoints`: global checkpoint of each primary shard, by shard number (-1: nothing written).
    """

    documents: int
    deleted: int
    bytes: int
    checkpoints: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Template:
    """An index template (composable). `body` is its whole definition as the engine returns it."""

    name: str
    patterns: tuple[str, ...]
    priority: int
    body: Body


@dataclass(frozen=True, slots=True)
class Version:
    """Compare-and-swap token of a stored document."""

    seq_no: int
    primary_term: int


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as read back."""

    id: str
    source: Mapping[str, Any]
    version: Version


@dataclass(frozen=True, slots=True)
class AliasAction:
    """One action of `update_aliases`. `options` holds `is_hidden`, `is_write_index`, `filter`...

    `remove` always carries `must_exist: true`. `remove_index` deletes a concrete index in the same request (`--take-
    over`).
    """

    kind: Literal["add", "remove", "remove_index"]
    index: str
    alias: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoadRow:
    """One document to store with `create`. `body` is the JSON object."""

    id: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowFailure:
    """A row that was not stored, after all retries, with the engine's reason."""

    id: str
    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class LoadReport:
    """Outcome of a load. `created` + `existed` + len(failed) = rows given.

    `existed`: answered 409 and found stored with an equal digest (a retry, or a resumed load). `throttled`: items
    answered 429 or 503 at least once. `splits`: requests halved on 413.
    """

    created: int
    existed: int
    failed: tuple[RowFailure, ...]
    throttled: int = 0
    splits: int = 0


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search: a body of the compiled DSL subset, addressed to one physical index (contract 3)."""

    index: str
    body: Body


@dataclass(frozen=True, slots=True)
class Hit:
    """One hit. `score` is the engine's own (float32 on servers). `sort`: its sort values, in the order asked."""

    id: str
    score: float
    source: Mapping[str, Any]
    sort: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """Answer of one search. A failed one has `error` set and no hits (error, `_shards.failed` > 0, `timed_out`).

    `gone`: the index does not exist or is closed (the caller resolves the live build again and repeats once).
    """

    hits: tuple[Hit, ...]
    total: int
    total_exact: bool = True
    error: str | None = None
    gone: bool = False


class Reader(Protocol):
    """The read-only half: all that planning, status and search need."""

    def capabilities(self) -> Capabilities:
        """Probed once at connect; survives a user who may not read `GET /`."""
        ...

    def get_index(self, name: str) -> IndexState | None:
        """A physical index by its real name (an alias of that name is not an index: None)."""
        ...

    def list_indices(self, pattern: str) -> list[IndexState]:
        """Physical indices whose real name matches the pattern, hidden ones too."""
        ...

    def stats(self, index: str) -> IndexStats: ...

    def aliases(self, pattern: str) -> dict[str, dict[str, Mapping[str, Any]]]:
        """alias -> index -> definition, for aliases that match (hidden ones too)."""
        ...

    def templates(self) -> list[Template]:
        """All composable index templates."""
        ...

    def get_pipeline(self, name: str) -> Body | None: ...

    def list_pipelines(self, pattern: str) -> dict[str, Body]: ...

    def simulate_pipeline(self, body: Body, documents: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Sources as an ingest pipeline leaves them, in order (`{"_id", "_source"}` in, `_source` out).

        Rejected where a document fails.
        """
        ...

    def get_document(self, index: str, id: str) -> StoredDocument | None: ...

    def get_documents(self, index: str, ids: Sequence[str], *, vectors: bool = True) -> dict[str, StoredDocument]:
        """Realtime multi-get; ids that do not exist are absent. `vectors` False: sources without `idxopt.vector`."""
        ...

    def scan(
        self, index: str, *, fields: Sequence[str] | None = None, query: Body | None = None, vectors: bool = True
    ) -> Iterator[StoredDocument]:
        """Every document of the index at one point in time, none lost, none twice. `query` is a filter of the DSL
        subset. `vectors` False: sources without `idxopt.vector`, which is most of the bytes of a row that has one.

        Raises EngineError when the number read differs from the count at that point in time.
        """
        ...

    def search(self, requests: Sequence[SearchRequest]) -> list[SearchResponse]:
        """ONE `_msearch`; answers in the order asked."""
        ...

    def document_frequencies(self, index: str, field: str, text: str) -> dict[str, int]:
        """Document frequency of each analysed term of `text` in one field (shard-level on servers)."""
        ...

    def shard_room(self) -> int | None:
        """Shards that may still be made within the cluster's limit (`cluster.max_shards_per_node` over the data nodes).

        None: there is no such limit, or this user may not read it.
        """
        ...

    def close(self) -> None: ...


class Engine(Reader, Protocol):
    """The writing half."""

    def create_index(self, name: str, body: Body) -> IndexState:
        """Creates with settings, mappings and aliases in the one request and reads back.

        Conflict when the name is taken.
        """
        ...

    def delete_index(self, name: str, uuid: str) -> None:
        """Deletes the index of that name only while it still has that uuid;

        Conflict otherwise; gone already is fine.
        """
        ...

    def update_settings(self, index: str, settings: Mapping[str, Any]) -> None:
        """Dynamic settings, flat names; None resets one."""
        ...

    def put_mapping(self, index: str, mapping: Body) -> None:
        """`PUT _mapping`: a `_meta` replaces all of `_meta`."""
        ...

    def refresh(self, index: str) -> None: ...

    def wait_started(self, index: str, timeout_s: float) -> None:
        """Waits until all primaries and every allocatable replica are started; Unreachable on time-out."""
        ...

    def put_template(self, name: str, body: Body) -> None: ...

    def delete_template(self, name: str) -> None: ...

    def put_pipeline(self, name: str, body: Body) -> None: ...

    def delete_pipeline(self, name: str) -> None: ...

    def update_aliases(self, actions: Sequence[AliasAction]) -> None:
        """ONE atomic request. Conflict when a `remove` finds nothing (compare-and-swap failed): then nothing has moved.

        The answer is read back by the caller. A reply that never came raises Unreachable: the caller must look.
        """
        ...

    def put_document(
        self,
        index: str,
        id: str,
        source: Body,
        *,
        create: bool = False,
        expect: Version | None = None,
        refresh: bool = False,
    ) -> Version:
        """Stores one state document. Conflict when it exists (`create`) or has moved (`expect`)."""
        ...

    def delete_document(self, index: str, id: str, *, expect: Version | None = None) -> None: ...

    def load(
        self,
        index: str,
        uuid: str,
        rows: Iterable[LoadRow],
        *,
        workers: int = 1,
        on_progress: Callable[[int], None] | None = None,
    ) -> LoadReport:
        """Bulk `create` past the pipeline (`pipeline=_none`) into the index of that uuid, never into a recreated one.

        Streams; 429/503 items and requests are retried with back-pressure, 413 halves the request, a dropped
        connection is retried (create makes that safe), a 409 is fetched and its digest compared (equal: stored;
        absent: retried; different:
        failed). One bad row never fails the others.
        """
        ...

    def overwrite(self, index: str, uuid: str, puts: Iterable[LoadRow], deletes: Iterable[str]) -> LoadReport:
        """Bulk `index` and `delete` past the pipeline, to carry an application's writes over to another build.

        Same retries and the same care for the uuid as `load`; deleting what is not there is fine. `created` counts
        puts.
        """
        ...
