"""What PRIME's terms and heading tree cost a node that derives them itself, for documents written through the alias.

The same documents are sent with `opensearchpy.helpers.parallel_bulk` into indices of the same body, in turn, several
rounds: past any pipeline (`none`), through the pipeline of a program without steps (`id only`), through that with
PRIME's terms (`terms`), and with terms and heading tree (`both`). The frozen table is that of the whole collection.
Bars: every document gets its terms, and `both` reaches a fifth of `none`. `interpreter` is one process of idxopt.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

from opensearchpy import OpenSearch, helpers

from benchmarks.collections import Collection, collection
from benchmarks.deployment import program
from benchmarks.report import Bar, Figures, Report, Value, run, tell
from idxopt.compiler.lower import lower
from idxopt.compiler.lowered import CompiledView, Target
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.operators.interpreter import Interpreter
from idxopt.operators.row import Document
from idxopt.operators.tables import Tables, build_tables
from idxopt.program.schema import Program
from idxopt.sources.opening import open_source
from tests.nodes.launcher import node

COLLECTIONS = ("awsdocs_small", "medquad_pages")
ROUNDS = 5
THREADS = 2
RATIO = 0.2
NAME = "metadata-benchmark"
TERMS = {"op": "enrich", "with": "prime_terms", "into": "terms"}
TREE = {"op": "enrich", "with": "heading_tree", "into": "tree"}
WAYS: dict[str, list[dict[str, Any]]] = {"id only": [], "terms": [TERMS], "both": [TERMS, TREE]}


def measure(names: Sequence[str], rounds: int) -> Report:
    """Every collection on one node."""
    report = Report("metadata")
    with (
        node() as url,
        OpenSearchEngine.connect(url, timeout_s=120.0) as engine,
        OpenSearch(url, timeout=120) as client,
    ):
        report.tables.append(
            Figures("documents a second", [_measured(engine, client, one, rounds, report) for one in names])
        )
    return report


def _measured(engine: OpenSearchEngine, client: OpenSearch, name: str, rounds: int, report: Report) -> dict[str, Value]:
    of = collection(name)
    wanted = _program(of, WAYS["both"])
    documents = list(open_source(of.place, wanted).documents())
    tables = build_tables(wanted, documents)
    views = _views(of, tables)
    for way, view in views.items():
        assert view.pipeline is not None
        engine.put_pipeline(_pipeline(way), view.pipeline)
    rates: dict[str, list[float]] = {"none": [], **{way: [] for way in views}}
    lacking = 0
    try:
        for number in range(rounds):
            for way, seen in rates.items():
                tell(f"{name}, round {number + 1}: {way}")
                state = engine.create_index(NAME, views["both"].index_body)
                try:
                    seen.append(len(documents) / _sent(client, documents, way))
                    lacking += _lacking(client, len(documents)) if way in ("terms", "both") else 0
                finally:
                    engine.delete_index(NAME, state.uuid)
    finally:
        for way in views:
            engine.delete_pipeline(_pipeline(way))
    ratio = statistics.median(one / other for one, other in zip(rates["both"], rates["none"], strict=True))
    report.bars.append(Bar(f"{name}: documents without terms", lacking, "==", 0))
    report.bars.append(Bar(f"{name}: both / none", ratio, ">=", RATIO))
    body = views["both"].pipeline
    return {
        "collection": name,
        "documents": len(documents),
        "characters a document": round(sum(len(str(one.source["text"])) for one in documents) / len(documents)),
        "pipeline, kB": round(len(json.dumps(body).encode()) / 1_000),
        **{way: round(statistics.median(seen)) for way, seen in rates.items()},
        "both / none": round(ratio, 2),
        "interpreter": round(_interpreted(wanted, documents, tables)),
    }


def _program(of: Collection, steps: Sequence[dict[str, Any]]) -> Program:
    views = {"content": {"steps": list(steps), "lexical": {"fields": {"title": {}, "body": {}}}}}
    return program(NAME, views, source={"fields": {"title": "title", "body": "text"}, "markup": of.markup})


def _views(of: Collection, tables: Tables) -> dict[str, CompiledView]:
    target = Target("opensearch", bm25_factor=True, pipelines=True)
    return {way: lower(_program(of, steps), target, {}, tables).views["content"] for way, steps in WAYS.items()}


def _pipeline(way: str) -> str:
    return f"{NAME}-{way.replace(' ', '-')}"


def _sent(client: OpenSearch, documents: Sequence[Document], way: str) -> float:
    """Seconds until all are stored."""
    actions = ({"_index": NAME, "_id": one.id, "_source": dict(one.source)} for one in documents)
    pipeline = "_none" if way == "none" else _pipeline(way)
    started = time.perf_counter()
    for ok, answer in helpers.parallel_bulk(client, actions, thread_count=THREADS, chunk_size=200, pipeline=pipeline):
        assert ok, answer
    return time.perf_counter() - started


def _lacking(client: OpenSearch, documents: int) -> int:
    client.indices.refresh(index=NAME)
    incomplete = client.count(index=NAME, body={"query": {"term": {"idxopt.incomplete": True}}})["count"]
    stored = client.count(index=NAME)["count"]
    return int(incomplete + documents - stored)


def _interpreted(wanted: Program, documents: Sequence[Document], tables: Tables) -> float:
    interpreter = Interpreter(wanted, "content", tables)
    started = time.perf_counter()
    for one in documents:
        interpreter.stored(one)
    return len(documents) / (time.perf_counter() - started)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.metadata", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--collection", action="append", choices=COLLECTIONS, help="default: both")
    options = parser.parse_args(arguments)
    return run(lambda: measure(options.collection or COLLECTIONS, options.rounds), as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
