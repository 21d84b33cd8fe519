"""Loading finished rows: `builds.physical.load` against `opensearchpy.helpers.parallel_bulk`, in turn, on one node."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import opensearchpy
import orjson
from opensearchpy.helpers import parallel_bulk

from benchmarks.deployment import WORKERS
from benchmarks.report import Value, tell
from idxopt.builds import physical
from idxopt.builds.journal import Journal, LoadedFrom
from idxopt.compiler.lowered import CompiledView
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import IndexState
from idxopt.errors import EngineError
from idxopt.operators.row import StoredRow

OVERLOADED = 429
REST_S = 5.0


@dataclass(frozen=True, slots=True)
class Taken:
    """One load, in seconds: by the clock, and of this process's processor time."""

    wall: float
    client: float


Load = Callable[[IndexState], None]


@dataclass(frozen=True, slots=True)
class Rounds:
    """The loads of each way, round by round. `rows` and `megabytes` of one load.

    `refused`: loads that `parallel_bulk` gave up because the node turned a request away, and that were repeated.
    """

    rows: int
    megabytes: float
    ours: Sequence[Taken]
    theirs: Sequence[Taken]
    refused: int

    @property
    def ratios(self) -> list[float]:
        """Our speed over theirs, round by round."""
        return [their.wall / our.wall for our, their in zip(self.ours, self.theirs, strict=True)]

    def to_row(self, view: str) -> dict[str, Value]:
        """A line of the table."""
        ours = statistics.median(taken.wall for taken in self.ours)
        theirs = statistics.median(taken.wall for taken in self.theirs)
        return {
            "rows of": view,
            "rows": self.rows,
            "MB": round(self.megabytes, 1),
            "idxopt rows/s": self.rows / ours,
            "parallel_bulk rows/s": self.rows / theirs,
            "idxopt MB/s": self.megabytes / ours,
            "ratio": statistics.median(self.ratios),
            "lowest": min(self.ratios),
            "highest": max(self.ratios),
            "idxopt client CPU s": statistics.median(taken.client for taken in self.ours),
            "parallel_bulk client CPU s": statistics.median(taken.client for taken in self.theirs),
            "parallel_bulk gave up": self.refused,
        }


def compare(
    engine: OpenSearchEngine, url: str, view: CompiledView, rows: Sequence[StoredRow], n: int, folder: Path
) -> Rounds:
    """`n` rounds of both ways; who is first alternates, and one round before them is not counted."""
    taken: tuple[list[Taken], list[Taken]] = ([], [])
    refused = 0
    with opensearchpy.OpenSearch(url, timeout=120) as client:
        ways = (_ours(engine, rows, folder), _theirs(client, rows))
        for number in range(n + 1):
            tell(f"load {view.view}: round {number} of {n}")
            for way in (0, 1) if number % 2 else (1, 0):
                while (one := _timed(engine, view, len(rows), ways[way])) is None:
                    refused += 1
                if number:
                    taken[way].append(one)
    megabytes = sum(len(orjson.dumps(row.body)) for row in rows) / 1e6
    return Rounds(len(rows), megabytes, *taken, refused)


def _ours(engine: OpenSearchEngine, rows: Sequence[StoredRow], folder: Path) -> Load:
    """As an apply does it, the journal included."""

    def load(state: IndexState) -> None:
        with Journal(folder / "journal.sqlite") as journal:
            about = LoadedFrom(state.name, state.uuid, "benchmark")
            report = physical.load(engine, state, rows, journal, about, workers=WORKERS)
        if report.failed or report.created != len(rows):
            raise EngineError(f"stored {report.created} of {len(rows)} rows", place=state.name)

    return load


def _theirs(client: opensearchpy.OpenSearch, rows: Sequence[StoredRow]) -> Load:
    """With its defaults: 4 threads, 500 rows a request; it raises for a row that is not stored, and for a 429."""

    def load(state: IndexState) -> None:
        for _ in parallel_bulk(client, _actions(state.name, rows)):
            pass

    return load


def _actions(index: str, rows: Sequence[StoredRow]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield {"_op_type": "create", "_index": index, "_id": row.id, "_source": row.body}


def _timed(engine: OpenSearchEngine, view: CompiledView, rows: int, load: Load) -> Taken | None:
    """A load into a fresh index; creating, counting and deleting it are not part of the time. None: it was given up."""
    state = physical.create(engine, view.index, view.index_body)
    wall, client = time.perf_counter(), time.process_time()
    try:
        load(state)
    except opensearchpy.TransportError as error:
        if error.status_code != OVERLOADED:
            raise
        time.sleep(REST_S)
        engine.delete_index(view.index, state.uuid)
        return None
    taken = Taken(time.perf_counter() - wall, time.process_time() - client)
    engine.refresh(view.index)
    stored = engine.stats(view.index).documents
    engine.delete_index(view.index, state.uuid)
    if stored != rows:
        raise EngineError(f"holds {stored} of {rows} rows", place=view.index)
    return taken
