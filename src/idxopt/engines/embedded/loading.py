"""Rows into an index: checked, analysed (in several processes if asked), stored in segments of bounded size."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any

import orjson

from idxopt.engines.embedded.frequencies import Frequencies, analyse, join
from idxopt.engines.embedded.index_store import IndexStore
from idxopt.engines.embedded.mapping import FieldType, Mapped
from idxopt.engines.embedded.segment_writer import Row, make_row
from idxopt.engines.embedded.values import BadValue
from idxopt.engines.port import LoadReport, LoadRow, RowFailure
from idxopt.errors import EngineError
from idxopt.operators.row import row_digest, vector_of

BATCH_BYTES = 4 << 20
BATCH_ROWS = 20_000
"""A segment is written after so many bytes of JSON or so many rows: memory does not grow with the input."""

MAX_ID_BYTES = 512
_TASK_CHARACTERS = 250_000

Analyse = Callable[[str, Sequence[list[str]]], Frequencies]


@dataclass(slots=True)
class _Count:
    created: int = 0
    existed: int = 0
    failed: list[RowFailure] = field(default_factory=list)

    @property
    def seen(self) -> int:
        return self.created + self.existed + len(self.failed)


def load(
    store: IndexStore,
    mapped: Mapped,
    rows: Iterable[LoadRow],
    *,
    workers: int,
    check: Callable[[], object],
    on_progress: Callable[[int], None] | None,
) -> LoadReport:
    """Stores rows whose ids are new. `check` runs under the index's lock before each write and raises to stop."""
    count = _Count()
    with _Processes(workers) as processes:
        for batch in _batches(rows, mapped, count):
            _store(store, mapped, batch, processes, check, count)
            if on_progress is not None:
                on_progress(count.seen)
    return LoadReport(count.created, count.existed, tuple(count.failed))


def overwrite(
    store: IndexStore,
    mapped: Mapped,
    puts: Iterable[LoadRow],
    deletes: Iterable[str],
    *,
    check: Callable[[], object],
) -> LoadReport:
    """Replaces documents one by one: meant for the few that an application wrote, not for a whole index."""
    failed: list[RowFailure] = []
    sources: dict[str, Mapping[str, Any] | None] = {}
    for row in puts:
        prepared = prepare(row, mapped)
        if isinstance(prepared, RowFailure):
            failed.append(prepared)
        else:
            sources[row.id] = row.body
    created = len(sources)
    sources |= dict.fromkeys(deletes)
    with store.appending():
        check()
        store.overwrite(sources)
    return LoadReport(created, 0, tuple(failed))


def analyse_rows(rows: Sequence[Row], fields: Mapping[str, FieldType]) -> dict[str, Frequencies]:
    """The text fields of rows, by path, analysed in this process."""
    return _analysed(rows, fields, _Processes(1).analyse)


def _analysed(rows: Sequence[Row], fields: Mapping[str, FieldType], run: Analyse) -> dict[str, Frequencies]:
    analysed = {}
    for path in sorted({path for row in rows for path in row.values if fields[path].kind == "text"}):
        texts = [[str(text) for text in row.values[path]] for row in rows if path in row.values]
        analysed[path] = run(fields[path].analyzer, texts)
    return analysed


class _Processes:
    """Analyses in several processes, which start with the first batch that is worth it.

    They are spawned, because forking a process that has threads can hang.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> _Processes:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def analyse(self, name: str, texts: Sequence[list[str]]) -> Frequencies:
        tasks = list(_tasks(texts))
        if self._workers <= 1 or len(tasks) < 2:
            return join([analyse(name, task) for task in tasks])
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._workers, mp_context=multiprocessing.get_context("spawn"))
        try:
            return join(list(self._pool.map(analyse, [name] * len(tasks), tasks)))
        except BrokenProcessPool as error:
            raise EngineError(
                "a process that analyses text has died, most likely for want of memory",
                remedy="run again with fewer workers",
            ) from error


def _tasks(texts: Sequence[list[str]]) -> Iterator[list[list[str]]]:
    task: list[list[str]] = []
    size = 0
    for values in texts:
        task.append(values)
        size += sum(map(len, values))
        if size >= _TASK_CHARACTERS:
            yield task
            task, size = [], 0
    if task:
        yield task


def _batches(rows: Iterable[LoadRow], mapped: Mapped, count: _Count) -> Iterator[list[Row]]:
    batch: list[Row] = []
    size = 0
    for row in rows:
        prepared = prepare(row, mapped)
        if isinstance(prepared, RowFailure):
            count.failed.append(prepared)
            continue
        batch.append(prepared)
        size += prepared.bytes
        if size >= BATCH_BYTES or len(batch) >= BATCH_ROWS:
            yield batch
            batch, size = [], 0
    yield batch


def prepare(row: LoadRow, mapped: Mapped) -> Row | RowFailure:
    """A row ready to store, or the reason why a server would refuse it."""
    try:
        length = len(row.id.encode())
        if not 0 < length <= MAX_ID_BYTES:
            raise BadValue(f"the id has {length} bytes; 1 to {MAX_ID_BYTES} are allowed")
        return make_row(row.id, row.body, mapped)
    except (BadValue, orjson.JSONEncodeError, UnicodeEncodeError) as error:
        return RowFailure(row.id, 400, str(error))


def _store(
    store: IndexStore,
    mapped: Mapped,
    batch: Sequence[Row],
    processes: _Processes,
    check: Callable[[], object],
    count: _Count,
) -> None:
    distinct: dict[str, Row] = {}
    for row in batch:
        distinct.setdefault(row.id, row)
    stored = store.get(list(distinct))
    fresh = [row for row in distinct.values() if row.id not in stored]
    analysed = _analysed(fresh, mapped.fields, processes.analyse)  # before the lock, because it is the slow part
    with store.appending():
        check()
        late = store.get([row.id for row in fresh])
        if late:
            fresh = [row for row in fresh if row.id not in late]
            analysed = analyse_rows(fresh, mapped.fields)
        if fresh:
            store.append(fresh, analysed, mapped.fields)
    created = {row.id: row for row in fresh}
    present = {**stored, **late}
    for row in batch:
        if created.get(row.id) is row:
            count.created += 1
            continue
        other = created[row.id].document() if row.id in created else present[row.id].source
        mine = row.document()
        if (vector_of(other) is None, row_digest(other)) == (vector_of(mine) is None, row_digest(mine)):
            count.existed += 1
        else:
            count.failed.append(RowFailure(row.id, 409, "another document with this id is stored already"))
