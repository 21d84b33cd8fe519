"""How much of the rankings is judged, and what the objective would be if documents that nobody judged were left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from idxopt.evaluation.bootstrap import mean_interval
from idxopt.evaluation.metrics import per_query_values
from idxopt.optimizer.ports import JUDGED, NDCG, Candidate, Evaluator, Values
from idxopt.optimizer.record import BASELINE, WINNER, Coverage
from idxopt.optimizer.report.paired import set_name
from idxopt.optimizer.splits import GatheredQueries
from idxopt.optimizer.study.recording import Finished, parts_of

DEPTH = 50
"""Ranks among which judged documents are looked for: the first ten of them count."""


def coverage_of(finished: Finished) -> tuple[Coverage, ...]:
    """Judged@10 and nDCG@10 of baseline and winner on every set; nDCG@10 once more over judged documents alone."""
    found, evaluator = finished.found, finished.scoring.evaluator
    both = [(BASELINE, found.baseline, finished.baseline), (WINNER, found.program, found.scores)]
    gathered = finished.prepared.gathered
    without = {label: left_out(evaluator, candidate, gathered) for label, candidate, _ in both}

    def rows() -> Iterator[Coverage]:
        for role, part in parts_of(finished):
            for label, _, scores in both:
                yield Coverage(
                    label,
                    set_name(part.name, role),
                    mean_interval(scores.at(JUDGED, part.places).tolist()),
                    mean_interval(scores.at(NDCG, part.places).tolist()),
                    mean_interval(without[label][part.places].tolist()),
                )

    return tuple(rows())


def left_out(evaluator: Evaluator, candidate: Candidate, gathered: GatheredQueries) -> Values:
    """nDCG@10 of every query over the judged documents among the first 50."""
    run = evaluator.rankings(candidate.program, [query.id for query in gathered.queries], DEPTH)
    judged = {
        query_id: [(doc_id, score) for doc_id, score in ranking if doc_id in gathered.qrels[query_id]]
        for query_id, ranking in run.items()
    }
    values = per_query_values(judged, gathered.qrels, [NDCG])[NDCG]
    return np.array([values[query.id] for query in gathered.queries])
