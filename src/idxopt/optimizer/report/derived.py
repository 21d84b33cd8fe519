"""Tables that follow from a record's own values, made where the study left them empty."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from idxopt.evaluation.bootstrap import mean_interval
from idxopt.optimizer.ports import JUDGED, NDCG
from idxopt.optimizer.record import (
    BASELINE,
    WINNER,
    Coverage,
    Effect,
    Final,
    QueryValues,
    Rankings,
    Role,
    SliceRow,
    StudyRecord,
    Unjudged,
)
from idxopt.optimizer.report.paired import column, pairs, set_name, tally, three_intervals, value

MOST_UNJUDGED = 20
_CUTOFF = 10


def completed(record: StudyRecord) -> StudyRecord:
    """The record with figures of sets, slices, coverage, effects of kinds of change, and unjudged documents filled in
    from its queries, trials and rankings, where it holds none.
    """
    return replace(
        record,
        finals=record.finals or tuple(_finals(record)),
        slices=record.slices or tuple(_slices(record)),
        coverage=record.coverage or tuple(_coverage(record)),
        effects=record.effects or effects(record),
        unjudged=record.unjudged or decisive(record.rankings),
    )


def _sets(record: StudyRecord) -> dict[tuple[str, Role], list[QueryValues]]:
    found: dict[tuple[str, Role], list[QueryValues]] = {}
    for query in record.queries:
        found.setdefault((query.set, query.role), []).append(query)
    return found


def _metrics(record: StudyRecord) -> list[str]:
    return list(dict.fromkeys(metric for query in record.queries for metric in query.values))


def _finals(record: StudyRecord) -> Iterator[Final]:
    for (name, role), queries in _sets(record).items():
        for metric in _metrics(record):
            if found := pairs(record, metric, queries):
                count = tally(found)
                yield Final(name, role, metric, *three_intervals(found), count.wins, count.ties, count.losses)


def _slices(record: StudyRecord) -> Iterator[SliceRow]:
    metric = record.objective.metric
    for (name, role), queries in _sets(record).items():
        by_slice: dict[str, list[QueryValues]] = {}
        for query in queries:
            for label in dict.fromkeys((query.kind, *query.slices)):
                by_slice.setdefault(label, []).append(query)
        for label in sorted(by_slice):
            if found := pairs(record, metric, by_slice[label]):
                before, after, difference = three_intervals(found)
                lost = difference.high is not None and difference.high < 0
                yield SliceRow(label, set_name(name, role), metric, before, after, difference, collapsed=lost)


def _coverage(record: StudyRecord) -> Iterator[Coverage]:
    for (name, role), queries in _sets(record).items():
        for label in (BASELINE, WINNER):
            place = column(record, label)
            judged = [one for query in queries if (one := value(query, str(JUDGED), place)) is not None]
            scores = [one for query in queries if (one := value(query, str(NDCG), place)) is not None]
            if judged and scores:
                yield Coverage(label, set_name(name, role), mean_interval(judged), mean_interval(scores))


def effects(record: StudyRecord) -> tuple[Effect, ...]:
    """For every kind of change that was tried: the mean of its gains, largest first, and how often it was kept."""
    gains: dict[str, list[float]] = {}
    kept: dict[str, int] = {}
    for trial in record.trials:
        if trial.gain is not None:
            gains.setdefault(trial.kind, []).append(trial.gain.mean)
            kept[trial.kind] = kept.get(trial.kind, 0) + (trial.status in ("kept", "merged"))
    found = [Effect(kind, mean_interval(values), kept[kind]) for kind, values in gains.items()]
    return tuple(sorted(found, key=lambda one: (-one.gain.mean, one.kind)))


def decisive(rankings: tuple[Rankings, ...], most: int = MOST_UNJUDGED) -> tuple[Unjudged, ...]:
    """The unjudged documents whose grade would move the comparison most: those that baseline and winner discount
    differently (1 / log2(1 + rank), 0 below rank 10), relative to the best that the query's known grades allow.
    """
    found = []
    for one in rankings:
        ideal = _ideal(one)
        places: dict[str, dict[str, int]] = {}
        titles: dict[str, str] = {}
        for label, shown in one.lists.items():
            for rank, document in enumerate(shown[:_CUTOFF], 1):
                if document.grade is None:
                    places.setdefault(document.doc_id, {})[label] = rank
                    titles[document.doc_id] = document.title or titles.get(document.doc_id, "")
        for doc_id, ranks in places.items():
            weight = abs(_discount(ranks.get(WINNER)) - _discount(ranks.get(BASELINE))) / ideal
            if weight > 0:
                found.append(Unjudged(one.query_id, doc_id, ranks, weight, titles[doc_id]))
    found.sort(key=lambda one: (-one.weight, one.query_id, one.doc_id))
    return tuple(found[:most])


def _discount(rank: int | None) -> float:
    return 0.0 if rank is None else 1 / math.log2(1 + rank)


def _ideal(one: Rankings) -> float:
    """The gain of the relevant documents that the lists show, in their best order: at least that of one."""
    grades = {shown.doc_id: shown.grade or 0 for ranked in one.lists.values() for shown in ranked}
    best = sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:_CUTOFF]
    return max(1.0, sum(grade * _discount(rank) for rank, grade in enumerate(best, 1)))
