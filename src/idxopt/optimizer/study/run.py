"""Runs a study from its documents to its report; run again, it goes on where it was stopped or killed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from idxopt import __version__
from idxopt.builds.clock import SystemClock
from idxopt.errors import BuildError
from idxopt.evaluation.bootstrap import mean_interval
from idxopt.ledger.ledger import Ledger
from idxopt.optimizer.autoindex.search import Search
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.diagnosis.findings import Diagnosis
from idxopt.optimizer.ports import METRICS, Candidate, Evaluator
from idxopt.optimizer.record import Control, Sampled, SampleRow, Stage, StudyRecord
from idxopt.optimizer.report.derived import completed
from idxopt.optimizer.report.page import render
from idxopt.optimizer.study.checks import checked
from idxopt.optimizer.study.closing import endings, plan_command, synthetic_of
from idxopt.optimizer.study.controls import controls_of
from idxopt.optimizer.study.costs import cost_of, events_of
from idxopt.optimizer.study.coverage import coverage_of
from idxopt.optimizer.study.diagnosing import diagnosed, diagnosis_text
from idxopt.optimizer.study.driving import Driven, Driver
from idxopt.optimizer.study.folder import StudyFolder, replace_file
from idxopt.optimizer.study.inputs import Progress, ProposerTools, Quiet, StudyInputs, read_corpus
from idxopt.optimizer.study.latency import Latency, Measurable, Measuring, embedded_latency, latencies, latency_by
from idxopt.optimizer.study.manifest import StudyManifest
from idxopt.optimizer.study.prepared import Prepared, dev_slices, gathered_queries, manifest_of
from idxopt.optimizer.study.recording import (
    Finished,
    Without,
    attribution_of,
    columns_of,
    failures_of,
    objective_of,
    path_of,
    queries_of,
    rankings_of,
    sets_of,
    trials_of,
    without_each,
)
from idxopt.optimizer.study.replies import RecordedGenerator
from idxopt.optimizer.study.sampling import DEPTH, sampled
from idxopt.optimizer.study.scores import ScoreStore, Setting
from idxopt.optimizer.study.scoring import Scoring, worker_pool
from idxopt.optimizer.study.store import StudyStore
from idxopt.optimizer.study.worker import Work, evaluator_maker
from idxopt.program.canonical import canonical
from idxopt.program.schema import Program
from idxopt.sources import Rejects


@dataclass(frozen=True)
class StudyResult:
    """How a study ended. `stopped`: why it ended before its time (None: the search came to its end).

    `program` is the winner, or the baseline where nothing better was found; the files are in `folder`.
    """

    folder: StudyFolder
    manifest: StudyManifest
    record: StudyRecord
    program: Program
    stopped: str | None

    @property
    def improved(self) -> bool:
        return any(not step.cut for step in self.record.path)


def run_study(inputs: StudyInputs, folder: Path, progress: Progress | None = None) -> StudyResult:
    """Searches for a better program than the baseline; everything is kept in `folder`.

    Run again with the same inputs it goes on where it was; a finished study gives the same result again. The first
    Ctrl-C (see `progress`) ends it after the program that is being scored.
    Raises UsageError, SourceError, EvaluationError for inputs that make no study; LockedError while another process
    works on it; BuildError for a folder that is damaged or was begun with other inputs; what a model or an engine
    raises. In each of these cases what was scored is kept.
    """
    place, told = StudyFolder(folder), progress or Quiet()
    place.create()
    with place.exclusive(), ExitStack() as stack:
        stack.callback(place.clear_unbegun)
        store = StudyStore.open(place.database)
        stack.callback(store.close)
        stack.callback(store.drop_running)
        return _Study(inputs, place, store, told, stack).run()


class _Study:
    """One run of a study, under its lock. What it opens is closed by `stack`."""

    def __init__(
        self, inputs: StudyInputs, place: StudyFolder, store: StudyStore, progress: Progress, stack: ExitStack
    ) -> None:
        self._inputs, self._place, self._store = inputs, place, store
        self._progress, self._stack = progress, stack
        self._started = time.monotonic()
        self._baseline = Candidate.of(inputs.baseline)
        self._diagnoses: dict[str, Diagnosis] = {}

    def run(self) -> StudyResult:
        known = StudyManifest.read(self._place.manifest) if self._place.exists else None
        prepared, whole = self._prepared()
        manifest = self._begun(prepared, known)
        scoring = self._scoring(prepared, prepared.corpus, whole if prepared.corpus is prepared.whole else None)
        finished, stopped = self._searched(prepared, scoring)
        self._progress.stage("write the report")
        record = self._record(manifest, finished, stopped)
        if prepared.corpus is not prepared.whole:
            record = replace(record, sampled=self._whole_size(finished, whole))
        record = completed(record)
        self._write(record, finished)
        return StudyResult(self._place, manifest, record, finished.found.program.program, stopped)

    def _prepared(self) -> tuple[Prepared, Evaluator | None]:
        """Documents, queries, sample; and an evaluator over all documents where the sample needed one."""
        rejects = Rejects(self._place.rejects)
        whole = read_corpus(self._inputs.source, rejects, self._progress)
        gathered, split = gathered_queries(self._inputs)
        self._progress.stage("check documents and queries")
        notes = checked(whole, self._inputs, gathered, rejects.count)
        prepared = Prepared(whole, whole, gathered, split, rejects.count, notes)
        size = self._inputs.settings.sample
        if size is None or size >= len(whole.documents):
            return prepared, None
        self._progress.stage("draw the sample")
        evaluator = self._evaluator(prepared, whole)
        ids = [query.id for query in gathered.queries]
        rankings = evaluator.rankings(self._inputs.baseline, ids, DEPTH)
        corpus = sampled(whole, gathered.qrels, rankings, size, self._inputs.settings.seed)
        return replace(prepared, corpus=corpus), evaluator

    def _begun(self, prepared: Prepared, known: StudyManifest | None) -> StudyManifest:
        """The manifest: that of the folder, which must be of the same study, or a new one."""
        given = manifest_of(self._inputs, prepared)
        if known is None:
            given.write(self._place.manifest)
            self._store.note("begun", f"study {given.study} begun")
            return given
        known.check_same(given, self._place.manifest)
        left = self._store.drop_running()
        if self._inputs.limits.retry_failed_answers and (count := self._store.forget_unheard()):
            self._store.note("retried", f"{count} requests without an answer are sent again")
        self._store.note("resumed", f"taken up again; {left} trials of a killed run are done again")
        return known

    def _evaluator(self, prepared: Prepared, corpus: Corpus) -> Evaluator:
        engine, gathered = self._inputs.engine, prepared.gathered
        if engine.opened is not None:
            return self._stack.enter_context(engine.opened(corpus, gathered.queries, gathered.qrels))
        return evaluator_maker(engine.maker)(corpus, gathered.queries, gathered.qrels)

    def _scoring(self, prepared: Prepared, corpus: Corpus, evaluator: Evaluator | None) -> Scoring:
        inputs, gathered = self._inputs, prepared.gathered
        scores = ScoreStore.open(inputs.limits.scores or self._place.scores)
        self._stack.callback(scores.close)
        evaluator = evaluator or self._evaluator(prepared, corpus)
        work = Work(inputs.engine.maker, corpus.documents, gathered.queries, gathered.qrels)
        workers = inputs.limits.workers if inputs.engine.opened is None else 1
        return Scoring(
            evaluator,
            scores,
            Setting(corpus.digest, prepared.judged, inputs.engine.label),
            pool=self._stack.enter_context(worker_pool(work, workers)),
            max_p95_ms=inputs.settings.max_p95_ms,
            latency=self._latency(prepared, corpus, evaluator),
        )

    def _latency(self, prepared: Prepared, corpus: Corpus, evaluator: Evaluator) -> Latency | None:
        if self._inputs.settings.max_p95_ms is None:
            return None
        if isinstance(evaluator, Measuring):
            return latency_by(evaluator)
        gathered = prepared.gathered
        return self._stack.enter_context(embedded_latency(corpus, gathered.queries, gathered.qrels))

    def _searched(self, prepared: Prepared, scoring: Scoring) -> tuple[Finished, str | None]:
        limit = self._inputs.limits.time_s
        deadline = None if limit is None else self._started + limit
        driver = Driver(scoring, self._store, self._progress, deadline=deadline)
        baseline = driver.baseline(self._baseline)
        with self._generator() as generator:
            search = Search(
                self._inputs.settings.search,
                self._inputs.baseline,
                baseline,
                prepared.split.dev,
                self._inputs.proposer.made(
                    ProposerTools(prepared.corpus, self._inputs.baseline, generator, self._store.note_once)
                ),
                lambda program: self._diagnosis(prepared, scoring, program),
                documents=len(prepared.corpus.documents),
                slices=dev_slices(prepared),
            )
            driven: Driven = driver.drive(search, prepared.split.held_out)
        self._store.note("stopped" if driven.stopped else "finished", driven.stopped or driven.found.ended)
        return Finished(driven.found, prepared, scoring, baseline), driven.stopped

    @contextmanager
    def _generator(self) -> Iterator[RecordedGenerator | None]:
        generator = self._inputs.proposer.generator
        if generator is None:
            yield None
            return
        with Ledger.open(self._place.ledger, budget=self._inputs.limits.budget) as ledger:
            yield RecordedGenerator(generator, self._store, ledger)

    def _diagnosis(self, prepared: Prepared, scoring: Scoring, program: Program) -> Diagnosis:
        """Of a program over the dev queries; no other query takes part."""
        candidate = Candidate.of(program)
        if candidate.hash not in self._diagnoses:
            self._progress.stage("look at failing queries")
            self._diagnoses[candidate.hash] = diagnosed(prepared, scoring, candidate)
        return self._diagnoses[candidate.hash]

    def _record(self, manifest: StudyManifest, finished: Finished, stopped: str | None) -> StudyRecord:
        stored, found, prepared = self._store.trials(), finished.found, finished.prepared
        plan = plan_command(self._place, self._inputs)
        diagnoses = [
            self._diagnosis(prepared, finished.scoring, one.program) for one in (found.baseline, found.program)
        ]
        shorter = without_each(finished, self._progress.check)
        p95 = self._p95(finished, shorter)
        proposer = self._inputs.proposer
        return StudyRecord(
            study=manifest.study,
            created=manifest.created,
            engine=manifest.engine,
            objective=objective_of(found),
            sets=sets_of(finished, self._inputs.sets),
            baseline=canonical(found.baseline.program),
            winner=canonical(found.program.program),
            settings={**manifest.settings, "proposer": manifest.proposer, "ended": found.ended},
            seeds={"split and search": manifest.seed},
            versions={"idxopt": __version__},
            digests={
                "corpus": prepared.corpus.digest,
                "queries and judgments": prepared.judged,
                "baseline": found.baseline.hash,
                "winner": found.program.hash,
            },
            documents=len(prepared.whole.documents),
            finished=stopped is None,
            trials=trials_of(finished, stored, plan),
            path=path_of(finished, stored),
            columns=columns_of(finished, p95),
            queries=queries_of(finished),
            rankings=rankings_of(finished),
            coverage=coverage_of(finished),
            attribution=attribution_of(finished, shorter, p95),
            controls=self._controls(finished, diagnoses[0]),
            staged=self._staged(finished),
            failures=failures_of(*diagnoses),
            cost=cost_of(stored, self._store, self._place.ledger, proposer.generator, proposer.currency),
            events=events_of(self._store.events()),
            notes=(*prepared.notes, *endings(finished, self._store.events(), self._store.unheard())),
            synthetic=synthetic_of(self._inputs),
            plan=plan,
        )

    def _p95(self, finished: Finished, shorter: Sequence[Without]) -> dict[str, float]:
        """Milliseconds by hash: baseline and winner first, then the winner without each change, then the path."""
        seconds = self._inputs.limits.latency_s
        first, *steps, last = (Measurable(candidate, scores.size) for _, candidate, scores in finished.columns)
        others = [Measurable(one.candidate, one.scores.size) for one in shorter]
        if self._inputs.settings.max_p95_ms is not None:  # every program was measured as it was scored
            hashes = [one.candidate.hash for one in (first, last, *others, *steps)]
            known = [(each, finished.scoring.known(each)) for each in hashes]
            return {each: stored.p95_ms for each, stored in known if stored is not None and stored.p95_ms is not None}
        if not seconds:
            return {}
        self._progress.stage("measure the latency of queries")
        prepared = finished.prepared
        gathered = prepared.gathered
        with embedded_latency(prepared.corpus, gathered.queries, gathered.qrels) as latency:
            wanted = [first, last, *others, *steps]
            return latencies(latency, wanted, seconds, SystemClock(), self._progress.check)

    def _controls(self, finished: Finished, diagnosis: Diagnosis) -> tuple[Control, ...]:
        number = self._inputs.limits.controls
        if number:
            self._progress.stage("score random programs")
        return controls_of(finished, number, self._inputs.settings.seed, diagnosis, self._progress)

    def _staged(self, finished: Finished) -> tuple[Stage, ...]:
        made = self._inputs.staged
        if made is None:
            return ()
        self._progress.stage("score behind dense and reranker")
        prepared, found = finished.prepared, finished.found
        gathered = prepared.gathered
        return made(prepared.corpus, gathered.queries, gathered.qrels, found.baseline.program, found.program.program)

    def _whole_size(self, finished: Finished, evaluator: Evaluator | None) -> Sampled:
        """Baseline and winner measured again over all documents."""
        self._progress.stage("measure over all documents")
        prepared = finished.prepared
        full = self._scoring(prepared, prepared.whole, evaluator)
        both = [full.one(candidate) for candidate in (finished.found.baseline, finished.found.program)]
        for one in both:
            if one.scores is None:
                raise one.error or BuildError("the winner has no scores over all documents", remedy="look at it")
        baseline, winner = (one.scores.scores for one in both if one.scores is not None)
        places = prepared.split.dev_places
        rows = tuple(
            SampleRow(
                str(metric),
                mean_interval(
                    (finished.found.scores.at(metric, places) - finished.baseline.at(metric, places)).tolist()
                ),
                mean_interval((winner.at(metric, places) - baseline.at(metric, places)).tolist()),
            )
            for metric in METRICS
        )
        return Sampled(len(prepared.corpus.documents), len(prepared.whole.documents), rows)

    def _write(self, record: StudyRecord, finished: Finished) -> None:
        program = json.dumps(canonical(finished.found.program.program), ensure_ascii=False, indent=2)
        replace_file(self._place.program, f"{program}\n".encode())
        replace_file(self._place.record, record.to_json().encode())
        for name, candidate in (("baseline", finished.found.baseline), ("winner", finished.found.program)):
            diagnosis = self._diagnoses[candidate.hash]
            replace_file(self._place.diagnosis(name), diagnosis_text(diagnosis).encode())
        replace_file(self._place.report, render(record).encode())
