"""Scores of programs on any engine: each program is built as trial indices and searched by the one query path."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

import numpy as np

from idxopt import __version__
from idxopt.builds.clock import Clock, SystemClock, timestamp
from idxopt.builds.manifest import Generation, Manifest, SourceSnapshot, ViewBuild, sealed
from idxopt.builds.resolver import LiveBuild, live_build
from idxopt.engines.port import Engine
from idxopt.errors import EvaluationError, IdxoptError, LegFailed, NotFound
from idxopt.evaluation.comparison import failed_query
from idxopt.evaluation.judgments import Qrels, Query, Ranking, Run
from idxopt.evaluation.metrics import Metric, per_query_values
from idxopt.operators.step_models import NO_MODELS, StepModels
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.ports import METRICS, LegRanks, Scores, Values
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.optimizer.trials.indices import ModelsOf, TrialIndex, TrialIndices
from idxopt.optimizer.trials.measuring import Measured, latency_of
from idxopt.optimizer.trials.pace import Pace
from idxopt.optimizer.trials.settings import TrialSettings
from idxopt.program.canonical import canonical, program_hash
from idxopt.program.schema import Program
from idxopt.search.query import SearchQuery
from idxopt.search.searcher import Searcher

_log = logging.getLogger(__name__)
T = TypeVar("T")
DEPTH = max(metric.cutoff or 0 for metric in METRICS)


class ClusterEvaluator:
    """`optimizer.ports.Evaluator` on an engine. Use it as a context manager: leaving it deletes its trial indices.

    Several threads may share it; programs are scored one after the other. `steps`, `models_of`: what steps know of
    models, and the models that embed and rerank, by program. Raises EvaluationError for a query without judgments.
    """

    def __init__(
        self,
        engine: Engine,
        corpus: Corpus,
        queries: Sequence[Query],
        qrels: Qrels,
        settings: TrialSettings,
        *,
        steps: StepModels = NO_MODELS,
        models_of: ModelsOf | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._engine = engine
        self._corpus = corpus
        self._queries = tuple(queries)
        self._by_id = {query.id: query for query in queries}
        self._qrels = {query.id: _judged(query, qrels) for query in queries}
        self._settings = settings
        self._models_of = models_of
        self._clock = clock or SystemClock()
        self._pace = Pace(settings.queries_per_s, self._clock)
        self._lock = threading.RLock()
        self._sizes = IncrementalEvaluator(corpus, (), {}, steps)
        self._indices = TrialIndices(engine, corpus, settings, clock=self._clock, steps=steps, models_of=models_of)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        failed = self.close()
        for name, reason in failed:
            _log.warning(
                "%s was not deleted (%s); `idxopt sweep --study %s` does it", name, reason, self._settings.study
            )
        if failed and error is None:
            raise failed[0][1]

    def close(self) -> list[tuple[str, IdxoptError]]:
        """Deletes the trial indices; (index, error) for each that could not be deleted."""
        with self._lock:
            return self._indices.close()

    @property
    def queries(self) -> Sequence[Query]:
        return self._queries

    @property
    def indices(self) -> tuple[str, ...]:
        """Names of the trial indices that are there now."""
        return self._indices.names

    def scores(self, program: Program) -> Scores:
        """Builds or reuses the trial indices of the program and asks every query.

        `Size` is the estimate that every evaluator gives: what an engine has on disk is not equal on every run
        (`measure`). A program that makes a flood of rows is refused before anything is sent to the engine.
        Raises ProgramError, SourceError, BuildError (also: a document that the program cannot transform), EngineError,
        and EvaluationError for a query that fails: a failure is never a zero.
        """
        with self._lock:
            size = self._sizes.size(program)
            return self._with_build(program, lambda build, _: Scores(self._values(build), size))

    def rankings(self, program: Program, query_ids: Sequence[str], depth: int) -> Run:
        wanted = [self._query(id) for id in query_ids]
        with self._lock:
            return self._with_build(program, lambda build, _: self._run(build, wanted, depth))

    def leg_ranks(self, program: Program, query_ids: Sequence[str], depth: int) -> LegRanks:
        """See `LegRanking.leg_ranks`."""
        wanted = [self._query(id) for id in query_ids]

        def ranks(build: LiveBuild, _: Mapping[str, TrialIndex]) -> LegRanks:
            searcher = self._searcher(build)

            def ask(query: Query) -> Mapping[str, Mapping[str, int]]:
                order = searcher.ranked(SearchQuery(query.text, k=depth), build).final.order[:depth]
                return {item.doc_id: {key: leg.rank for key, leg in item.legs.items()} for item in order}

            return self._asked(wanted, ask)

        with self._lock:
            return self._with_build(program, ranks)

    def measure(self, program: Program, *, most: int = 200, repeats: int = 1) -> Measured:
        """Latency over the first `most` queries, bytes on disk, rows. The rate limit does not apply: it would be what
        is measured.
        """
        with self._lock:
            return self._with_build(program, lambda build, views: self._measured(build, views, most, repeats))

    def _query(self, id: str) -> Query:
        if id not in self._by_id:
            raise EvaluationError(f"there is no query {id!r}", remedy="name one of the evaluator's queries")
        return self._by_id[id]

    def _with_build(self, program: Program, work: Callable[[LiveBuild, Mapping[str, TrialIndex]], T]) -> T:
        """An index that somebody deleted meanwhile (a sweep) is built again, once."""
        views = self._indices.built(program)
        try:
            return work(self._build(program, views), views)
        except IdxoptError as error:
            if not self._gone(error, views):
                raise
        views = self._indices.built(program)
        return work(self._build(program, views), views)

    def _gone(self, error: IdxoptError, views: Mapping[str, TrialIndex]) -> bool:
        cause = error.__cause__ if isinstance(error, EvaluationError) else error
        if not isinstance(cause, LegFailed | NotFound):
            return False
        found = {trial.name: self._engine.get_index(trial.name) for trial in views.values()}
        return any((state := found[trial.name]) is None or state.uuid != trial.uuid for trial in views.values())

    def _build(self, program: Program, views: Mapping[str, TrialIndex]) -> LiveBuild:
        """A build that is recorded nowhere: its manifest exists only here."""
        found = self._engine.capabilities()
        source = SourceSnapshot(
            kind="file", place="trial", marks={}, documents=len(self._corpus.documents), digest=self._corpus.digest
        )
        manifest = Manifest(
            build="",
            name=program.name,
            program=canonical(program),
            program_hash=program_hash(program),
            primary=program.primary,
            views={
                view: ViewBuild(
                    index=trial.name, view_hash=trial.mark.view_hash, uuid=trial.uuid, rows=trial.loaded.rows
                )
                for view, trial in views.items()
            },
            generations={view: Generation() for view in views},
            source=source,
            created=timestamp(self._clock),
            by="trial",
            idxopt=__version__,
            engine=f"{found.engine} {found.version}",
        )
        return live_build(sealed(manifest), self._engine)

    def _values(self, build: LiveBuild) -> dict[Metric, Values]:
        values = per_query_values(self._run(build, self._queries, DEPTH), self._qrels, METRICS)
        return {metric: np.array([of[query.id] for query in self._queries]) for metric, of in values.items()}

    def _run(self, build: LiveBuild, queries: Sequence[Query], depth: int) -> dict[str, Ranking]:
        searcher = self._searcher(build)
        return self._asked(queries, lambda query: searcher.ranking(query.text, depth))

    def _asked(self, queries: Sequence[Query], answer: Callable[[Query], T]) -> dict[str, T]:
        """Each query's answer, at the pace that is allowed."""

        def ask(query: Query) -> T:
            self._pace.wait()
            try:
                return answer(query)
            except IdxoptError as error:
                raise failed_query(query, error.message) from error

        if self._settings.searches == 1:
            return {query.id: ask(query) for query in queries}
        with ThreadPoolExecutor(self._settings.searches) as pool:
            asked = [(query.id, pool.submit(ask, query)) for query in queries]
            try:
                return {id: future.result() for id, future in asked}
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _measured(self, build: LiveBuild, views: Mapping[str, TrialIndex], most: int, repeats: int) -> Measured:
        searcher = self._searcher(build)
        latency = latency_of(
            self._queries[:most], lambda text: searcher.ranking(text, DEPTH), self._clock, repeats=repeats
        )
        return Measured(
            latency,
            sum(self._engine.stats(trial.name).bytes for trial in views.values()),
            sum(trial.loaded.rows for trial in views.values()),
            len(views),
        )

    def _searcher(self, build: LiveBuild) -> Searcher:
        return Searcher(self._engine, build, models_of=self._models_of)


def _judged(query: Query, qrels: Qrels) -> Mapping[str, int]:
    found = qrels.get(query.id)
    if not found:
        raise EvaluationError(
            f"query {query.id!r} has no judgment", remedy="leave it out, or add judgments for it", place="trials"
        )
    return found
