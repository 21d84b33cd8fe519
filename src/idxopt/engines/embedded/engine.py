"""The embedded engine: a folder on disk behind the same port as a cluster.

It understands the subset of OpenSearch's JSON that the compiler emits, and scores as Lucene does. There are no ingest
pipelines: lowering makes none for it, and it refuses to store one. Nothing is refreshed by time: what is written can be
searched after `refresh`.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from idxopt.engines.embedded import catalogue as catalogues
from idxopt.engines.embedded import durable
from idxopt.engines.embedded.catalogue import Catalogue, IndexEntry
from idxopt.engines.embedded.catalogue_file import CatalogueFile
from idxopt.engines.embedded.filters import Mask, mask
from idxopt.engines.embedded.index_store import GRAPH_ROWS, TERM, IndexStore
from idxopt.engines.embedded.loading import analyse_rows, load, overwrite, prepare
from idxopt.engines.embedded.query import RESULT_WINDOW, MatchAll, Query, parse_filter, parse_search
from idxopt.engines.embedded.sealed import FORMAT
from idxopt.engines.embedded.searching import MAX_CLAUSES, search
from idxopt.engines.embedded.segment import Segment
from idxopt.engines.embedded.values import BadValue
from idxopt.engines.port import (
    AliasAction,
    Body,
    Capabilities,
    IndexState,
    IndexStats,
    LoadReport,
    LoadRow,
    RowFailure,
    SearchRequest,
    SearchResponse,
    StoredDocument,
    Template,
    Version,
)
from idxopt.errors import Conflict, EngineError, Forbidden, NotFound, Rejected
from idxopt.operators.row import without_vector
from idxopt.text.analysis import analyzer

RELEASE_EVERY = 1_000
"""Documents of a scan after which the memory that it was read through is let go."""


class EmbeddedEngine:
    """`engines.port.Engine` on a folder. Opening it writes nothing; one object may be used by several threads."""

    def __init__(self, folder: str | Path, *, graph_rows: int = GRAPH_ROWS) -> None:
        """`graph_rows`: an index with more vectors than this is searched through HNSW graphs (extra `hnsw`).

        EngineError when the place is a file or a folder with other things in it.
        """
        self._file = CatalogueFile(Path(folder))
        self._graph_rows = graph_rows
        self._stores: dict[str, IndexStore] = {}
        self._lock = threading.Lock()

    # Reading

    def capabilities(self) -> Capabilities:
        """What this engine can do."""
        return Capabilities(
            engine="embedded",
            version=str(FORMAT),
            cluster_uuid=self._file.identity,
            bm25_factor=False,
            pipelines=False,
            single_pit=True,
            knn=True,
            max_clauses=MAX_CLAUSES,
            max_result_window=RESULT_WINDOW,
        )

    def get_index(self, name: str) -> IndexState | None:
        """An index by its real name."""
        return self._file.read().state(name)

    def list_indices(self, pattern: str) -> list[IndexState]:
        """Indices whose name matches a pattern with `*`, or one of several separated by commas."""
        catalogue = self._file.read()
        states = (catalogue.state(name) for name in sorted(catalogue.indices) if _matches(pattern, name))
        return [state for state in states if state is not None]

    def stats(self, index: str) -> IndexStats:
        """Searchable documents; nothing deleted is ever left in them."""
        store = self._store(self._file.read().resolve(index))
        reader = store.reader()
        size = sum(segment.bytes for segment in reader.segments)
        return IndexStats(documents=reader.count, deleted=0, bytes=size, checkpoints={0: store.checkpoint()})

    def aliases(self, pattern: str) -> dict[str, dict[str, Mapping[str, Any]]]:
        """alias -> index -> definition."""
        found = self._file.read().aliases
        return {alias: dict(found[alias]) for alias in sorted(found) if _matches(pattern, alias)}

    def templates(self) -> list[Template]:
        """All templates. They are kept and returned, not applied: index bodies are complete."""
        return self._file.read().listed_templates()

    def get_pipeline(self, name: str) -> Body | None:  # noqa: ARG002 - the port's signature
        """None: there are no pipelines here."""
        return None

    def list_pipelines(self, pattern: str) -> dict[str, Body]:  # noqa: ARG002
        """None at all."""
        return {}

    def simulate_pipeline(
        self,
        body: Body,  # noqa: ARG002
        documents: Sequence[Mapping[str, Any]],  # noqa: ARG002
    ) -> list[Mapping[str, Any]]:
        """Rejected: there are no pipelines here."""
        raise _no_pipelines()

    def get_document(self, index: str, id: str) -> StoredDocument | None:
        """One document, also before a refresh. NotFound when the index is not there."""
        return self.get_documents(index, [id]).get(id)

    def get_documents(self, index: str, ids: Sequence[str], *, vectors: bool = True) -> dict[str, StoredDocument]:
        """Documents by id, also before a refresh; absent ones are left out."""
        found = self._store(self._file.read().resolve(index)).get(ids)
        return found if vectors else {id: _plain(document) for id, document in found.items()}

    def scan(
        self, index: str, *, fields: Sequence[str] | None = None, query: Body | None = None, vectors: bool = True
    ) -> Iterator[StoredDocument]:
        """Searchable documents as of the call, in the order of storing."""
        entry = self._file.read().resolve(index)
        wanted = MatchAll() if query is None else parse_filter(query)
        reader = self._store(entry).reader()
        paths = None if fields is None else tuple(fields)
        try:
            masks = [mask(wanted, segment, entry.mapped.fields) for segment in reader.segments]
        except BadValue as error:
            raise Rejected(str(error), place=index, status=400) from error
        return (
            document
            for segment, passed in zip(reader.segments, masks, strict=True)
            for document in _scanned(segment, passed, paths, vectors=vectors)
        )

    def search(self, requests: Sequence[SearchRequest]) -> list[SearchResponse]:
        """All searches on one catalogue. Rejected for a body outside the subset, before any of them runs."""
        catalogue = self._file.read()
        queries = [parse_search(request.body) for request in requests]
        return [self._search(catalogue, request.index, query) for request, query in zip(requests, queries, strict=True)]

    def _search(self, catalogue: Catalogue, index: str, query: Query) -> SearchResponse:
        try:
            entry = catalogue.resolve(index)
            reader = self._store(entry).reader()
            return search(reader, query, entry.mapped.fields, entry.similarities)
        except NotFound as error:
            return SearchResponse((), 0, error=error.message, gone=True)
        except (BadValue, EngineError) as error:
            return SearchResponse((), 0, error=str(error))

    def shard_room(self) -> int | None:
        """No limit."""
        return None

    def document_frequencies(self, index: str, field: str, text: str) -> dict[str, int]:
        """Document frequency of each analysed term of a text. Rejected when the field is no text field."""
        entry = self._file.read().resolve(index)
        definition = entry.mapped.fields.get(field)
        if definition is None or definition.kind != "text":
            raise Rejected(f"[{field}] is no text field", place=index, status=400)
        reader = self._store(entry).reader()
        terms = dict.fromkeys(analyzer(definition.analyzer)(text))
        return {term: reader.document_frequency(field, term.encode("utf-8", "replace")) for term in terms}

    def close(self) -> None:
        """Lets go of open files."""
        with self._lock:
            self._stores.clear()

    # Writing

    def create_index(self, name: str, body: Body) -> IndexState:
        """Makes an empty index with its aliases. Conflict when the name is taken."""
        identifier = uuid.uuid4().hex
        catalogues.add_index(self._file.read(), name, identifier, body)  # refuses before anything is written

        def add(old: Catalogue) -> Catalogue:
            new = catalogues.add_index(old, name, identifier, body)
            self._sweep(old)
            self._new_store(new.indices[name]).create()
            return new

        state = self._file.change(add).state(name)
        if state is None:
            raise NotFound(f"the index [{name}] was deleted at once", place=name, status=404)
        return state

    def delete_index(self, name: str, uuid: str) -> None:
        """Deletes the index while it has that uuid; gone already is fine."""

        def drop(old: Catalogue) -> Catalogue:
            catalogues.check_name(name)
            if name not in old.indices:
                return old
            if old.indices[name].uuid != uuid:
                raise Conflict(f"[{name}] is another index now", place=name, status=409)
            return catalogues.drop_index(old, name)

        self._change(drop)

    def update_settings(self, index: str, settings: Mapping[str, Any]) -> None:
        """Changes dynamic settings; None resets one."""
        self._file.change(lambda old: catalogues.set_settings(old, index, settings))

    def put_mapping(self, index: str, mapping: Body) -> None:
        """Adds fields; a `_meta` replaces the old one."""
        self._file.change(lambda old: catalogues.set_mapping(old, index, mapping))

    def refresh(self, index: str) -> None:
        """Makes everything written so far searchable."""
        entry = self._file.read().resolve(index)
        self._store(entry).refresh(entry.mapped)

    def wait_started(self, index: str, timeout_s: float) -> None:  # noqa: ARG002
        """Nothing to wait for. NotFound when the index is not there."""
        self._file.read().resolve(index)

    def put_template(self, name: str, body: Body) -> None:
        """Stores a template."""
        catalogues.check_name(name)
        if not body.get("index_patterns"):
            raise Rejected("a template needs index_patterns", place=name, status=400)
        self._file.change(lambda old: replace(old, templates={**old.templates, name: dict(body)}))

    def delete_template(self, name: str) -> None:
        """Deletes a template; gone already is fine."""

        def drop(old: Catalogue) -> Catalogue:
            catalogues.check_name(name)
            if name not in old.templates:
                return old
            return replace(old, templates={key: body for key, body in old.templates.items() if key != name})

        self._file.change(drop)

    def put_pipeline(self, name: str, body: Body) -> None:  # noqa: ARG002
        """Rejected: there are no pipelines here."""
        raise _no_pipelines()

    def delete_pipeline(self, name: str) -> None:
        """Gone already, which is fine."""
        catalogues.check_name(name)

    def update_aliases(self, actions: Sequence[AliasAction]) -> None:
        """All actions in one rename. Conflict when a `remove` finds nothing."""
        self._change(lambda old: catalogues.change_aliases(old, actions))

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
        """Stores one document, through an alias too. Rejected when the mapping refuses it."""
        entry = self._writable(index)
        row = prepare(LoadRow(id, source), entry.mapped)
        if isinstance(row, RowFailure):
            raise Rejected(row.reason, place=f"{index}/{id}", status=400)
        version = self._store(entry).write_document(id, source, create=create, expect=expect)
        if refresh:
            self.refresh(entry.name)
        return version

    def delete_document(self, index: str, id: str, *, expect: Version | None = None) -> None:
        """Deletes one document; gone already is fine unless `expect` is given."""
        self._store(self._writable(index)).write_document(id, None, expect=expect)

    def load(
        self,
        index: str,
        uuid: str,
        rows: Iterable[LoadRow],
        *,
        workers: int = 1,
        on_progress: Callable[[int], None] | None = None,
    ) -> LoadReport:
        """Stores rows whose ids are new; searchable after a refresh. Conflict when the index is another one now.

        `on_progress` is told how many rows are done, after each batch.
        """

        entry = self._same(index, uuid)
        return load(
            self._store(entry),
            entry.mapped,
            rows,
            workers=workers,
            check=lambda: self._same(index, uuid),
            on_progress=on_progress,
        )

    def overwrite(self, index: str, uuid: str, puts: Iterable[LoadRow], deletes: Iterable[str]) -> LoadReport:
        """Stores or replaces documents, then deletes others; searchable after a refresh. Conflict as in `load`."""
        entry = self._same(index, uuid)
        return overwrite(self._store(entry), entry.mapped, puts, deletes, check=lambda: self._same(index, uuid))

    # Files

    def _same(self, index: str, uuid: str) -> IndexEntry:
        entry = self._writable(index)
        if entry.uuid != uuid:
            raise Conflict(f"[{index}] is another index now", place=index, remedy="run the command again", status=409)
        return entry

    def _writable(self, index: str) -> IndexEntry:
        entry = self._file.read().resolve(index, write=True)
        if entry.blocked:
            raise Forbidden(
                f"the index [{entry.name}] may not be written to ({entry.blocked})",
                place=entry.name,
                remedy=f"set {entry.blocked} to false",
                status=403,
            )
        return entry

    def _store(self, entry: IndexEntry) -> IndexStore:
        with self._lock:
            if entry.uuid not in self._stores:
                self._stores[entry.uuid] = self._new_store(entry)
            return self._stores[entry.uuid]

    def _new_store(self, entry: IndexEntry) -> IndexStore:
        return IndexStore(self._folder(entry.uuid), entry.name, analyse_rows, graph_rows=self._graph_rows)

    def _change(self, decide: Callable[[Catalogue], Catalogue]) -> None:
        """Changes the catalogue, then deletes the files of indices that it named before and does not name now."""
        dropped: set[str] = set()

        def watched(old: Catalogue) -> Catalogue:
            new = decide(old)
            dropped.update(_uuids(old) - _uuids(new))
            return new

        self._file.change(watched)
        for identifier in dropped:
            with self._lock:
                self._stores.pop(identifier, None)
            durable.remove_folder(self._folder(identifier))

    def _folder(self, identifier: str) -> Path:
        return self._file.folder / "indices" / identifier

    def _sweep(self, catalogue: Catalogue) -> None:
        """Deletes folders that no index owns, left by processes that died. For the holder of the catalogue's lock."""
        live = _uuids(catalogue)
        folder = self._file.folder / "indices"
        for path in folder.iterdir() if folder.is_dir() else ():
            if path.name not in live:
                durable.remove_folder(path)


def _plain(document: StoredDocument) -> StoredDocument:
    return replace(document, source=without_vector(document.source))


def _scanned(
    segment: Segment, passed: Mask, paths: tuple[str, ...] | None, *, vectors: bool
) -> Iterator[StoredDocument]:
    for count, number in enumerate(np.flatnonzero(passed).tolist(), start=1):
        source = {} if paths == () else segment.source(number, paths, vectors=vectors or paths is not None)
        yield StoredDocument(segment.identifier(number), source, Version(int(segment.seq_nos[number]), TERM))
        if count % RELEASE_EVERY == 0:
            segment.pack.release()


def _uuids(catalogue: Catalogue) -> set[str]:
    return {entry.uuid for entry in catalogue.indices.values()}


def _matches(pattern: str, name: str) -> bool:
    expression = "|".join(re.escape(part).replace(r"\*", ".*") for part in pattern.split(","))
    return pattern == "_all" or re.fullmatch(expression, name, re.DOTALL) is not None


def _no_pipelines() -> Rejected:
    return Rejected("the embedded engine runs no ingest pipelines", remedy="run these steps on the client", status=400)
