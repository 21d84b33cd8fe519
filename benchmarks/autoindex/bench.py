"""One collection to search on: documents, judged queries, and the store in which every program is scored once."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cached_property

from benchmarks.collections import collection
from idxopt.errors import BuildError, IdxoptError
from idxopt.evaluation.datasets import load_dataset_folder
from idxopt.evaluation.judgments import Query, Run
from idxopt.optimizer.baseline import baseline_program
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.diagnosis.findings import Diagnosis
from idxopt.optimizer.ports import Candidate, Scores
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.optimizer.splits import Split, gather
from idxopt.optimizer.study.diagnosing import diagnosed
from idxopt.optimizer.study.inputs import EMBEDDED, Quiet, read_corpus
from idxopt.optimizer.study.prepared import Prepared
from idxopt.optimizer.study.proposers import mined_tables
from idxopt.optimizer.study.scores import ScoreStore, Setting, judged_digest
from idxopt.optimizer.study.scoring import Scoring
from idxopt.program.presets import BEIR_SOURCE
from idxopt.program.schema import Program
from idxopt.sources import Rejects
from idxopt.sources.opening import open_source

BASELINE = baseline_program(BEIR_SOURCE, "autoindex")


def documents_of(name: str) -> Corpus:
    """A collection's documents, as `idxopt optimize` reads them."""
    return read_corpus(open_source(collection(name).place, BASELINE), Rejects(), Quiet())


class Bench:
    """A collection with its evaluator (an `optimizer.ports.Evaluator` itself, over the store of scores).

    `setup_s`: seconds to read it and to mine its tables. `busy_s`: seconds spent so far in scoring and diagnosing;
    `evaluated`: programs that were scored because the store did not have them.
    """

    def __init__(self, name: str, store: ScoreStore) -> None:
        started = time.perf_counter()
        self.name = name
        self.corpus = documents_of(name)
        self.gathered = gather({name: load_dataset_folder(collection(name).folder)})
        queries, qrels = self.gathered.queries, self.gathered.qrels
        evaluator = IncrementalEvaluator(self.corpus, queries, qrels)
        setting = Setting(self.corpus.digest, judged_digest(queries, qrels), EMBEDDED)
        self.scoring = Scoring(evaluator, store, setting)
        self.baseline = BASELINE
        self.tables: Mapping[str, dict[str, list[str]]] = mined_tables(self.corpus, self.baseline)
        self.setup_s = time.perf_counter() - started
        self.busy_s = 0.0
        self.evaluated = 0
        self._failed: dict[str, IdxoptError] = {}
        self._seconds: dict[str, float] = {}
        self._diagnoses: dict[tuple[str, tuple[str, ...]], tuple[Diagnosis, float]] = {}

    @cached_property
    def baseline_scores(self) -> Scores:
        return self.scores(self.baseline)

    @property
    def queries(self) -> Sequence[Query]:
        return self.gathered.queries

    def scores(self, program: Program) -> Scores:
        """See `Evaluator.scores`."""
        found = self.result(Candidate.of(program))
        if isinstance(found, IdxoptError):
            raise found
        return found

    def rankings(self, program: Program, query_ids: Sequence[str], depth: int) -> Run:
        """See `Evaluator.rankings`."""
        return self.scoring.evaluator.rankings(program, query_ids, depth)

    def result(self, candidate: Candidate) -> Scores | IdxoptError:
        """The scores of a program, or why it has none."""
        if candidate.hash in self._failed:
            return self._failed[candidate.hash]
        started = time.perf_counter()
        result = self.scoring.one(candidate)
        spent = time.perf_counter() - started
        self.busy_s += spent
        self.evaluated += not result.cached
        if result.scores is None:
            error = result.error or BuildError("it has no scores", remedy="look at the program")
            self._failed[candidate.hash], self._seconds[candidate.hash] = error, spent
            return error
        self._seconds[candidate.hash] = result.scores.seconds
        return result.scores.scores

    def seconds_of(self, program: str) -> float:
        """What scoring the program with this hash took when it was done; it must have been asked for."""
        return self._seconds[program]

    def diagnosis(self, split: Split, program: Program) -> tuple[Diagnosis, float]:
        """Over the dev queries of a split, with the seconds that it took."""
        candidate = Candidate.of(program)
        key = candidate.hash, split.dev_ids
        if key not in self._diagnoses:
            started = time.perf_counter()
            prepared = self.prepared(split)
            found = diagnosed(prepared, self.scoring, candidate)
            seconds = time.perf_counter() - started
            self.busy_s += seconds
            self._diagnoses[key] = found, seconds
        return self._diagnoses[key]

    def prepared(self, split: Split) -> Prepared:
        """As a study has it."""
        return Prepared(self.corpus, self.corpus, self.gathered, split, 0, ())
