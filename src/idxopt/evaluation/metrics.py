"""Metrics by name (`nDCG@10`, `Recall@100`, `MRR@10`) and their values per query, computed by ir-measures.

Rankings are handed over with strictly falling scores, so that trec_eval, which orders equal scores by document id,
keeps their order: renaming documents changes no figure.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import ir_measures

from idxopt.errors import EvaluationError, UsageError
from idxopt.evaluation.judgments import Qrels, Ranking, Run

MAX_CUTOFF = 10_000


@dataclass(frozen=True)
class _Kind:
    name: str
    measure: str
    cutoff_needed: bool
    takes_grade: bool
    aliases: tuple[str, ...]


_KINDS = (
    _Kind("nDCG", "nDCG", cutoff_needed=False, takes_grade=False, aliases=("ndcg",)),
    _Kind("Recall", "R", cutoff_needed=True, takes_grade=True, aliases=("recall", "r")),
    _Kind("MRR", "RR", cutoff_needed=False, takes_grade=True, aliases=("mrr", "rr")),
    _Kind("P", "P", cutoff_needed=True, takes_grade=True, aliases=("p", "precision")),
    _Kind("MAP", "AP", cutoff_needed=False, takes_grade=True, aliases=("map", "ap")),
    _Kind("Success", "Success", cutoff_needed=True, takes_grade=True, aliases=("success", "hit", "hits", "hitrate")),
    _Kind("Judged", "Judged", cutoff_needed=True, takes_grade=False, aliases=("judged",)),
)
_BY_ALIAS = {alias: kind for kind in _KINDS for alias in kind.aliases}
_PATTERN = re.compile(r"([A-Za-z]+)(?:\(rel=([0-9]{1,4})\))?(?:@([0-9]{1,6}))?", re.ASCII)


@dataclass(frozen=True, order=True)
class Metric:
    """One metric; `str()` gives the name that `parse_metric` reads.

    `grade` is the lowest grade that counts as relevant (nDCG uses the grades themselves, linear gains).
    """

    kind: str
    cutoff: int | None = None
    grade: int = 1

    def __str__(self) -> str:
        relevant = f"(rel={self.grade})" if self.grade != 1 else ""
        return f"{self.kind}{relevant}{f'@{self.cutoff}' if self.cutoff is not None else ''}"


def parse_metric(name: str) -> Metric:
    """Read a name such as `nDCG@10`, `recall@100`, `MRR`, `P(rel=2)@5`. Raises UsageError with the nearest name."""
    found = _PATTERN.fullmatch(name.strip())
    kind = _BY_ALIAS.get(found[1].lower()) if found else None
    if found is None or kind is None:
        raise UsageError(f"{name!r} is no metric", remedy=_suggest(found[1] if found else name))
    cutoff = int(found[3]) if found[3] else None
    if cutoff is None and kind.cutoff_needed:
        raise UsageError(f"{name!r} needs a depth", remedy=f"write {kind.name}@10")
    if cutoff is not None and not 1 <= cutoff <= MAX_CUTOFF:
        raise UsageError(f"the depth in {name!r} is out of range", remedy=f"use 1 to {MAX_CUTOFF}")
    if found[2] and not kind.takes_grade:
        raise UsageError(f"{kind.name} takes no (rel=...)", remedy=f"write {kind.name}@{cutoff or 10}")
    grade = int(found[2]) if found[2] else 1
    if grade < 1:
        raise UsageError(f"the grade in {name!r} must be 1 or more", remedy=f"write {kind.name}@{cutoff or 10}")
    return Metric(kind.name, cutoff, grade)


def _suggest(name: str) -> str:
    near = difflib.get_close_matches(name.lower(), _BY_ALIAS, n=1, cutoff=0.5)
    examples = "nDCG@10, Recall@100, MRR, P@5, MAP, Success@10, Judged@10"
    return f"did you mean {_BY_ALIAS[near[0]].name}? Known: {examples}" if near else f"use one of {examples}"


DEFAULT_METRICS: tuple[Metric, ...] = (
    Metric("nDCG", 10),
    Metric("Recall", 10),
    Metric("Recall", 100),
    Metric("MRR"),
    Metric("Judged", 10),
)
PAPER_METRICS: tuple[Metric, ...] = (
    Metric("nDCG", 5),
    Metric("nDCG", 10),
    Metric("Recall", 5),
    Metric("P", 5),
    Metric("P", 1),
    Metric("Recall", 1),
    Metric("MRR"),
)
"""The columns of PRIME's Table 1, and R@1. With one relevant document a query P@1 is R@1, and R@5 is 5 * P@5."""


def per_query_values(run: Run, qrels: Qrels, metrics: Iterable[Metric]) -> dict[Metric, dict[str, float]]:
    """The value of each metric for EVERY judged query, in the order of their ids.

    A query without hits has 0 everywhere (also Judged@k). Queries of the run without judgments are ignored here;
    callers count them. Raises EvaluationError where a ranking holds a document twice.
    """
    wanted = list(dict.fromkeys(metrics))
    values = {metric: dict.fromkeys(sorted(qrels), 0.0) for metric in wanted}
    answered = [query_id for query_id in sorted(qrels) if run.get(query_id)]
    if not answered or not wanted:
        return values
    by_measure = {_measure(metric): metric for metric in wanted}
    judged: dict[str, dict[str, int]] = {}
    scored: dict[str, dict[str, float]] = {}
    for position, query_id in enumerate(answered):
        judged[str(position)], scored[str(position)] = _numbered(query_id, run[query_id], qrels[query_id])
    for result in ir_measures.iter_calc(list(by_measure), judged, scored):
        values[by_measure[result.measure]][answered[int(result.query_id)]] = float(result.value)
    return values


def mean(values: Mapping[str, float]) -> float:
    """Mean over queries, summed in the order of their ids so that it does not depend on how they were read."""
    return sum(values[query_id] for query_id in sorted(values)) / len(values)


def _numbered(query_id: str, ranking: Ranking, graded: Mapping[str, int]) -> tuple[dict[str, int], dict[str, float]]:
    """Judgments and scores of one query for trec_eval, with numbers for ids.

    Scores fall by exactly 1 a rank: distinct in the single precision that it computes in. Ids are C strings there,
    and one with a NUL character makes it return nonsense.
    """
    documents = check_distinct(query_id, ranking)
    names = {doc_id: str(number) for number, doc_id in enumerate(dict.fromkeys((*documents, *graded)))}
    scores = {names[doc_id]: float(len(documents) - rank) for rank, doc_id in enumerate(documents)}
    return {names[doc_id]: grade for doc_id, grade in graded.items()}, scores


def check_distinct(query_id: str, ranking: Ranking) -> Sequence[str]:
    """The document ids, best first. Raises EvaluationError if one comes twice: it would be counted twice."""
    documents = [doc_id for doc_id, _ in ranking]
    if len(set(documents)) != len(documents):
        twice = next(doc_id for rank, doc_id in enumerate(documents) if doc_id in documents[:rank])
        raise EvaluationError(
            f"the ranking of query {query_id!r} holds document {twice!r} twice",
            remedy="collapse rows to documents before evaluating",
        )
    return documents


def _measure(metric: Metric) -> ir_measures.Measure:
    kind = next(kind for kind in _KINDS if kind.name == metric.kind)
    measure = ir_measures.parse_measure(kind.measure)
    if metric.grade != 1:
        measure = measure(rel=metric.grade)
    return measure if metric.cutoff is None else measure @ metric.cutoff
