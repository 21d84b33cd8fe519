"""How far two rankings of the same documents agree. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from idxopt.evaluation.judgments import Qrels, Ranking, Run
from idxopt.evaluation.metrics import Metric, mean, per_query_values

DEPTH = 100
INTERCHANGEABLE = 1e-5
"""Relative distance from the score of the last rank within which documents may stand for each other."""
NDCG = Metric("nDCG", 10)


@dataclass(frozen=True, slots=True)
class QueryAgreement:
    """One query. `score`: the largest relative difference of a document that both found."""

    same_set: bool
    same_order: bool
    score: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """Over all queries: `sets` and `orders` are shares that agree, `score` the largest relative difference."""

    queries: int
    sets: float
    orders: float
    score: float
    ndcg: float
    ndcg_other: float

    @property
    def ndcg_difference(self) -> float:
        return abs(self.ndcg - self.ndcg_other)


def compare_rankings(ours: Ranking, theirs: Ranking, depth: int = DEPTH) -> QueryAgreement:
    """Sets may differ in interchangeable documents only; the order counts as equal when all ranks hold the same one."""
    first, second = dict(ours[:depth]), dict(theirs[:depth])
    same_set = len(first) == len(second) and all(
        _interchangeable(found, other, depth) for found, other in ((first, second), (second, first))
    )
    differences = [
        abs(first[doc_id] - second[doc_id]) / max(abs(second[doc_id]), 1e-30) for doc_id in first.keys() & second.keys()
    ]
    return QueryAgreement(same_set, list(first) == list(second), max(differences, default=0.0))


def _interchangeable(found: Mapping[str, float], other: Mapping[str, float], depth: int) -> bool:
    """Whether all that the other ranking lacks scores as the last rank does; below `depth` documents nothing may."""
    lacking = found.keys() - other.keys()
    if not lacking:
        return True
    if len(found) < depth:
        return False
    last = list(found.values())[-1]
    return all(abs(found[doc_id] - last) <= INTERCHANGEABLE * abs(last) for doc_id in lacking)


def agreement(ours: Run, theirs: Run, queries: Sequence[str], qrels: Qrels) -> Agreement:
    """Both runs over the same queries."""
    found = [compare_rankings(ours.get(query, ()), theirs.get(query, ())) for query in queries]
    return Agreement(
        queries=len(found),
        sets=share(query.same_set for query in found),
        orders=share(query.same_order for query in found),
        score=max((query.score for query in found), default=0.0),
        ndcg=mean_of(ours, qrels, NDCG),
        ndcg_other=mean_of(theirs, qrels, NDCG),
    )


def mean_of(run: Run, qrels: Qrels, metric: Metric) -> float:
    """The mean of a metric over all judged queries."""
    return mean(per_query_values(run, qrels, [metric])[metric])


def share(flags: Iterable[bool]) -> float:
    """How many of them are true, 0 to 1; 0 of none, so that nothing measured is nothing proved."""
    values = list(flags)
    return sum(values) / len(values) if values else 0.0
