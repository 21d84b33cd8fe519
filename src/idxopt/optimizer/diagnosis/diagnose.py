"""Why queries fail under a program: where the relevant documents are, what stands above them, and what kind it is.

Everything is read from the rankings of the evaluator, the rows of the documents in question and their source texts;
equal inputs give equal findings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from idxopt.evaluation.judgments import Qrels, Query, Ranking
from idxopt.evaluation.metrics import Metric
from idxopt.operators.step_models import NO_MODELS, StepModels
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.diagnosis.documents import Examiner, SearchedDocuments, asked_words
from idxopt.optimizer.diagnosis.findings import Diagnosis, FailingQuery, FailureKind
from idxopt.optimizer.diagnosis.reading import CorpusReading, read_corpus
from idxopt.optimizer.diagnosis.rules import failure_kinds
from idxopt.optimizer.diagnosis.slices import slices
from idxopt.program.schema import Program

if TYPE_CHECKING:  # ports know the findings
    from idxopt.optimizer.ports import Evaluator, Scores

DEPTH = 100
MOST_FAILING = 200
MOST_CLASSIFIED = 1_000
MOST_ABOVE = 5
MOST_RELEVANT = 20
_MOST_MISSED = 5
"""Relevant documents that decide the kinds of a query."""
_VALUE = Metric("nDCG", 10)
_PERFECT = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class _Failure:
    """A failing query: its relevant documents and the best of them that are not where they could be, as (document,
    rank, grade), best first; and what stands above.
    """

    query: Query
    value: float
    relevant: Sequence[tuple[str, int | None, int]]
    missed: Sequence[tuple[str, int | None, int]]
    above: Sequence[tuple[str, int, int | None]]


def diagnose(
    evaluator: Evaluator,
    corpus: Corpus,
    program: Program,
    queries: Sequence[Query],
    qrels: Qrels,
    scores: Scores,
    *,
    models: StepModels = NO_MODELS,
) -> Diagnosis:
    """What fails among `queries` (some or all of the evaluator's), whose `scores` under `program` are at hand.

    A query fails where its nDCG@10 is below 1 and something worse stands above a relevant document. Raises what the
    evaluator raises.
    """
    reading = read_corpus(corpus, program.source)
    places = {query.id: place for place, query in enumerate(evaluator.queries)}
    values = {query.id: float(scores.values[_VALUE][places[query.id]]) for query in queries}
    below = [query for query in queries if values[query.id] < _PERFECT]
    run = evaluator.rankings(program, [query.id for query in below], DEPTH) if below else {}
    failures = [
        failure
        for query in below
        if (failure := _failure(query, values[query.id], run.get(query.id, ()), qrels.get(query.id, {}), corpus))
    ]
    failures.sort(key=lambda failure: (failure.value, failure.query.id))
    documents = SearchedDocuments(corpus, program, reading, models)
    return _diagnosis(queries, values, failures, Examiner(documents, corpus, reading), reading)


def _failure(
    query: Query, value: float, ranking: Ranking, graded: Mapping[str, int], corpus: Corpus
) -> _Failure | None:
    """None where nothing worse stands above any relevant document."""
    ranks = {doc_id: rank for rank, (doc_id, _) in enumerate(ranking, start=1)}
    relevant = sorted(
        (
            (doc_id, ranks.get(doc_id), grade)
            for doc_id, grade in graded.items()
            if grade > 0 and doc_id in corpus.by_id
        ),
        key=lambda one: (-one[2], one[1] or DEPTH + 1, one[0]),
    )
    missed = [one for one in relevant if _worse_above(ranking, one[1], one[2], graded)]
    if not missed:
        return None
    _, rank, grade = missed[0]
    above = _worse_above(ranking, rank, grade, graded)[:MOST_ABOVE]
    return _Failure(query, value, relevant, missed, above)


def _worse_above(
    ranking: Ranking, rank: int | None, grade: int, graded: Mapping[str, int]
) -> list[tuple[str, int, int | None]]:
    """(document, rank, grade) of what has a lower grade and stands above `rank` (None: anywhere)."""
    before = ranking if rank is None else ranking[: rank - 1]
    return [
        (doc_id, place, graded.get(doc_id))
        for place, (doc_id, _) in enumerate(before, start=1)
        if graded.get(doc_id, 0) < grade
    ]


def _diagnosis(
    queries: Sequence[Query],
    values: Mapping[str, float],
    failures: Sequence[_Failure],
    examiner: Examiner,
    reading: CorpusReading,
) -> Diagnosis:
    kinds: Counter[FailureKind] = Counter()
    failing: list[FailingQuery] = []
    looked_at = _spaced(len(failures))
    for number in sorted({*looked_at, *range(min(len(failures), MOST_FAILING))}):
        found = _examined(failures[number], examiner, reading)
        if number in looked_at:
            kinds.update(found.kinds)
        if number < MOST_FAILING:
            failing.append(found)
    by_kind = {
        kind: (len(places), sum(values[queries[place].id] for place in places) / len(places))
        for kind, places in slices(queries).items()
    }
    return Diagnosis(
        n=len(queries),
        failing=tuple(failing),
        kinds={kind: kinds[kind] for kind in get_args(FailureKind) if kinds[kind]},
        facts=reading.facts,
        by_query_kind=by_kind,
        failed=len(failures),
        classified=len(looked_at),
    )


def _spaced(count: int) -> frozenset[int]:
    """Numbers of at most MOST_CLASSIFIED failures, evenly spaced from the worst to the best."""
    kept = min(count, MOST_CLASSIFIED)
    return frozenset(number * count // kept for number in range(kept))


def _examined(failure: _Failure, examiner: Examiner, reading: CorpusReading) -> FailingQuery:
    asked = asked_words(failure.query.text, reading)
    relevant = {one[0]: examiner.examine(asked, *one) for one in failure.relevant[:MOST_RELEVANT]}
    above = [examiner.examine(asked, *one) for one in failure.above]
    missed = [(relevant.get(one[0]) or examiner.examine(asked, *one))[1] for one in failure.missed[:_MOST_MISSED]]
    return FailingQuery(
        failure.query.id,
        failure.query.text,
        failure.value,
        tuple(ranked for ranked, _ in relevant.values()),
        tuple(ranked for ranked, _ in above),
        failure_kinds(missed, [seen for _, seen in above], asked.weights),
    )
