"""An anchor outside this project: SciFact with title and text in one field, against Anserini's published figures.

A program cannot join two fields into one, so the joined text is written to a temporary corpus, as Anserini's flat
BEIR indexes have it (title, space, text; its regressions of beir-v1.0.0-scifact.flat).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import orjson

from benchmarks.agreement import DEPTH, NDCG, mean_of
from benchmarks.collections import collection
from benchmarks.deployment import deployed, program
from benchmarks.report import Bar, Figures, Report, Value, tell
from idxopt.engines.port import Engine
from idxopt.evaluation.metrics import Metric
from idxopt.search import SearchQuery

RECALL = Metric("Recall", 100)
SETTINGS = {"k1 0.9, b 0.4": (0.9, 0.4, 0.679, 0.925), "k1 1.2, b 0.75": (1.2, 0.75, 0.683, 0.928)}
"""k1, b, and the nDCG@10 and Recall@100 expected."""
TOLERANCE = 0.001


def measure(engines: Mapping[str, Engine], folder: Path, report: Report) -> None:
    """Adds a table and bars to the report."""
    of = collection("scifact")
    judged = of.judged()
    joined = folder / "scifact-joined.jsonl"
    with joined.open("wb") as file:
        for document in of.documents():
            contents = f"{document['title']} {document['text']}"
            file.write(orjson.dumps({"_id": document["_id"], "contents": contents}) + b"\n")
    rows: list[dict[str, Value]] = []
    for label, engine in engines.items():
        for name, (k1, b, ndcg_expected, recall_expected) in SETTINGS.items():
            tell(f"anchor, {name}, on {label}")
            wanted = program(
                "parity-anchor",
                {"content": {"lexical": {"fields": {"contents": {"analyzer": "english", "k1": k1, "b": b}}}}},
                source={"fields": {"contents": "contents"}},
                fusion={"window": DEPTH},
            )
            with deployed(engine, wanted, str(joined), folder / "cache") as searcher:
                run = {
                    query.id: [
                        (hit.doc_id, hit.score) for hit in searcher.search(SearchQuery(query.text, k=DEPTH)).hits
                    ]
                    for query in judged.queries
                }
            ndcg, recall = mean_of(run, judged.qrels, NDCG), mean_of(run, judged.qrels, RECALL)
            rows.append(
                {
                    "engine": label,
                    "BM25": name,
                    "nDCG@10": round(ndcg, 4),
                    "expected": ndcg_expected,
                    "Recall@100": round(recall, 4),
                    "expected ": recall_expected,
                }
            )
            report.bars.append(
                Bar(f"anchor {name} {label}: nDCG@10 off by", abs(ndcg - ndcg_expected), "<=", TOLERANCE)
            )
            report.bars.append(
                Bar(f"anchor {name} {label}: Recall@100 off by", abs(recall - recall_expected), "<=", TOLERANCE)
            )
    report.tables.append(Figures("SciFact, title and text in one field, against Anserini", rows))
