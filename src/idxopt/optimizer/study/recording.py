"""From a finished search to the record that the report, the command line and later readers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from idxopt.evaluation.bootstrap import Interval, mean_interval
from idxopt.evaluation.metrics import Metric
from idxopt.optimizer.attribution import Accepted, without
from idxopt.optimizer.autoindex.settings import Found
from idxopt.optimizer.autoindex.settings import PathStep as FoundStep
from idxopt.optimizer.diagnosis.findings import Diagnosis
from idxopt.optimizer.diagnosis.slices import kind_of, kinds_of
from idxopt.optimizer.ports import METRICS, NDCG, RECALL, Candidate, LegRanking, Scores
from idxopt.optimizer.record import (
    BASELINE,
    MOST_RANKINGS,
    WINNER,
    Attribution,
    Column,
    FailureCount,
    Objective,
    PathStep,
    QuerySet,
    QueryValues,
    Rankings,
    Role,
    Trial,
    TrialStatus,
)
from idxopt.optimizer.splits import PlacedQueries, Places, pooled
from idxopt.optimizer.study.inputs import JudgedSet
from idxopt.optimizer.study.prepared import Prepared
from idxopt.optimizer.study.scoring import Scoring
from idxopt.optimizer.study.showing import shown
from idxopt.optimizer.study.store import StoredTrial

RESAMPLES = 2_000
"""Resamples behind the intervals in the table of trials; the final figures have 10,000."""
_SHOWN = 10
_STATUS: dict[str, TrialStatus] = {"complete": "kept", "refused": "refused", "invalid": "invalid", "failed": "failed"}


@dataclass(frozen=True)
class Finished:
    """A search that has ended, with what its figures come from. `scores` are in the order of all queries."""

    found: Found
    prepared: Prepared
    scoring: Scoring
    baseline: Scores

    @property
    def kept(self) -> Sequence[FoundStep]:
        """The changes of the winner."""
        return self.found.path[: self.found.cut.kept]

    @property
    def columns(self) -> list[tuple[str, Candidate, Scores]]:
        """Label, program and scores of the baseline, of each change on the path, and of the winner."""
        steps = [(f"step {number}", step.candidate, step.scores) for number, step in enumerate(self.found.path, 1)]
        winner = (WINNER, self.found.program, self.found.scores)
        return [(BASELINE, self.found.baseline, self.baseline), *steps, winner]

    @property
    def held_out(self) -> Places:
        """Places of the held-out queries, which the search has opened."""
        return pooled(self.found.held_out)


def objective_of(found: Found) -> Objective:
    """What was raised, and why that."""
    blind = found.objective.aim == "ndcg"
    return Objective(str(found.objective.metrics[0]), found.objective.why, str(RECALL) if blind else None)


def sets_of(finished: Finished, given: Sequence[JudgedSet]) -> tuple[QuerySet, ...]:
    """The parts of the queries with their sizes."""
    synthetic = {each.name: each.judged.synthetic is not None for each in given}
    return tuple(QuerySet(each.name, role, each.n, synthetic[each.name]) for role, each in parts_of(finished))


def trials_of(finished: Finished, stored: Sequence[StoredTrial], plan: str) -> tuple[Trial, ...]:
    """Every trial but the baseline. `plan`: the command that puts the winner live."""
    steps = {step.candidate.hash: number for number, step in enumerate(finished.found.path)}
    return tuple(_trial(finished, one, steps, plan) for one in stored if one.number > 0)


def _trial(finished: Finished, one: StoredTrial, steps: Mapping[str, int], plan: str) -> Trial:
    metric, dev = finished.found.objective.metrics[0], finished.prepared.split.dev_places
    known = finished.scoring.known(one.hash) if one.hash and one.against else None
    scores = known.scores if known is not None else None
    against = finished.scoring.known(one.against) if one.against else None
    gain = _paired(scores, against.scores if against else None, metric, dev)
    place = steps.get(one.hash) if one.status == "complete" else None
    return Trial(
        number=one.number,
        round=one.round,
        kind=one.proposal.kind if one.proposal else BASELINE,
        why=one.proposal.why if one.proposal else "",
        proposer=one.proposal.proposer if one.proposal else "",
        status=_status(finished.found, one, place),
        hash=one.hash,
        reason=one.reason if place is None else _cut_reason(finished.found, place),
        values={} if scores is None else {str(each): _few(scores.at(each, dev)) for each in METRICS},
        gain=gain,
        difference=_paired(scores, finished.baseline, metric, dev),
        confidence=one.confidence,
        held_out=None if place is None or scores is None else _mean(scores, metric, finished.held_out),
        size=scores.size if scores is not None else None,
        p95_ms=one.p95_ms,
        seconds=one.seconds,
        cached=one.cached,
        plan=plan if one.hash == finished.found.program.hash else "",
    )


def _status(found: Found, one: StoredTrial, place: int | None) -> TrialStatus:
    if one.status == "running" or (one.status == "complete" and place is None):
        return "waiting"  # its round is decided anew, as a whole, when the study goes on
    if place is None:
        return _STATUS[one.status]
    if place >= found.cut.kept:
        return "cut"
    return "merged" if found.path[place].merged else "kept"


def _cut_reason(found: Found, place: int) -> str | None:
    return None if place < found.cut.kept else found.cut.sentence


def path_of(finished: Finished, stored: Sequence[StoredTrial]) -> tuple[PathStep, ...]:
    """The accepted changes in their order, those that the held-out queries cut off too."""
    numbers = {one.hash: one.number for one in stored if one.status == "complete"}
    metric, held_out = finished.found.objective.metrics[0], finished.held_out
    return tuple(
        PathStep(
            trial=numbers[step.candidate.hash],
            kind=step.proposal.kind,
            why=step.proposal.why,
            gain=step.gain,
            confidence=step.confidence,
            hash=step.candidate.hash,
            held_out=_paired(step.scores, finished.baseline, metric, held_out, resamples=10_000),
            cut=place >= finished.found.cut.kept,
            metric=str(step.metric),
        )
        for place, step in enumerate(finished.found.path)
    )


def columns_of(finished: Finished, p95: Mapping[str, float]) -> tuple[Column, ...]:
    """The columns of per-query values. `p95`: milliseconds by hash."""
    return tuple(
        Column(label, candidate.hash, scores.size, p95.get(candidate.hash))
        for label, candidate, scores in finished.columns
    )


def queries_of(finished: Finished) -> tuple[QueryValues, ...]:
    """A value for every query and column, in the order of the evaluator."""
    roles = _roles(finished)
    columns = [scores for _, _, scores in finished.columns]
    found = []
    for place, query in enumerate(finished.prepared.gathered.queries):
        if query.id not in roles:
            continue
        name, role = roles[query.id]
        values = {str(metric): tuple(float(one.values[metric][place]) for one in columns) for metric in METRICS}
        kinds = kinds_of(query.text)
        found.append(QueryValues(query.id, query.text, name, role, kind_of(query.text), values, kinds))
    return tuple(found)


def _roles(finished: Finished) -> dict[str, tuple[str, Role]]:
    return {query_id: (each.name, role) for role, each in parts_of(finished) for query_id in each.ids}


def parts_of(finished: Finished) -> list[tuple[Role, PlacedQueries]]:
    """The sets of queries by their roles."""
    split = finished.prepared.split
    parts: list[tuple[Role, Sequence[PlacedQueries]]] = [
        ("dev", split.dev),
        ("held_out", finished.found.held_out),
        ("test", split.test),
    ]
    return [(role, each) for role, sets in parts for each in sets]


def rankings_of(finished: Finished) -> tuple[Rankings, ...]:
    """The first ten of baseline and winner for the queries that moved most in the objective, then in nDCG@10."""
    found, gathered, corpus = finished.found, finished.prepared.gathered, finished.prepared.corpus
    order = most_moved(finished.baseline, found.scores, found.objective.metrics[0])[:MOST_RANKINGS]
    if not order:
        return ()
    queries = [gathered.queries[place] for place in order]
    ids = [query.id for query in queries]
    evaluator = finished.scoring.evaluator
    both = {BASELINE: found.baseline.program, WINNER: found.program.program}
    runs = {label: evaluator.rankings(program, ids, _SHOWN) for label, program in both.items()}
    legs = {
        label: evaluator.leg_ranks(program, ids, _SHOWN) if isinstance(evaluator, LegRanking) else {}
        for label, program in both.items()
    }
    source = found.baseline.program.source
    return tuple(
        Rankings(
            query.id,
            {
                label: shown(
                    run.get(query.id, ()), query, gathered.qrels[query.id], corpus, source, legs[label].get(query.id)
                )
                for label, run in runs.items()
            },
        )
        for query in queries
    )


def most_moved(before: Scores, after: Scores, objective: Metric) -> list[int]:
    """Places of the queries whose value changed, largest change of the objective first; then of nDCG@10."""
    moved, ranked = (np.abs(after.values[metric] - before.values[metric]) for metric in (objective, NDCG))
    changed = np.flatnonzero((moved > 0) | (ranked > 0)).tolist()
    return sorted(changed, key=lambda place: (-moved[place], -ranked[place], place))


@dataclass(frozen=True, slots=True)
class Without:
    """The winner without one change: `name` says which, and what left with it."""

    name: str
    candidate: Candidate
    scores: Scores


def without_each(finished: Finished, checked: Callable[[], None]) -> tuple[Without, ...]:
    """The winner without each of its changes, and without those that build on it; none for a single change."""
    if len(finished.kept) < 2:
        return ()
    path = [
        Accepted(f"{number} {step.proposal.kind}", step.proposal.edits) for number, step in enumerate(finished.kept, 1)
    ]
    found = []
    for number, change in enumerate(path):
        checked()
        program, dropped = without(finished.found.baseline.program, path, number)
        result = finished.scoring.one(Candidate.of(program))
        if result.scores is not None:
            others = f" (with {', '.join(path[other].name for other in dropped)})" if dropped else ""
            found.append(Without(change.name + others, result.candidate, result.scores.scores))
    return tuple(found)


def attribution_of(finished: Finished, shorter: Sequence[Without], p95: Mapping[str, float]) -> tuple[Attribution, ...]:
    """What each change of the winner is worth over all dev queries, and what it costs. `p95`: milliseconds by hash."""
    metric, dev = finished.found.objective.metrics[0], finished.prepared.split.dev_places
    winner, now = finished.found.scores, finished.found.scores.size
    found = []
    for one in shorter:
        loss = _paired(winner, one.scores, metric, dev, resamples=10_000)
        assert loss is not None  # both sides have scores
        size = one.scores.size
        slower = _difference(p95.get(finished.found.program.hash), p95.get(one.candidate.hash))
        found.append(Attribution(one.name, loss, now.rows - size.rows, now.bytes - size.bytes, slower))
    return tuple(found)


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def failures_of(before: Diagnosis, after: Diagnosis) -> tuple[FailureCount, ...]:
    """Failing dev queries by kind, most frequent under the baseline first."""
    kinds = sorted({*before.kinds, *after.kinds}, key=lambda kind: (-before.kinds.get(kind, 0), kind))
    return tuple(FailureCount(kind, before.kinds.get(kind, 0), after.kinds.get(kind, 0)) for kind in kinds)


def _paired(
    scores: Scores | None, against: Scores | None, metric: Metric, places: Places, *, resamples: int = RESAMPLES
) -> Interval | None:
    if scores is None or against is None or not len(places):
        return None
    differences = scores.at(metric, places) - against.at(metric, places)
    return mean_interval(differences.tolist(), resamples=resamples)


def _mean(scores: Scores, metric: Metric, places: Places) -> Interval | None:
    return _few(scores.at(metric, places)) if len(places) else None


def _few(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Interval:
    return mean_interval(values.tolist(), resamples=RESAMPLES)
