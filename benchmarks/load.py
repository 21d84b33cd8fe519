"""Loading: against `opensearchpy.helpers.parallel_bulk` on the same node, interpreter throughput, and peak memory.

Both sides send the same finished rows into an index of the same body, in turn, several rounds; ours keeps its journal
on the way, as an apply does. Bars: the median of the rounds' ratios is at least 0.85 for long rows and for short ones;
the peak memory of a whole apply on the node with 300 MB of input is at most 1.1 times that with 30 MB. Everything else
is for information. `--gigabyte` measures 1 GB as well.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import opensearchpy
import orjson
from opensearchpy.helpers import parallel_bulk

from benchmarks.collections import Collection, collection
from benchmarks.deployment import WORKERS, apply, program, remove
from benchmarks.memory import Peak, peak_of, write_corpus
from benchmarks.operators import first_documents, throughput
from benchmarks.report import Bar, Figures, Report, Value, run, tell
from idxopt.builds import physical
from idxopt.builds.journal import Journal, LoadedFrom
from idxopt.compiler.lower import lower
from idxopt.compiler.lowered import CompiledView, Target
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import Engine, IndexState
from idxopt.errors import EngineError
from idxopt.operators.interpreter import stored_rows
from idxopt.operators.row import StoredRow
from idxopt.operators.tables import build_tables
from idxopt.program.schema import Program
from idxopt.sources.opening import open_source
from tests.nodes.launcher import node

ROUNDS = 7
RATIO = 0.85
GROWTH = 1.1
MEGABYTE = 1_000_000
COLLECTION = "medquad_pages"


def load_program(of: Collection) -> Program:
    """Whole pages with derived fields, and their sections: long rows and short ones."""
    english = {"analyzer": "english"}
    lead = {"op": "enrich", "with": "lead", "sentences": 3, "into": "lead"}
    terms = {"op": "enrich", "with": "prime_terms", "into": "terms"}
    views = {
        "content": {
            "steps": [lead, terms],
            "lexical": {"fields": dict.fromkeys(("title", "body", "lead", "terms"), english)},
        },
        "sections": {
            "steps": [{"op": "slice", "unit": "headings"}],
            "lexical": {"fields": dict.fromkeys(("title", "body"), english)},
        },
    }
    source = {"fields": {"title": "title", "body": "text"}, "markup": of.markup}
    return program("load-benchmark", views, source=source)


@dataclass
class StageClock:
    """Seconds of each stage of an apply."""

    seconds: dict[str, float] = field(default_factory=dict)
    _now: str = "before"
    _since: float = field(default_factory=time.perf_counter)

    def stage(self, text: str) -> None:
        """Ends the stage before."""
        now = time.perf_counter()
        self.seconds[self._now] = self.seconds.get(self._now, 0.0) + now - self._since
        self._now, self._since = text, now

    def advance(self, what: str, done: int, total: int) -> None:
        """Not measured."""


def measure(rounds: int, *, gigabyte: bool, memory: bool) -> Report:
    """All parts on one node."""
    report = Report("load")
    of = collection(COLLECTION)
    with tempfile.TemporaryDirectory(prefix="idxopt-load-") as name, node() as url:
        folder = Path(name)
        with OpenSearchEngine.connect(url, timeout_s=120.0) as engine:
            _against_peer(engine, url, of, rounds, folder, report)
            _whole_apply(engine, of, folder, report)
        if memory:
            _memory(url, folder, report, gigabyte=gigabyte)
    tell("interpreter")
    guides = collection("awsdocs_small")
    rows = throughput(guides, first_documents(guides, 2 * MEGABYTE))
    report.tables.append(Figures("interpreter, one process, 2 MB of awsdocs_small, by form", rows))
    return report


# Against the peer.


def _against_peer(
    engine: OpenSearchEngine, url: str, of: Collection, rounds: int, folder: Path, report: Report
) -> None:
    wanted = load_program(of)
    documents = list(open_source(of.place, wanted).documents())
    tables = build_tables(wanted, documents)
    capabilities = engine.capabilities()
    target = Target("opensearch", capabilities.bm25_factor, capabilities.pipelines)
    compiled = lower(wanted, target, {})
    transforms: list[dict[str, Value]] = []
    loads: list[dict[str, Value]] = []
    with opensearchpy.OpenSearch(url, timeout=120) as client:
        for view, index in compiled.views.items():
            started = time.perf_counter()
            made = stored_rows(wanted, [view], tables, documents, workers=WORKERS)
            rows = [row for _, found in made for row in found[view]]
            seconds = time.perf_counter() - started
            size = sum(len(orjson.dumps(row.body)) for row in rows) / MEGABYTE
            transforms.append(
                {
                    "view": view,
                    "documents/s": len(documents) / seconds,
                    "rows/s": len(rows) / seconds,
                    "processes": WORKERS,
                }
            )
            ways = (_ours(engine, index, rows, folder), _theirs(engine, client, index, rows))
            ours, theirs = _interleaved(ways, rounds, view)
            loads.append(_comparison(view, len(rows), size, ours, theirs))
            ratio = statistics.median(their / our for our, their in zip(ours, theirs, strict=True))
            report.bars.append(Bar(f"load of `{view}` rows, ratio to parallel_bulk", ratio, ">=", RATIO))
    report.tables.append(Figures(f"{COLLECTION}: finished rows into the node, {rounds} rounds", loads))
    report.tables.append(Figures("client-side transform, apart", transforms))


def _interleaved(
    ways: tuple[Callable[[], float], Callable[[], float]], rounds: int, view: str
) -> tuple[list[float], list[float]]:
    """Seconds of each way by round; the order alternates, and a first round of each is not counted."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds + 1):
        tell(f"load {view}: round {number} of {rounds}")
        for way in (0, 1) if number % 2 else (1, 0):
            taken = ways[way]()
            if number:
                seconds[way].append(taken)
    return seconds


def _ours(engine: OpenSearchEngine, view: CompiledView, rows: Sequence[StoredRow], folder: Path) -> Callable[[], float]:
    def load(state: IndexState) -> None:
        with Journal(folder / "journal.sqlite") as journal:
            about = LoadedFrom(state.name, state.uuid, "benchmark")
            report = physical.load(engine, state, rows, journal, about, workers=WORKERS)
        if report.failed or report.created != len(rows):
            raise EngineError(f"stored {report.created} of {len(rows)} rows", place=state.name)

    return lambda: _timed(engine, view, len(rows), load)


def _theirs(
    engine: OpenSearchEngine, client: opensearchpy.OpenSearch, view: CompiledView, rows: Sequence[StoredRow]
) -> Callable[[], float]:
    def load(state: IndexState) -> None:
        for _ in parallel_bulk(client, _actions(state.name, rows)):
            pass

    return lambda: _timed(engine, view, len(rows), load)


def _actions(index: str, rows: Sequence[StoredRow]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield {"_op_type": "create", "_index": index, "_id": row.id, "_source": row.body}


def _timed(engine: OpenSearchEngine, view: CompiledView, rows: int, load: Callable[[IndexState], None]) -> float:
    """Seconds of a load into a fresh index; creating, counting and deleting it are not part of them."""
    state = physical.create(engine, view.index, view.index_body)
    started = time.perf_counter()
    load(state)
    seconds = time.perf_counter() - started
    engine.refresh(view.index)
    stored = engine.stats(view.index).documents
    engine.delete_index(view.index, state.uuid)
    if stored != rows:
        raise EngineError(f"holds {stored} of {rows} rows", place=view.index)
    return seconds


def _comparison(view: str, rows: int, size: float, ours: Sequence[float], theirs: Sequence[float]) -> dict[str, Value]:
    ratios = sorted(their / our for our, their in zip(ours, theirs, strict=True))
    one, other = statistics.median(ours), statistics.median(theirs)
    return {
        "view": view,
        "rows": rows,
        "MB": round(size, 1),
        "idxopt rows/s": rows / one,
        "parallel_bulk rows/s": rows / other,
        "idxopt MB/s": size / one,
        "ratio": statistics.median(ratios),
        "lowest": ratios[0],
        "highest": ratios[-1],
    }


# A whole apply.


def _whole_apply(engine: Engine, of: Collection, folder: Path, report: Report) -> None:
    tell("a whole apply")
    wanted = load_program(of)
    clock = StageClock()
    applied = apply(engine, wanted, of.place, folder / "cache", progress=clock)
    clock.stage("after")
    remove(engine, wanted.name)
    documents = applied.rows["content"]
    rows: list[dict[str, Value]] = [
        {"stage": stage, "seconds": seconds, "documents/s": documents / seconds}
        for stage, seconds in clock.seconds.items()
        if seconds >= 0.01
    ]
    whole: dict[str, Value] = {
        "stage": "whole",
        "seconds": applied.seconds,
        "documents/s": documents / applied.seconds,
    }
    report.tables.append(
        Figures(f"a whole apply of {COLLECTION} ({documents:,} documents, two views), cold", [*rows, whole])
    )


# Memory.


def _memory(url: str, folder: Path, report: Report, *, gigabyte: bool) -> None:
    of = [collection("awsdocs_small"), collection("scifact")]
    peaks: dict[tuple[str, int], Peak] = {}
    rows: list[dict[str, Value]] = []
    for size in (30, 300, *((1_000,) if gigabyte else ())):
        corpus = folder / f"corpus-{size}.jsonl"
        written = write_corpus(corpus, of, size * MEGABYTE) / MEGABYTE
        for label, place in (("node", url), ("embedded", str(folder / f"engine-{size}"))):
            tell(f"memory: {size} MB into the {label}")
            peak = peaks[label, size] = peak_of(corpus, place, folder / f"cache-{label}-{size}")
            rows.append(
                {
                    "engine": label,
                    "input MB": round(written, 1),
                    "documents": peak.documents,
                    "seconds": peak.seconds,
                    "peak MB, all processes": round(peak.tree / MEGABYTE, 1),
                    "largest process MB": round(peak.largest / MEGABYTE, 1),
                    "to 30 MB": round(peak.tree / peaks[label, 30].tree, 3),
                }
            )
        corpus.unlink()
    report.tables.append(Figures("peak memory of a whole apply in a process of its own, with its workers", rows))
    report.bars += [
        Bar(f"memory of {size} MB to that of 30 MB, node", peak.tree / peaks["node", 30].tree, "<=", GROWTH)
        for (label, size), peak in peaks.items()
        if label == "node" and size > 30
    ]
    report.notes.append("Memory: the bar is about the interpreter and the load into the node; embedded is shown only.")


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.load", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--gigabyte", action="store_true", help="peak memory of 1 GB of input as well")
    parser.add_argument("--no-memory", action="store_true", help="leave the peak memory out")
    given = parser.parse_args()
    return run(lambda: measure(given.rounds, gigabyte=given.gigabyte, memory=not given.no_memory), as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
