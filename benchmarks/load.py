"""Loading: against `opensearchpy.helpers.parallel_bulk` on the same node, interpreter throughput, and peak memory.

Both sides send the same finished rows into an index of the same body, in turn, several rounds; ours keeps its journal
on the way, as an apply does. Bars: the median of the rounds' ratios is at least 0.85 for long rows and for short ones;
the peak memory of `idxopt apply` on the node with 300 MB of input is at most 1.1 times that with 30 MB. Everything else
is for information. `--gigabyte` measures the memory of 1 GB as well, `--embedded` that of the embedded engine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks import collections
from benchmarks.against_bulk import compare
from benchmarks.collections import collection
from benchmarks.deployment import WORKERS, apply, program, remove
from benchmarks.memory import peak_of, write_corpus
from benchmarks.operators import first_documents, throughput
from benchmarks.report import Bar, Figures, Report, Value, run, tell
from idxopt.compiler.lower import lower
from idxopt.compiler.lowered import Target
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import Engine
from idxopt.operators.interpreter import stored_rows
from idxopt.operators.tables import build_tables
from idxopt.program.schema import Program
from idxopt.sources.opening import open_source
from tests.nodes.launcher import node

PARTS = ("peer", "apply", "memory", "interpreter")
ROUNDS = 9
COPIES = 2
"""How often the collection is sent in one load, with new ids: a short load is decided by chance (merges, pauses)."""
NODE = "node"
SIZES = (30, 300)
"""Megabytes of input."""
RATIO = 0.85
GROWTH = 1.1
MEGABYTE = 1_000_000
COLLECTION = "medquad_pages"


def load_program(of: collections.Collection) -> Program:
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


def measure(rounds: int, parts: Collection[str], sizes: Sequence[int], *, embedded: bool) -> Report:
    """The parts asked for, on one node."""
    report = Report("load")
    of = collection(COLLECTION)
    with tempfile.TemporaryDirectory(prefix="idxopt-load-") as name, node() as url:
        folder = Path(name)
        with OpenSearchEngine.connect(url, timeout_s=120.0) as engine:
            if "peer" in parts:
                _against_peer(engine, url, of, rounds, folder, report)
            if "apply" in parts:
                _whole_apply(engine, of, folder, report)
        if "memory" in parts:
            profiles = {NODE: f'engine = "opensearch"\nurl = "{url}"'}
            if embedded:
                profiles["embedded"] = 'engine = "embedded"\nfolder = "index"'
            _memory(profiles, sizes, folder, report)
    if "interpreter" in parts:
        tell("interpreter")
        guides = collection("awsdocs_small")
        rows = throughput(guides, first_documents(guides, 2 * MEGABYTE))
        report.tables.append(Figures("interpreter, one process, 2 MB of awsdocs_small, by form", rows))
    return report


# Against the peer.


def _against_peer(
    engine: OpenSearchEngine, url: str, of: collections.Collection, rounds: int, folder: Path, report: Report
) -> None:
    wanted = load_program(of)
    documents = list(open_source(of.place, wanted).documents())
    tables = build_tables(wanted, documents)
    capabilities = engine.capabilities()
    target = Target("opensearch", capabilities.bm25_factor, capabilities.pipelines)
    transforms: list[dict[str, Value]] = []
    loads: list[dict[str, Value]] = []
    for view, index in lower(wanted, target, {}).views.items():
        started = time.perf_counter()
        made = stored_rows(wanted, [view], tables, documents, workers=WORKERS)
        rows = [row for _, found in made for row in found[view]]
        seconds = time.perf_counter() - started
        transforms.append(
            {
                "view": view,
                "documents/s": len(documents) / seconds,
                "rows/s": len(rows) / seconds,
                "processes": WORKERS,
            }
        )
        sent = [replace(row, id=f"{copy}/{row.id}") for copy in range(COPIES) for row in rows]
        compared = compare(engine, url, index, sent, rounds, folder)
        loads.append(compared.to_row(view))
        ratio = statistics.median(compared.ratios)
        report.bars.append(Bar(f"load of `{view}` rows, ratio to parallel_bulk", ratio, ">=", RATIO))
    report.tables.append(Figures(f"{COLLECTION}, {COPIES} copies: finished rows into the node, {rounds} rounds", loads))
    report.tables.append(Figures("client-side transform, apart", transforms))


# A whole apply.


def _whole_apply(engine: Engine, of: collections.Collection, folder: Path, report: Report) -> None:
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


def _memory(profiles: Mapping[str, str], sizes: Sequence[int], folder: Path, report: Report) -> None:
    """`profiles`: by engine. `sizes` in megabytes; the first is what the others are compared with."""
    of = [collection("awsdocs_small"), collection("scifact")]
    rows: list[dict[str, Value]] = []
    first: dict[str, int] = {}
    for size in sizes:
        corpus = folder / f"corpus-{size}.jsonl"
        written = write_corpus(corpus, of, size * MEGABYTE) / MEGABYTE
        for label, profile in profiles.items():
            peak = peak_of(corpus, profile, folder / f"{label}-{size}")
            growth = peak.tree / first.setdefault(label, peak.tree)
            tell(f"memory: {size} MB into the {label}: {peak.tree / MEGABYTE:.0f} MB, {peak.seconds:.0f} s")
            rows.append(
                {
                    "engine": label,
                    "input MB": round(written, 1),
                    "documents": peak.documents,
                    "seconds": peak.seconds,
                    "peak MB, all processes": round(peak.tree / MEGABYTE, 1),
                    "largest process MB": round(peak.largest / MEGABYTE, 1),
                    f"to {sizes[0]} MB": round(growth, 3),
                }
            )
            if label == NODE and size != sizes[0]:
                report.bars.append(Bar(f"memory of {size} MB to that of {sizes[0]} MB, {NODE}", growth, "<=", GROWTH))
    report.tables.append(Figures("peak memory of `idxopt apply` with its workers", rows))


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.load", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--gigabyte", action="store_true", help="peak memory of 1 GB of input as well")
    parser.add_argument("--embedded", action="store_true", help="peak memory on the embedded engine as well")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="default: all")
    given = parser.parse_args()
    sizes = [*SIZES, *([1_000] if given.gigabyte else [])]
    return run(lambda: measure(given.rounds, given.parts, sizes, embedded=given.embedded), as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
