"""What an index held when readers moved to it: so an application's later writes can be counted (contract 8)."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from idxopt.builds import names
from idxopt.builds.state import StateStore, StateWriter, state_document
from idxopt.engines.port import Engine, Reader
from idxopt.hashing import text_digest


@dataclass(frozen=True, slots=True)
class SwitchRecord:
    """The primary index of a build at its last switch. `checkpoints` by shard; `ledger` is the digest of the stored
    ledger.

    Equal checkpoints mean: nothing was written since.
    """

    build: str
    index: str
    uuid: str
    checkpoints: Mapping[int, int]
    ledger: str


def read_switch(reader: Reader, name: str, build: str) -> SwitchRecord | None:
    """The record of a build's last switch, None where there is none."""
    found = state_document(reader, names.STATE_INDEX, _record_id(name, build))
    if found is None:
        return None
    record = found.source["switch"]
    return SwitchRecord(
        build=record["build"],
        index=record["index"],
        uuid=record["uuid"],
        checkpoints={int(shard): int(value) for shard, value in record["checkpoints"].items()},
        ledger=record["ledger"],
    )


def write_switch(engine: Engine, name: str, record: SwitchRecord) -> None:
    """Stores (or replaces) the record of a build."""
    source = {
        "kind": "switch",
        "name": name,
        "switch": {
            "build": record.build,
            "index": record.index,
            "uuid": record.uuid,
            "checkpoints": {str(shard): value for shard, value in record.checkpoints.items()},
            "ledger": record.ledger,
        },
    }
    engine.put_document(names.STATE_INDEX, _record_id(name, record.build), source, refresh=True)


def delete_switch(engine: Engine, name: str, build: str) -> None:
    engine.delete_document(names.STATE_INDEX, _record_id(name, build))


def put_ledger(store: StateWriter, name: str, data: bytes) -> str:
    """Stores a ledger's bytes beside the corpus tables (chunked, by digest) and returns its digest."""
    text = base64.b64encode(zlib.compress(data)).decode("ascii")
    digest = text_digest(text)
    if not store.has_tables(name, digest):
        store.put_tables(name, digest, {"ledger": text})
    return digest


def get_ledger(store: StateStore, name: str, digest: str) -> bytes:
    """Inverse of `put_ledger`. Raises BuildError where it is gone."""
    stored: Any = store.tables(name, digest)["ledger"]
    return zlib.decompress(base64.b64decode(stored))


def _record_id(name: str, build: str) -> str:
    return f"switch:{name}:{build}"
