"""Manifests, corpus tables and history, stored as documents of two hidden indices of the same engine.

Nothing secret is ever stored here (contract 11): manifests name places and people, never credentials.
"""

from __future__ import annotations

import base64
import contextlib
import secrets
import zlib
from collections.abc import Mapping
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from idxopt.builds import names
from idxopt.builds.clock import Clock, SystemClock, timestamp
from idxopt.builds.manifest import Manifest
from idxopt.engines.port import Engine, IndexState, Reader, StoredDocument
from idxopt.errors import BuildError, Conflict, NotFound
from idxopt.hashing import canonical_json, text_digest

CHUNK_BYTES = 4 * 1024 * 1024
"""Compressed bytes of a table in one document: far below what any engine takes in one request."""

_KEYWORD = {"type": "keyword"}
_PROPERTIES: dict[str, dict[str, Any]] = {
    names.BUILDS_INDEX: {"kind": _KEYWORD, "name": _KEYWORD, "build": _KEYWORD, "digest": _KEYWORD},
    names.STATE_INDEX: {"kind": _KEYWORD, "name": _KEYWORD},
}


class Event(BaseModel):
    """One entry of the history. `what`: apply, rollback, destroy, unlock...; `details` is plain JSON for `history
    --json`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    what: str
    at: str
    who: str
    build: str | None = None
    previous: str | None = None
    message: str = ""
    outcome: Literal["done", "failed"] = "done"
    details: dict[str, Any] = {}


class StateStore:
    """Reads the state of an engine. Before the first apply there are no state indices: everything is then empty."""

    def __init__(self, engine: Reader) -> None:
        self._reader = engine

    def manifest(self, name: str, build: str) -> Manifest | None:
        """One manifest. Raises BuildError when it cannot be trusted."""
        found = self._get(names.BUILDS_INDEX, _manifest_id(name, build))
        return None if found is None else _manifest(found)

    def manifests(self, name: str) -> list[Manifest]:
        """All recorded builds of a name, oldest first."""
        found = [_manifest(one.source) for one in self._scan(names.BUILDS_INDEX, "manifest", name)]
        return sorted(found, key=lambda manifest: (manifest.created, manifest.build))

    def names(self) -> list[str]:
        """All names that have a recorded build."""
        return sorted({str(one.source["name"]) for one in self._scan(names.BUILDS_INDEX, "manifest", None)})

    def tables(self, name: str, digest: str) -> dict[str, Any]:
        """Frozen corpus tables of a name, as JSON. Raises BuildError where a chunk is missing or damaged."""
        first = self._get(names.BUILDS_INDEX, _tables_id(name, digest, 0))
        if first is None:
            raise _tables_gone(digest)
        chunks = [first] + [
            self._get(names.BUILDS_INDEX, _tables_id(name, digest, n)) for n in range(1, first["chunks"])
        ]
        try:
            packed = b"".join(base64.b64decode(chunk["data"]) for chunk in chunks if chunk is not None)
            text = zlib.decompress(packed).decode("utf-8")
        except (ValueError, zlib.error) as error:
            raise _tables_gone(digest) from error
        if text_digest(text) != first["checksum"]:
            raise _tables_gone(digest)
        tables: dict[str, Any] = orjson.loads(text)
        return tables

    def has_tables(self, name: str, digest: str) -> bool:
        return self._get(names.BUILDS_INDEX, _tables_id(name, digest, 0)) is not None

    def history(self, name: str) -> list[Event]:
        """Events of a name, oldest first."""
        found = self._scan(names.STATE_INDEX, "event", name)
        # The index has one shard: its sequence numbers put events of the same millisecond in order.
        found.sort(key=lambda one: (one.source["event"]["at"], one.version.seq_no))
        return [Event.model_validate(one.source["event"]) for one in found]

    def _get(self, index: str, id_: str) -> Mapping[str, Any] | None:
        found = state_document(self._reader, index, id_)
        return None if found is None else found.source

    def _scan(self, index: str, kind: str, name: str | None) -> list[StoredDocument]:
        terms = [{"term": {"kind": kind}}]
        if name is not None:
            terms.append({"term": {"name": name}})
        try:
            return list(self._reader.scan(index, query={"bool": {"filter": terms}}))
        except NotFound:
            return []


class StateWriter(StateStore):
    """Writes it too. Both indices are made on demand; every write can be searched when it returns."""

    def __init__(self, engine: Engine, clock: Clock | None = None) -> None:
        super().__init__(engine)
        self._engine = engine
        self._clock = clock or SystemClock()
        self._ensured = False

    def ensure(self) -> None:
        """Makes the state indices where they are missing, once. Raises BuildError when a foreign index has the name."""
        if not self._ensured:
            for index in (names.BUILDS_INDEX, names.STATE_INDEX):
                ensure_index(self._engine, index)
            self._ensured = True

    def put_manifest(self, manifest: Manifest) -> None:
        """Records a build. The same manifest again is fine; another one under that build id is an error."""
        self.ensure()
        source = {
            "kind": "manifest",
            "name": manifest.name,
            "build": manifest.build,
            "manifest": manifest.model_dump(mode="json", by_alias=True),
        }
        try:
            self._engine.put_document(
                names.BUILDS_INDEX, _manifest_id(manifest.name, manifest.build), source, create=True, refresh=True
            )
        except Conflict as error:
            stored = self.manifest(manifest.name, manifest.build)
            if stored != manifest:
                raise BuildError(
                    "another build is recorded under this id",
                    place=f"{manifest.name} {manifest.build}",
                    remedy="apply again",
                ) from error

    def delete_manifest(self, name: str, build: str) -> None:
        """Forgets a build whose indices are gone; the history still tells of it."""
        with contextlib.suppress(NotFound):
            self._engine.delete_document(names.BUILDS_INDEX, _manifest_id(name, build))
            self._engine.refresh(names.BUILDS_INDEX)

    def put_tables(self, name: str, digest: str, tables: Mapping[str, Any]) -> None:
        """Stores corpus tables in chunks; the first chunk is written last, so that tables are there whole or not at
        all.

        Each name has its own copy: only its lock decides when they go.
        """
        self.ensure()
        text = canonical_json(tables).decode("utf-8")
        packed = zlib.compress(text.encode("utf-8"))
        pieces = [packed[start : start + CHUNK_BYTES] for start in range(0, len(packed), CHUNK_BYTES)]
        for number in reversed(range(len(pieces))):
            source = {
                "kind": "tables",
                "name": name,
                "digest": digest,
                "number": number,
                "chunks": len(pieces),
                "checksum": text_digest(text),
                "data": base64.b64encode(pieces[number]).decode("ascii"),
            }
            self._engine.put_document(names.BUILDS_INDEX, _tables_id(name, digest, number), source, refresh=number == 0)

    def delete_tables(self, name: str, digest: str) -> None:
        """Removes tables that no kept build of the name needs."""
        first = self._get(names.BUILDS_INDEX, _tables_id(name, digest, 0))
        for number in range(first["chunks"] if first else 0):
            with contextlib.suppress(NotFound):
                self._engine.delete_document(names.BUILDS_INDEX, _tables_id(name, digest, number))

    def append(self, event: Event) -> None:
        """Adds to the history; entries are never changed."""
        self.ensure()
        id_ = f"event:{event.name}:{event.at}:{secrets.token_hex(4)}"
        source = {"kind": "event", "name": event.name, "event": event.model_dump(mode="json")}
        self._engine.put_document(names.STATE_INDEX, id_, source, create=True, refresh=True)

    def now(self) -> str:
        """The time as manifests and events carry it."""
        return timestamp(self._clock)


def state_document(reader: Reader, index: str, id_: str) -> StoredDocument | None:
    """One document of a state index; None when it, or the whole index, is not there (nothing was ever applied)."""
    try:
        return reader.get_document(index, id_)
    except NotFound:
        return None


def ensure_index(engine: Engine, index: str) -> IndexState:
    """One of the two state indices, made where it is missing."""
    state = engine.get_index(index)
    if state is None:
        try:
            state = engine.create_index(index, state_body(index, servers=engine.capabilities().engine != "embedded"))
        except Conflict as error:  # somebody else made it in between
            state = engine.get_index(index)
            if state is None:
                raise BuildError(
                    "cannot be made: the name is taken", place=index, remedy="remove what has that name"
                ) from error
    if not names.owned(state):
        raise BuildError(
            "is an index that idxopt did not make, or whose mark was removed",
            place=index,
            remedy="rename that index, or restore its mapping `_meta` from a backup",
        )
    return state


def state_body(index: str, *, servers: bool) -> dict[str, Any]:
    """Settings and mappings of a state index: hidden, one shard, a replica wherever a second node can hold it."""
    copies = {"auto_expand_replicas": "0-1"} if servers else {"number_of_replicas": 0}
    return {
        "settings": {"index": {"hidden": True, "number_of_shards": 1, **copies}},
        "mappings": {
            "dynamic": False,
            "_meta": {"idxopt": {"owner": names.OWNER, "index": index, "kind": "state"}},
            "properties": _PROPERTIES[index],
        },
    }


def _manifest_id(name: str, build: str) -> str:
    return f"manifest:{name}:{build}"


def _tables_id(name: str, digest: str, number: int) -> str:
    return f"tables:{name}:{digest}:{number}"


def _manifest(source: Mapping[str, Any]) -> Manifest:
    try:
        return Manifest.model_validate(source["manifest"])
    except (KeyError, ValidationError) as error:
        raise BuildError(
            f"the manifest of build {source.get('build')} cannot be read ({error})",
            place=names.BUILDS_INDEX,
            remedy="it was changed by hand or written by a newer idxopt: update idxopt, or restore the index",
        ) from error


def _tables_gone(digest: str) -> BuildError:
    return BuildError(
        f"the corpus tables {digest[:8]} are missing or damaged",
        place=names.BUILDS_INDEX,
        remedy="run `idxopt apply --rebuild` to make new ones",
    )
