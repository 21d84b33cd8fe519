"""The incremental evaluator against the embedded engine: equal documents in equal order, equal values."""

from __future__ import annotations

import gzip
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from idxopt.errors import IdxoptError
from idxopt.evaluation.datasets import load_dataset_folder
from idxopt.evaluation.metrics import per_query_values
from idxopt.operators.row import Document
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.ports import METRICS, NDCG
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.optimizer.trials import embedded_trials
from tests.unit.optimizer.scoring.drawing import CORPUS, QRELS, QUERIES, drawn, program

IDS = [query.id for query in QUERIES]


def test_every_drawn_program_gives_the_documents_of_the_embedded_engine_in_their_order():
    exact = IncrementalEvaluator(CORPUS, QUERIES, QRELS)
    compared = 0
    with embedded_trials(CORPUS, QUERIES, QRELS) as engine:
        for seed in range(30):
            wanted = drawn(seed)
            try:
                found = exact.rankings(wanted, IDS, 1_000)
            except IdxoptError:
                with pytest.raises(IdxoptError):
                    engine.rankings(wanted, IDS, 1_000)
                continue
            expected = engine.rankings(wanted, IDS, 1_000)
            for query in QUERIES:
                ours = [doc_id for doc_id, _ in found[query.id]]
                assert ours == [doc_id for doc_id, _ in expected[query.id]], (seed, query.text)
            values = per_query_values(expected, QRELS, METRICS)
            scores = exact.scores(wanted)
            for metric in METRICS:
                theirs = np.array([values[metric][id] for id in IDS])
                assert np.abs(scores.values[metric] - theirs).max() < 1e-12, (seed, metric)
            compared += 1
    assert compared > 25


REAL: list[dict[str, Any]] = [
    {"content": {"lexical": {"fields": {"title": {"weight": 0.5}, "body": {}}}}},
    {
        "content": {
            "steps": [{"op": "reorganize", "to": "join", "field": ["title", "body"], "into": "text"}],
            "lexical": {"fields": {"text": {"analyzer": "standard", "k1": 0.9, "b": 0.4}}},
        },
        "rows": {
            "steps": [{"op": "slice", "unit": "words", "window": 40, "overlap": 20}],
            "lexical": {"fields": {"body": {}, "title": {"weight": 0.25}}},
            "weight": 0.5,
        },
    },
]


def test_a_part_of_a_real_collection_has_the_figures_of_the_embedded_engine(shared):
    folder = shared / "datasets" / "cranfield"
    corpus = Corpus.of(_documents(folder)[:300])
    judged = load_dataset_folder(folder)
    queries = [query for query in judged.queries if judged.qrels.get(query.id)][:100]
    qrels = {query.id: judged.qrels[query.id] for query in queries}
    exact = IncrementalEvaluator(corpus, queries, qrels)
    ids = [query.id for query in queries]
    with embedded_trials(corpus, queries, qrels) as engine:
        for views, fusion in product(REAL, ({"method": "rrf"}, {"method": "weighted_sum"})):
            wanted = program(source={"fields": {"title": "title", "body": "text"}}, views=views, fusion=fusion)
            found, expected = exact.rankings(wanted, ids, 100), engine.rankings(wanted, ids, 100)
            for id in ids:
                assert [doc_id for doc_id, _ in found[id]] == [doc_id for doc_id, _ in expected[id]], id
            ours, theirs = exact.scores(wanted), engine.scores(wanted)
            for metric in METRICS:
                assert np.abs(ours.values[metric] - theirs.values[metric]).max() < 1e-12
            assert ours.values[NDCG].mean() > 0.1


def _documents(folder: Path) -> list[Document]:
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [Document(str(one.pop("_id")), one) for one in map(orjson.loads, lines)]
