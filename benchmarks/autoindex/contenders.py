"""Ways to score a candidate: ours, the naive loop, the same on a live node. Each gives the mean nDCG@10 and times."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
from rank_bm25 import BM25Okapi

from benchmarks.autoindex.bench import documents_of
from benchmarks.collections import collection
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import Engine
from idxopt.evaluation.datasets import load_dataset_folder
from idxopt.evaluation.judgments import JudgedQueries
from idxopt.operators.interpreter import Interpreter
from idxopt.operators.row import Row, text_of
from idxopt.operators.tables import build_tables
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.ports import NDCG
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.optimizer.scoring.figures import Judgments
from idxopt.optimizer.trials.evaluator import ClusterEvaluator
from idxopt.optimizer.trials.settings import TrialSettings
from idxopt.program.schema import Program
from idxopt.search.fusion import LegList, fuse_views
from idxopt.text.analysis import analyzer
from tests.nodes.launcher import node

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scored:
    """What scoring a candidate gave, and the seconds that it took."""

    ndcg: float
    seconds: float


class Contender(Protocol):
    """One way to score candidates."""

    @property
    def name(self) -> str: ...

    def score(self, program: Program) -> Scored: ...


@dataclass(frozen=True)
class Task:
    """What all score: documents and judged queries."""

    corpus: Corpus
    judged: JudgedQueries

    @classmethod
    def of(cls, name: str) -> Task:
        return cls(documents_of(name), load_dataset_folder(collection(name).folder))

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Of the documents, by id."""
        return {document.id: number for number, document in enumerate(self.corpus.documents)}

    @cached_property
    def judgments(self) -> Judgments:
        return Judgments([self.judged.qrels[query.id] for query in self.judged.queries], self.numbers)

    def rows(self, program: Program) -> dict[str, list[Row]]:
        """All rows of every view that is searched, made from the start: corpus tables too."""
        tables = build_tables(program, self.corpus.documents)
        views = [name for name, view in program.views.items() if view.lexical is not None]
        made = {name: Interpreter(program, name, tables) for name in views}
        return {name: [row for each in self.corpus.documents for row in of.rows(each)] for name, of in made.items()}

    def mean(self, ranked: Mapping[str, Sequence[str]]) -> float:
        """The mean nDCG@10 of rankings by query id."""
        lists = [
            np.array([self.numbers[one] for one in ranked[query.id]], dtype=np.int64) for query in self.judged.queries
        ]
        return float(np.mean(self.judgments.figures(lists)[:, 0]))


def searched_texts(program: Program, view: str, row: Row) -> list[tuple[str, float]]:
    """The searched texts of a row with their weights."""
    lexical = program.views[view].lexical
    assert lexical is not None
    return [(text_of(row.fields.get(name)), field.weight) for name, field in lexical.fields.items()]


class Incremental:
    """Ours: one evaluator for all candidates. `start_s`: making it and scoring the baseline."""

    name = "idxopt"

    def __init__(self, task: Task, baseline: Program) -> None:
        started = time.perf_counter()
        self._evaluator = IncrementalEvaluator(task.corpus, task.judged.queries, task.judged.qrels)
        self._evaluator.scores(baseline)
        self.start_s = time.perf_counter() - started

    def score(self, program: Program) -> Scored:
        started = time.perf_counter()
        scores = self._evaluator.scores(program)
        seconds = time.perf_counter() - started
        return Scored(float(np.mean(scores.values[NDCG])), seconds)


class Naive:
    """rank_bm25 (BM25Okapi) a field, everything rebuilt: tables, rows, analysis of documents and queries, statistics.

    A row's score is the weighted sum over its fields, a document's that of its best row; views are fused as ours are.
    """

    name = "naive loop"

    def __init__(self, task: Task) -> None:
        self._task = task
        self._analyze = analyzer("english")

    def score(self, program: Program) -> Scored:
        started = time.perf_counter()
        ranked = self._ranked(program)
        ndcg = self._task.mean(ranked)
        return Scored(ndcg, time.perf_counter() - started)

    def _ranked(self, program: Program) -> dict[str, list[str]]:
        asked = {query.id: self._analyze(query.text) for query in self._task.judged.queries}
        legs = {view: self._leg(program, view, rows) for view, rows in self._task.rows(program).items()}
        ranked = {}
        for query_id, terms in asked.items():
            lists = [
                LegList(f"{view}/lexical", program.views[view].weight, self._best(program, leg, terms))
                for view, leg in legs.items()
            ]
            ranked[query_id] = [fused.doc_id for fused in fuse_views(lists, program)]
        return ranked

    def _leg(self, program: Program, view: str, rows: Sequence[Row]) -> _Leg:
        texts = [searched_texts(program, view, row) for row in rows]
        fields = []
        for number, (_, weight) in enumerate(texts[0]):
            tokens = [self._analyze(each[number][0]) for each in texts]
            if any(tokens):
                fields.append((BM25Okapi(tokens), weight))
        return _Leg([row.doc_id for row in rows], fields)

    @staticmethod
    def _best(program: Program, leg: _Leg, terms: Sequence[str]) -> list[tuple[str, float]]:
        scores: Array = np.zeros(len(leg.documents))
        for index, weight in leg.fields:
            scores += weight * index.get_scores(terms)
        best: dict[str, float] = {}
        for row in np.argsort(-scores, kind="stable").tolist():
            if scores[row] <= 0 or len(best) == program.fusion.window:
                break
            best.setdefault(leg.documents[row], float(scores[row]))
        return list(best.items())


@dataclass(frozen=True, slots=True)
class _Leg:
    documents: list[str]
    fields: list[tuple[BM25Okapi, float]]


class Live:
    """Trial indices of each candidate made, searched and deleted on a node: nothing is left of the one before."""

    name = "live node"

    def __init__(self, task: Task, engine: Engine) -> None:
        self._task, self._engine = task, engine
        self._settings = TrialSettings("speed", workers=2)

    def score(self, program: Program) -> Scored:
        started = time.perf_counter()
        judged = self._task.judged
        with ClusterEvaluator(
            self._engine, self._task.corpus, judged.queries, judged.qrels, self._settings
        ) as evaluator:
            scores = evaluator.scores(program)
        return Scored(float(np.mean(scores.values[NDCG])), time.perf_counter() - started)


@contextmanager
def live(task: Task, version: str) -> Iterator[Live]:
    """On a node of its own."""
    with node(version) as url:
        engine = OpenSearchEngine.connect(url, timeout_s=120.0)
        try:
            yield Live(task, engine)
        finally:
            engine.close()
