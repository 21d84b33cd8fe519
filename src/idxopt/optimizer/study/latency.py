"""How long queries take under a program: asked of an engine that really has it, one query after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from idxopt.evaluation.judgments import Qrels, Query
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.trials.embedded import embedded_trials
from idxopt.optimizer.trials.measuring import Measured
from idxopt.program.schema import Program

TIMED_QUERIES = 50
Latency = Callable[[Program], float]
"""A program to the 95th percentile of its queries' milliseconds. A measured time: it differs from run to run."""


@runtime_checkable
class Measuring(Protocol):
    """An evaluator on an engine that has the program built."""

    def measure(self, program: Program, *, most: int = 200, repeats: int = 1) -> Measured: ...


def latency_by(evaluator: Measuring) -> Latency:
    """Measured where the evaluator builds its programs."""
    return lambda program: evaluator.measure(program, most=TIMED_QUERIES).latency.p95_ms


@contextmanager
def embedded_latency(corpus: Corpus, queries: Sequence[Query], qrels: Qrels) -> Iterator[Latency]:
    """Measured on an embedded engine in a temporary folder."""
    with embedded_trials(corpus, queries, qrels) as evaluator:
        yield latency_by(evaluator)
