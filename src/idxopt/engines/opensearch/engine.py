"""The port on OpenSearch 2.19 and 3.x, through opensearch-py."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import orjson

from idxopt.engines.opensearch import indices
from idxopt.engines.opensearch import scan as scanning
from idxopt.engines.opensearch.bulk import encode, same_content
from idxopt.engines.opensearch.faults import RequestFailed, reason_of
from idxopt.engines.opensearch.loader import Loader, Patience
from idxopt.engines.opensearch.names import concrete, matcher, pattern_of
from idxopt.engines.opensearch.probe import probe
from idxopt.engines.opensearch.searching import frequencies_of, msearch_body, response_of, termvectors_body
from idxopt.engines.opensearch.wire import Wire, open_wire, segment
from idxopt.engines.port import (
    AliasAction,
    Body,
    Capabilities,
    IndexState,
    IndexStats,
    LoadReport,
    LoadRow,
    SearchRequest,
    SearchResponse,
    StoredDocument,
    Template,
    Version,
)
from idxopt.errors import Conflict, EngineError, NotFound, Rejected, Unreachable
from idxopt.operators.row import VECTOR

IDS_A_REQUEST = 500
SIMULATED_BYTES = 4 * 1024 * 1024


class OpenSearchEngine:
    """One OpenSearch cluster. Thread-safe; `close` it, or use it as a context manager."""

    def __init__(self, wire: Wire, capabilities: Capabilities, patience: Patience | None = None) -> None:
        self._wire = wire
        self._capabilities = capabilities
        self._patience = patience or Patience()

    def __repr__(self) -> str:
        return f"<OpenSearchEngine {self._wire.address} {self._capabilities.version}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @classmethod
    def connect(
        cls,
        url: str | Sequence[str],
        *,
        user: str | None = None,
        password: str | None = None,
        ca: str | Path | None = None,
        client_cert: str | Path | None = None,
        client_key: str | Path | None = None,
        verify: bool = True,
        timeout_s: float = 30.0,
        headers: Mapping[str, str] | None = None,
        patience: Patience | None = None,
    ) -> Self:
        """Connects and probes. Several addresses must be of one cluster; without a port, https is 443 and http 9200.

        `timeout_s` is for one request; bulk requests and index creation get longer. `patience` bounds a load's retries.
        Raises ConfigError (address, certificates), Unreachable, Unauthorized, EngineError (not OpenSearch).
        """
        wire = open_wire(
            url,
            user=user,
            password=password,
            ca=ca,
            client_cert=client_cert,
            client_key=client_key,
            verify=verify,
            timeout_s=timeout_s,
            headers=headers,
        )
        try:
            return cls(wire, probe(wire), patience)
        except BaseException:
            wire.close()
            raise

    def close(self) -> None:
        self._wire.close()

    def capabilities(self) -> Capabilities:
        return self._capabilities

    # Reading

    def get_index(self, name: str) -> IndexState | None:
        return indices.read_index(self._wire, name)

    def list_indices(self, pattern: str) -> list[IndexState]:
        return indices.list_indices(self._wire, pattern)

    def stats(self, index: str) -> IndexStats:
        return indices.read_stats(self._wire, index)

    def aliases(self, pattern: str) -> dict[str, dict[str, Mapping[str, Any]]]:
        found = self._wire.find(f"/_alias/{segment(pattern_of(pattern))}", expand_wildcards="all") or {}
        wanted = matcher(pattern)
        result: dict[str, dict[str, Mapping[str, Any]]] = {}
        for index in sorted(found):
            for alias, definition in found[index]["aliases"].items():
                if wanted.match(alias):
                    result.setdefault(alias, {})[index] = definition
        return result

    def templates(self) -> list[Template]:
        found = self._wire.get("/_index_template")["index_templates"]
        return [
            Template(
                entry["name"],
                tuple(entry["index_template"]["index_patterns"]),
                int(entry["index_template"].get("priority") or 0),
                entry["index_template"],
            )
            for entry in found
        ]

    def get_pipeline(self, name: str) -> Body | None:
        found = self._wire.find(f"/_ingest/pipeline/{segment(concrete(name, 'pipeline'))}") or {}
        return found.get(name)

    def list_pipelines(self, pattern: str) -> dict[str, Body]:
        found = self._wire.find(f"/_ingest/pipeline/{segment(pattern_of(pattern))}")
        return dict(found or {})

    def simulate_pipeline(self, body: Body, documents: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        sources: list[Mapping[str, Any]] = []
        for chunk in _chunks(documents, SIMULATED_BYTES):
            docs = [{"_index": "idxopt-simulate", **document} for document in chunk]
            answer = self._wire.ask("POST", "/_ingest/pipeline/_simulate", {"pipeline": body, "docs": docs})
            for document, result in zip(chunk, answer["docs"], strict=True):
                if result is None or "doc" not in result:
                    reason = reason_of(result["error"]) if result else "it was dropped"
                    raise Rejected(
                        f"the pipeline does not take the document: {reason}",
                        place=str(document.get("_id")),
                        remedy="look at the pipeline and at the document",
                    )
                sources.append(result["doc"]["_source"])
        return sources

    def get_document(self, index: str, id: str) -> StoredDocument | None:
        return self.get_documents(index, [id]).get(id)

    def get_documents(self, index: str, ids: Sequence[str], *, vectors: bool = True) -> dict[str, StoredDocument]:
        found: dict[str, StoredDocument] = {}
        params = None if vectors else {"_source_excludes": VECTOR}
        for chunk in _slices(ids, IDS_A_REQUEST):
            answer = self._wire.ask("POST", f"/{segment(concrete(index))}/_mget", {"ids": list(chunk)}, params=params)
            for document in answer["docs"]:
                if "error" in document:
                    _raise_item(document["error"], index)
                if document["found"]:
                    version = Version(document["_seq_no"], document["_primary_term"])
                    found[document["_id"]] = StoredDocument(document["_id"], document.get("_source") or {}, version)
        return found

    def scan(
        self, index: str, *, fields: Sequence[str] | None = None, query: Body | None = None, vectors: bool = True
    ) -> Iterator[StoredDocument]:
        single_pit = self._capabilities.single_pit
        return scanning.scan(self._wire, index, single_pit=single_pit, fields=fields, query=query, vectors=vectors)

    def search(self, requests: Sequence[SearchRequest]) -> list[SearchResponse]:
        if not requests:
            return []
        params = {"rest_total_hits_as_int": "false"}
        answer = self._wire.ask("POST", "/_msearch", msearch_body(requests), params=params)
        responses = [response_of(one) for one in answer["responses"]]
        return [self._looked_after(*pair) for pair in zip(requests, responses, strict=True)]

    def _looked_after(self, request: SearchRequest, response: SearchResponse) -> SearchResponse:
        """A search that met the deletion of its index fails with whatever broke first ("all shards failed")."""
        if response.error is None or response.gone or self.get_index(request.index) is not None:
            return response
        return replace(response, gone=True)

    def document_frequencies(self, index: str, field: str, text: str) -> dict[str, int]:
        path = f"/{segment(concrete(index))}/_termvectors"
        return frequencies_of(self._wire.ask("POST", path, termvectors_body(field, text)), field)

    def shard_room(self) -> int | None:
        return indices.shard_room(self._wire)

    # Writing

    def create_index(self, name: str, body: Body) -> IndexState:
        return indices.create_index(self._wire, name, body)

    def delete_index(self, name: str, uuid: str) -> None:
        indices.delete_index(self._wire, name, uuid)

    def update_settings(self, index: str, settings: Mapping[str, Any]) -> None:
        self._wire.ask("PUT", f"/{segment(concrete(index))}/_settings", dict(settings))

    def put_mapping(self, index: str, mapping: Body) -> None:
        self._wire.ask("PUT", f"/{segment(concrete(index))}/_mapping", dict(mapping))

    def refresh(self, index: str) -> None:
        answer = self._wire.ask("POST", f"/{segment(concrete(index))}/_refresh")
        if answer["_shards"]["failed"]:
            raise EngineError("not every shard was refreshed", place=index, remedy="wait until the index is green")

    def wait_started(self, index: str, timeout_s: float) -> None:
        indices.wait_started(self._wire, index, timeout_s)

    def put_template(self, name: str, body: Body) -> None:
        self._wire.ask("PUT", f"/_index_template/{segment(concrete(name, 'template'))}", dict(body))

    def delete_template(self, name: str) -> None:
        self._delete(f"/_index_template/{segment(concrete(name, 'template'))}")

    def put_pipeline(self, name: str, body: Body) -> None:
        self._wire.ask("PUT", f"/_ingest/pipeline/{segment(concrete(name, 'pipeline'))}", dict(body))

    def delete_pipeline(self, name: str) -> None:
        self._delete(f"/_ingest/pipeline/{segment(concrete(name, 'pipeline'))}")

    def update_aliases(self, actions: Sequence[AliasAction]) -> None:
        if not actions:
            return
        try:
            # Never repeated: after a lost reply the second try would find the removes done and look like a conflict.
            answer = self._wire.once("POST", "/_aliases", {"actions": [_alias_action(action) for action in actions]})
        except RequestFailed as failed:
            if failed.fault.error.status != 404:
                raise failed.fault.error from failed.__cause__
            raise _alias_error(failed, actions) from failed.__cause__
        if not answer.get("acknowledged"):
            raise Unreachable(
                "not every node has confirmed the switch of aliases in time",
                place=self._wire.place("POST", "/_aliases"),
                remedy="read the aliases: they have most likely moved",
            )

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
        verb = "_create" if create else "_doc"
        path = f"/{segment(concrete(index))}/{verb}/{segment(id)}"
        params: dict[str, Any] = {"pipeline": "_none", **_expected(expect)}
        if refresh:
            params["refresh"] = "true"
        try:
            answer = self._wire.once("PUT", path, dict(source), params=params)
        except RequestFailed as failed:
            if failed.fault.kind not in {"lost", "throttled"}:
                raise failed.fault.error from failed.__cause__
            answer = self._put_again(index, id, source, path, params)
        return Version(answer["_seq_no"], answer["_primary_term"])

    def _put_again(self, index: str, id: str, source: Body, path: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Repeats after a lost reply. A conflict then can be our own first try: it is, when the content is ours."""
        try:
            answer: Mapping[str, Any] = self._wire.repeat("PUT", path, dict(source), params=params)
            return answer
        except RequestFailed as failed:
            if isinstance(failed.fault.error, Conflict):
                stored = self.get_document(index, id)
                if stored is not None and same_content(stored.source, source):
                    return {"_seq_no": stored.version.seq_no, "_primary_term": stored.version.primary_term}
            raise failed.fault.error from failed.__cause__

    def delete_document(self, index: str, id: str, *, expect: Version | None = None) -> None:
        path = f"/{segment(concrete(index))}/_doc/{segment(id)}"
        try:
            self._wire.once("DELETE", path, params=_expected(expect))
        except RequestFailed as failed:
            fault = failed.fault
            if fault.kind in {"lost", "throttled"}:
                if self.get_document(index, id) is not None:
                    self._wire.ask("DELETE", path, params=_expected(expect))
            elif fault.error.status != 404 or fault.type == "index_not_found_exception":
                raise fault.error from failed.__cause__

    def load(
        self,
        index: str,
        uuid: str,
        rows: Iterable[LoadRow],
        *,
        workers: int = 1,
        on_progress: Callable[[int], None] | None = None,
    ) -> LoadReport:
        return self._loader(index, uuid, workers, on_progress).run(encode(row) for row in rows)

    def overwrite(self, index: str, uuid: str, puts: Iterable[LoadRow], deletes: Iterable[str]) -> LoadReport:
        # One worker: a document that is put and deleted must end deleted.
        items = itertools.chain(
            (encode(row, "index") for row in puts), (encode(LoadRow(gone, {}), "delete") for gone in deletes)
        )
        return self._loader(index, uuid, 1, None).run(items)

    def _loader(self, index: str, uuid: str, workers: int, on_progress: Callable[[int], None] | None) -> Loader:
        return Loader(
            self._wire,
            concrete(index),
            uuid,
            uuid_of=lambda name: indices.read_uuid(self._wire, name),
            stored=lambda ids: {
                key: found.source for key, found in self.get_documents(index, ids, vectors=False).items()
            },
            ceiling=self._capabilities.max_request_bytes,
            workers=workers,
            on_progress=on_progress,
            patience=self._patience,
        )

    def _delete(self, path: str) -> None:
        try:
            self._wire.repeat("DELETE", path)
        except RequestFailed as failed:
            if failed.fault.error.status != 404:
                raise failed.fault.error from failed.__cause__


def _expected(expect: Version | None) -> dict[str, int]:
    return {} if expect is None else {"if_seq_no": expect.seq_no, "if_primary_term": expect.primary_term}


def _alias_action(action: AliasAction) -> dict[str, Any]:
    target: dict[str, Any] = {"index": concrete(action.index)}
    if action.kind != "remove_index":
        target["alias"] = concrete(action.alias or "", "alias")
    if action.kind == "add":
        target.update(action.options)
    if action.kind == "remove":
        target["must_exist"] = True
    return {action.kind: target}


def _alias_error(failed: RequestFailed, actions: Sequence[AliasAction]) -> EngineError:
    """404 on a switch: an alias or index that the request takes away is not there, so somebody was faster."""
    error = failed.fault.error
    takes_away = any(action.kind != "add" for action in actions)
    if failed.fault.type == "index_not_found_exception" and not takes_away:
        return error
    return Conflict(
        f"nothing was switched: {error.message}",
        place=error.place,
        remedy="run `plan` again: another run or hand has moved the aliases since",
        status=404,
    )


def _raise_item(error: Any, index: str) -> None:
    types = {error.get("type"), *(cause.get("type") for cause in error.get("root_cause") or ())}
    kind = NotFound if "index_not_found_exception" in types else EngineError
    raise kind(reason_of(error), place=index, remedy="check the name, and that the index is open")


def _slices(ids: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def _chunks(documents: Sequence[Mapping[str, Any]], size: int) -> Iterator[list[Mapping[str, Any]]]:
    chunk: list[Mapping[str, Any]] = []
    length = 0
    for document in documents:
        own = len(orjson.dumps(document))
        if chunk and length + own > size:
            yield chunk
            chunk, length = [], 0
        chunk.append(document)
        length += own
    if chunk:
        yield chunk
