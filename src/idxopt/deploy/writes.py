"""Writes that applications made through the alias:

counted, carried to another build, or knowingly left behind (contract 8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idxopt.builds.manifest import Manifest
from idxopt.builds.state import StateStore, StateWriter
from idxopt.builds.switches import SwitchRecord, get_ledger, put_ledger, read_switch, write_switch
from idxopt.deploy.ledger import NO_WRITES, Ledger, WriteReader, Writes, count_writes, id_hash
from idxopt.deploy.remaking import Remaking
from idxopt.engines.port import Engine, LoadRow, Reader
from idxopt.errors import BuildError
from idxopt.operators.row import Document

BATCH = 200
"""Documents carried at once."""


@dataclass(frozen=True, slots=True)
class CarryTarget:
    """The build that the writes go to: what its rows are made with, and (index, uuid) by view.

    `prepare` sees the documents before their rows are made (it has their texts generated).
    """

    remaking: Remaking
    indices: Mapping[str, tuple[str, str]]
    prepare: Callable[[Sequence[Document]], object]

    @property
    def primary(self) -> str:
        return self.remaking.program.primary


def writes_since_switch(reader: Reader, live: Manifest) -> Writes:
    """What applications wrote to the live build's primary index since readers moved to it, up to its last refresh.

    Raises BuildError where the record of the switch is gone, since nothing could be said then.
    """
    record = _record(reader, live)
    if _untouched(reader, record):
        return NO_WRITES
    return count_writes(reader, record.index, _ledger(reader, live.name, record))


@dataclass(frozen=True, slots=True)
class Baseline:
    """An index at one moment:

    (index, checkpoints by shard, ledger). Equal checkpoints later: nothing was written since.
    """

    index: str
    checkpoints: Mapping[int, int]
    ledger: Ledger


def switch_baseline(reader: Reader, live: Manifest) -> Baseline:
    """The live build's primary index as it was when readers moved to it."""
    record = _record(reader, live)
    return Baseline(record.index, record.checkpoints, _ledger(reader, live.name, record))


def carry(engine: Engine, since: Baseline, target: CarryTarget) -> tuple[Writes, Baseline]:
    """Brings what was written since a moment into every view of another build;

    returns counts and the moment it ended at.
    """
    checkpoints = dict(engine.stats(since.index).checkpoints)
    if checkpoints == dict(since.checkpoints):
        return NO_WRITES, since
    engine.refresh(since.index)  # the checkpoints count writes that no search shows yet
    found = WriteReader(engine, since.index, since.ledger)
    for batch in _batches(found):
        documents = [Document(item.id, {k: v for k, v in item.source.items() if k != "idxopt"}) for item in batch]
        target.prepare(documents)
        _replace(engine, target, documents)
    if found.deleted:
        index, _ = target.indices[target.primary]
        gone = [item.id for item in engine.scan(index, fields=[]) if id_hash(item.id) in found.deleted]
        for start in range(0, len(gone), BATCH):
            _delete(engine, target, gone[start : start + BATCH])
    for index, _ in target.indices.values():
        engine.refresh(index)
    return found.writes, Baseline(since.index, checkpoints, found.ledger)


def record_switch(engine: Engine, store: StateWriter, manifest: Manifest, ledger: Ledger) -> SwitchRecord:
    """Remembers what the primary index of a build holds as readers move to it."""
    place = manifest.views[manifest.primary]
    record = SwitchRecord(
        build=manifest.build,
        index=place.index,
        uuid=place.uuid,
        checkpoints=dict(engine.stats(place.index).checkpoints),
        ledger=put_ledger(store, manifest.name, ledger.to_bytes()),
    )
    write_switch(engine, manifest.name, record)
    return record


def known_ledger(reader: Reader, manifest: Manifest) -> Ledger | None:
    """The ledger of a build's primary index where it is still true (nothing written since), None otherwise."""
    record = read_switch(reader, manifest.name, manifest.build)
    place = manifest.views[manifest.primary]
    if record is None or record.uuid != place.uuid or not _untouched(reader, record):
        return None
    return _ledger(reader, manifest.name, record)


def _replace(engine: Engine, target: CarryTarget, documents: Sequence[Document]) -> None:
    ids = [document.id for document in documents]
    for view, (index, uuid) in target.indices.items():
        made = target.remaking.rows(view, documents)
        rows = [LoadRow(id, row.body) for id, row in made.items()]
        old = [] if view == target.primary else [id for id in _rows_of(engine, index, ids) if id not in made]
        _checked(engine, index, uuid, rows, old)


def _delete(engine: Engine, target: CarryTarget, ids: Sequence[str]) -> None:
    for view, (index, uuid) in target.indices.items():
        old = list(ids) if view == target.primary else list(_rows_of(engine, index, ids))
        _checked(engine, index, uuid, [], old)


def _checked(engine: Engine, index: str, uuid: str, puts: Sequence[LoadRow], deletes: Sequence[str]) -> None:
    report = engine.overwrite(index, uuid, puts, deletes)
    if report.failed:
        first = report.failed[0]
        raise BuildError(
            f"{len(report.failed)} carried rows were not stored; {first.id}: {first.reason}",
            place=index,
            remedy="mend these documents in the live index, or leave the writes behind with --discard-writes",
        )


def _rows_of(engine: Engine, index: str, ids: Sequence[str]) -> Iterator[str]:
    engine.refresh(index)
    for row in engine.scan(index, fields=[], query={"terms": {"idxopt.doc_id": list(ids)}}):
        yield row.id


def _batches(found: WriteReader) -> Iterator[list[Any]]:
    batch: list[Any] = []
    for document in found:
        batch.append(document)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _record(reader: Reader, live: Manifest) -> SwitchRecord:
    record = read_switch(reader, live.name, live.build)
    if record is None or record.uuid != live.views[live.primary].uuid:
        raise BuildError(
            f"there is no record of the switch to build {live.build}, so writes since then cannot be counted",
            place=live.name,
            remedy="`--discard-writes` goes on without them",
        )
    return record


def _untouched(reader: Reader, record: SwitchRecord) -> bool:
    """Equal checkpoints: no operation reached the index since, not even a delete."""
    return dict(reader.stats(record.index).checkpoints) == dict(record.checkpoints)


def _ledger(reader: Reader, name: str, record: SwitchRecord) -> Ledger:
    return Ledger.from_bytes(get_ledger(StateStore(reader), name, record.ledger))
