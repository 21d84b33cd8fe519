"""Exact kNN of the embedded engine against HNSW on real nodes: one program, real documents, all-MiniLM-L6-v2.

Bars, for each collection, node and dense leg: of the 30 documents that exact search finds first the node finds 99%, on
average over the queries; wherever both legs of a query are the same lists, the fused order (RRF) is the same too.
Latencies are printed beside (the query's vector is remembered, so they are those of the search). `--quick`: one
collection, one node, 50 queries.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.collections import NAMES, Collection, collection
from benchmarks.deployment import deployed, engines, program
from benchmarks.report import Bar, Figures, Report, Value, run, tell
from idxopt.deploy.estimate import INDEX_FACTOR, JSON_BYTES, vector_bytes
from idxopt.engines.port import Engine
from idxopt.models.opening import Models
from idxopt.program.schema import Program
from idxopt.search import Searcher, SearchQuery
from tests.models_support import minilm_settings, minilm_spec

NODES = ("2.19.1", "3.5.0")
COLLECTIONS = ("cranfield", "covidqa_docs")
BEST = 30
"""Documents of each dense leg that recall is counted over."""
WINDOW = 100
QUICK_QUERIES = 50
RECALL, LEGS = 0.99, ("content.dense", "rows.dense")


@dataclass(frozen=True, slots=True)
class Answer:
    """One query: documents by leg, best first; the fused order; seconds."""

    legs: Mapping[str, list[str]]
    fused: list[str]
    seconds: float


def dense_program(of: Collection) -> Program:
    """Both legs over whole documents, and a dense leg over windows of 128 words."""
    english = {"analyzer": "english"}
    views = {
        "content": {
            "lexical": {"fields": {"title": english, "body": english}},
            "dense": {"model": "minilm", "text": ["title", "body"]},
        },
        "rows": {
            "steps": [{"op": "slice", "unit": "words", "window": 128}],
            "dense": {"model": "minilm", "text": ["body"], "hnsw": {"m": 32, "ef_construction": 200}},
        },
    }
    spec = minilm_spec().model_dump(exclude_defaults=True)
    return program(f"dense-{of.name.replace('_', '-')}", views, models={"minilm": spec}, fusion={"window": WINDOW})


def answers(searcher: Searcher, texts: Mapping[str, str]) -> dict[str, Answer]:
    """Every query once to warm up, then once measured."""
    found = {}
    for id, text in texts.items():
        query = SearchQuery(text, k=WINDOW * 3)
        searcher.search(query)
        started = time.perf_counter()
        result = searcher.search(query)
        seconds = time.perf_counter() - started
        legs = {
            key: [doc for _, doc in sorted((hit.legs[key].rank, hit.doc_id) for hit in result.hits if key in hit.legs)]
            for key in ("content.lexical", *LEGS)
        }
        found[id] = Answer(legs, [hit.doc_id for hit in result.hits], seconds)
    return found


def recall(exact: Mapping[str, Answer], other: Mapping[str, Answer], leg: str) -> float:
    """Mean share of the exact best documents that the other one has among its own best."""
    shares = []
    for id, answer in exact.items():
        best = answer.legs[leg][:BEST]
        shares.append(len(set(best) & set(other[id].legs[leg][:BEST])) / len(best))
    return statistics.fmean(shares)


def same_legs(one: Mapping[str, Answer], other: Mapping[str, Answer]) -> list[str]:
    """Queries whose legs are the same lists in both."""
    return [id for id, answer in one.items() if answer.legs == other[id].legs]


def measure(names: Sequence[str], versions: Sequence[str], cache: Path | None, most: int | None = None) -> Report:
    """Every collection on every node. `cache`: where vectors are kept between runs."""
    report = Report("dense")
    rows: list[dict[str, Value]] = []
    sizes: list[dict[str, Value]] = []
    recalls, orders, alike = [], [], 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="idxopt-dense-")))
        models = stack.enter_context(
            Models({"minilm": minilm_spec()}, minilm_settings(), cache=cache or folder / "embeddings", secret=str)
        )
        opened = stack.enter_context(engines(folder, versions))
        for name in names:
            of = collection(name)
            texts = {query.id: query.text for query in of.judged(most).queries}
            exact: dict[str, Answer] = {}
            for label, engine in opened.items():
                tell(f"{name} on {label}")
                with deployed(engine, dense_program(of), of.place, folder / "cache", models=models) as searcher:
                    found = answers(searcher, texts)
                    sizes += _sizes(name, label, engine, searcher)
                if label == "embedded":
                    exact = found
                same = same_legs(exact, found)
                equal = sum(exact[id].fused == found[id].fused for id in same)
                row: dict[str, Value] = {"collection": name, "engine": label, "queries": len(texts)}
                for leg in LEGS:
                    row[f"recall@{BEST} {leg}"] = round(recall(exact, found, leg), 5)
                row |= {"equal legs": len(same), "of them equal order": equal, "mean ms": _mean_ms(found)}
                rows.append(row)
                if label != "embedded":
                    recalls += [recall(exact, found, leg) for leg in LEGS]
                    orders.append(equal / len(same) if same else 1.0)
                    alike += len(same)
    report.tables += [
        Figures(f"HNSW against exact search, best {BEST} documents; RRF of three legs", rows),
        Figures("bytes of an index with vectors", sizes),
    ]
    report.bars += [
        Bar(f"recall@{BEST} of a dense leg, lowest", min(recalls), ">=", RECALL),
        Bar("share of equal fused orders where all legs are equal, lowest", min(orders), "==", 1.0),
        Bar("queries with equal legs", alike, ">=", 1),
    ]
    return report


def _mean_ms(found: Mapping[str, Answer]) -> float:
    return 1_000 * statistics.fmean(answer.seconds for answer in found.values())


def _sizes(name: str, label: str, engine: Engine, searcher: Searcher) -> list[dict[str, Value]]:
    """What a row takes, and what an estimate adds for its vector."""
    build = searcher.live()
    made: list[dict[str, Value]] = []
    for view, index in build.indices.items():
        dense = build.program.views[view].dense
        assert dense is not None
        dimension = minilm_spec().dimension or 0
        stats = engine.stats(index)
        made.append(
            {
                "collection": name,
                "engine": label,
                "view": view,
                "rows": stats.documents,
                "bytes a row": stats.bytes / max(1, stats.documents),
                "estimated for a vector": JSON_BYTES * dimension * INDEX_FACTOR + vector_bytes(dimension, dense.hnsw.m),
            }
        )
    return made


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.dense", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--quick", action="store_true", help=f"{COLLECTIONS[0]}, {QUICK_QUERIES} queries, one node")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="keep the vectors here, for another run")
    parser.add_argument("--collections", nargs="+", choices=NAMES, default=COLLECTIONS)
    parser.add_argument("--nodes", nargs="+", choices=NODES, default=NODES)
    given = parser.parse_args()
    if given.quick:
        return run(lambda: measure(COLLECTIONS[:1], NODES[:1], given.cache, QUICK_QUERIES), as_json=given.json)
    return run(lambda: measure(given.collections, given.nodes, given.cache), as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
