"""The incremental evaluator against the embedded engine: equal documents in equal order, equal values."""

from __future__ import annotations

import numpy as np
import pytest

from idxopt.errors import IdxoptError
from idxopt.evaluation.metrics import per_query_values
from idxopt.optimizer.ports import METRICS
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.optimizer.trials import embedded_trials
from tests.unit.optimizer.scoring.drawing import CORPUS, QRELS, QUERIES, drawn

IDS = [query.id for query in QUERIES]


def test_every_drawn_program_gives_the_documents_of_the_embedded_engine_in_their_order():
    exact = IncrementalEvaluator(CORPUS, QUERIES, QRELS)
    compared = 0
    with embedded_trials(CORPUS, QUERIES, QRELS) as engine:
        for seed in range(60):
            program = drawn(seed)
            try:
                found = exact.rankings(program, IDS, 1_000)
            except IdxoptError:
                with pytest.raises(IdxoptError):
                    engine.rankings(program, IDS, 1_000)
                continue
            expected = engine.rankings(program, IDS, 1_000)
            for query in QUERIES:
                ours = [doc_id for doc_id, _ in found[query.id]]
                assert ours == [doc_id for doc_id, _ in expected[query.id]], (seed, query.text)
            values = per_query_values(expected, QRELS, METRICS)
            scores = exact.scores(program)
            for metric in METRICS:
                theirs = np.array([values[metric][id] for id in IDS])
                assert np.abs(scores.values[metric] - theirs).max() < 1e-12, (seed, metric)
            compared += 1
    assert compared > 50
