"""Rows into an index: checked, analysed (in several processes if asked), stored in segments of bounded size."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import orjson

from idxopt.engines.embedded.frequencies import Frequencies, analyse, join
from idxopt.engines.embedded.index_store import IndexStore
from idxopt.engines.embedded.mapping import FieldType, Mapped
from idxopt.engines.embedded.segment_writer import Row
from idxopt.engines.embedded.values import BadValue
from idxopt.engines.port import LoadReport, LoadRow, RowFailure
from idxopt.hashing import content_digest

BATCH_BYTES = 16 << 20
BATCH_ROWS = 50_000
"""A segment is written after so many bytes of JSON or so many rows: memory does not grow with the input."""

MAX_ID_BYTES = 512
_TASK_CHARACTERS = 500_000


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
    check: Callable[[], None],
    on_progress: Callable[[int], None] | None,
) -> LoadReport:
    """Stores rows whose ids are new. `check` runs under the index's lock before each write and raises to stop."""
    count = _Count()
    with _executor(workers) as executor:
        for batch in _batches(rows, mapped, count):
            _store(store, mapped, batch, executor, check, count)
            if on_progress is not None:
                on_progress(count.seen)
    return LoadReport(count.created, count.existed, tuple(count.failed))


def analyse_rows(
    rows: Sequence[Row], fields: Mapping[str, FieldType], executor: Executor | None = None
) -> dict[str, Frequencies]:
    """The text fields of rows, by path."""
    paths = sorted({path for row in rows for path in row.values if fields[path].kind == "text"})
    tasks = {
        path: list(_tasks([[str(text) for text in row.values[path]] for row in rows if path in row.values]))
        for path in paths
    }
    if executor is None:
        return {path: join([analyse(fields[path].analyzer, texts) for texts in tasks[path]]) for path in paths}
    futures = {
        path: [executor.submit(analyse, fields[path].analyzer, texts) for texts in tasks[path]] for path in paths
    }
    return {path: join([future.result() for future in futures[path]]) for path in paths}


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


@contextmanager
def _executor(workers: int) -> Iterator[Executor | None]:
    """Processes that analyse; None for one worker. Spawned, because forking a process with threads can hang."""
    if workers <= 1:
        yield None
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as executor:
        yield executor


def _batches(rows: Iterable[LoadRow], mapped: Mapped, count: _Count) -> Iterator[list[Row]]:
    batch: list[Row] = []
    size = 0
    for row in rows:
        prepared = prepare(row, mapped)
        if isinstance(prepared, RowFailure):
            count.failed.append(prepared)
            continue
        batch.append(prepared)
        size += len(prepared.source)
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
        return Row(row.id, orjson.dumps(row.body), mapped.values(row.body))
    except (BadValue, orjson.JSONEncodeError, UnicodeEncodeError) as error:
        return RowFailure(row.id, 400, str(error))


def _store(
    store: IndexStore,
    mapped: Mapped,
    batch: Sequence[Row],
    executor: Executor | None,
    check: Callable[[], None],
    count: _Count,
) -> None:
    distinct = {row.id: row for row in reversed(batch)}
    stored = store.get(list(distinct))
    fresh = [row for row in distinct.values() if row.id not in stored]
    analysed = analyse_rows(fresh, mapped.fields, executor)  # before the lock, because it is the slow part
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
        other = orjson.loads(created[row.id].source) if row.id in created else present[row.id].source
        if content_digest(other) == content_digest(orjson.loads(row.source)):
            count.existed += 1
        else:
            count.failed.append(RowFailure(row.id, 409, "another document with this id is stored already"))
