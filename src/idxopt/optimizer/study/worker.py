"""What a worker process of a study runs: one evaluator over the whole corpus, asked for one program after the other."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from idxopt.errors import IdxoptError
from idxopt.evaluation.judgments import Qrels, Query
from idxopt.operators.row import Document
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.ports import Evaluator, Scores
from idxopt.program.schema import Program

EvaluatorMaker = Callable[[Corpus, Sequence[Query], Qrels], Evaluator]
Scored = tuple[Scores, float] | IdxoptError
"""Scores and the seconds that they took, or why there are none."""


@dataclass(frozen=True, slots=True)
class Work:
    """What every worker gets once. `maker` is `module:name` of an EvaluatorMaker."""

    maker: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    qrels: Qrels


def evaluator_maker(maker: str) -> EvaluatorMaker:
    """The function that `module:name` names."""
    module, _, name = maker.partition(":")
    found: EvaluatorMaker = getattr(importlib.import_module(module), name)
    return found


def scoring(work: Work) -> Callable[[list[Program]], list[Scored]]:
    """To be named to `operators.parallel.Pool`."""
    evaluator = evaluator_maker(work.maker)(Corpus.of(work.documents), work.queries, work.qrels)

    def score(batch: list[Program]) -> list[Scored]:
        return [scored(evaluator, program) for program in batch]

    return score


def scored(evaluator: Evaluator, program: Program) -> Scored:
    """The program's scores with their time; an error is a result too."""
    started = time.perf_counter()
    try:
        found = evaluator.scores(program)
    except IdxoptError as error:
        return error
    return found, time.perf_counter() - started
