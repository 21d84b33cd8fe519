"""A small judged collection, programs of several kinds, and what the tests of trials share."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import orjson

from idxopt.engines.port import Engine
from idxopt.evaluation.datasets import load_dataset_folder
from idxopt.evaluation.judgments import Qrels, Query
from idxopt.operators.row import Document
from idxopt.optimizer.corpus import Corpus
from idxopt.program.schema import Program
from idxopt.program.validate import program_from

SLICED = {
    "steps": [{"op": "slice", "unit": "words", "window": 50, "overlap": 25}],
    "lexical": {"fields": {"body": {}}},
}


def program(name: str = "trial-test", *, fusion: dict[str, Any] | None = None, **views: Any) -> Program:
    """A program over `title` and `text`; without views one that searches the body."""
    plain: dict[str, Any] = {
        "schema": "idxopt/1",
        "name": name,
        "source": {"fields": {"title": "title", "body": "text"}},
        "views": views or {"content": {"lexical": {"fields": {"body": {}}}}},
    }
    return program_from({**plain, **({"fusion": fusion} if fusion else {})}, "test")


def titled(weight: float, **lexical: Any) -> dict[str, Any]:
    """A view that searches the body, and the title with a weight."""
    return {"lexical": {"fields": {"body": {**lexical}, "title": {"weight": weight}}}}


def programs() -> list[Program]:
    """Weights, a title field, another BM25, a normalised body, slices, two views fused in both ways, corpus tables."""
    split = {"op": "normalize", "field": "body", "scheme": "split_identifiers"}
    terms = {"op": "enrich", "with": "prime_terms", "into": "terms", "top": 5}
    return [
        program(),
        program(content=titled(0.5)),
        program(content=titled(2.0)),
        program(content=titled(0.5, k1=2.0, b=0.4)),
        program(content={"steps": [split], **titled(1.0)}),
        program(content={"steps": [terms], "lexical": {"fields": {"body": {}, "terms": {"weight": 0.5}}}}),
        program(content={}, rows=SLICED),
        program(content=titled(0.5), rows=SLICED),
        program(content=titled(0.5), rows={**SLICED, "weight": 0.5}, fusion={"method": "weighted_sum"}),
    ]


def small() -> tuple[Corpus, list[Query], dict[str, dict[str, int]]]:
    """Twenty documents; query n is answered by document n."""
    words = "wing flow heat shock layer plate nozzle drag lift panel".split()
    corpus = Corpus.of(
        Document(
            f"d{n:02d}",
            {
                "title": f"{words[n % 10]} note {n}",
                "text": f"about {words[n * 3 % 10]} and {words[n // 2]} " * 8 + f"mark{n}.",
            },
        )
        for n in range(20)
    )
    queries = [Query(f"q{n}", f"{words[n // 2]} mark{n}") for n in range(0, 20, 2)]
    return corpus, queries, {f"q{n}": {f"d{n:02d}": 2, f"d{n + 1:02d}": 1} for n in range(0, 20, 2)}


def cranfield(shared: Path, documents: int = 400, most: int = 60) -> tuple[Corpus, list[Query], Qrels]:
    """The first documents of Cranfield, and queries that have a relevant one among them."""
    folder = shared / "datasets" / "cranfield"
    judged = load_dataset_folder(folder)
    with gzip.open(folder / "corpus.jsonl.gz") as file:
        lines = [orjson.loads(line) for line in file]
    corpus = Corpus.of(
        Document(line["_id"], {"title": line["title"], "text": line["text"]}) for line in lines[:documents]
    )
    qrels = {
        query.id: {doc_id: grade for doc_id, grade in judged.qrels[query.id].items() if doc_id in corpus.by_id}
        for query in judged.queries
    }
    queries = [query for query in judged.queries if max(qrels[query.id].values(), default=0) > 0][:most]
    return corpus, queries, qrels


def everything(engine: Engine) -> dict[str, Any]:
    """All that somebody else could see of an engine."""
    return {
        "indices": {state.name: (state.uuid, state.settings, state.mappings) for state in engine.list_indices("*")},
        "aliases": engine.aliases("*"),
        "templates": {template.name: template.body for template in engine.templates()},
        "pipelines": engine.list_pipelines("*"),
    }
