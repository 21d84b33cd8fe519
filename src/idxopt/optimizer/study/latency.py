"""How long queries take under a program: asked of an engine that really has it, one query after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from idxopt.builds.clock import Clock
from idxopt.evaluation.judgments import Qrels, Query
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.ports import Candidate, Size
from idxopt.optimizer.trials.embedded import embedded_trials
from idxopt.optimizer.trials.measuring import Measured
from idxopt.program.schema import Program

TIMED_QUERIES = 50
MOST_ROWS = 100_000
Latency = Callable[[Program], float]
"""A program to the 95th percentile of its queries' milliseconds. A measured time: it differs from run to run."""


@dataclass(frozen=True, slots=True)
class Measurable:
    """A program with its size, which says how long building it may take."""

    candidate: Candidate
    size: Size


@runtime_checkable
class Measuring(Protocol):
    """An evaluator on an engine that has the program built."""

    def measure(self, program: Program, *, most: int = 200, repeats: int = 1) -> Measured: ...


def latency_by(evaluator: Measuring) -> Latency:
    """Measured where the evaluator builds its programs."""
    return lambda program: evaluator.measure(program, most=TIMED_QUERIES).latency.p95_ms


def latencies(
    latency: Latency, programs: Sequence[Measurable], seconds: float, clock: Clock, check: Callable[[], None]
) -> dict[str, float]:
    """By hash, as many of the programs as there is time for, in their order.

    None is begun that the time would not do for, were it as slow as the slowest so far; one with more than MOST_ROWS
    rows is left out, since building it alone may take minutes.
    """
    found: dict[str, float] = {}
    started, slowest = clock.monotonic(), 0.0
    for one in programs:
        begun = clock.monotonic()
        if begun + slowest > started + seconds:
            break
        if one.candidate.hash in found or one.size.rows > MOST_ROWS:
            continue
        check()
        found[one.candidate.hash] = latency(one.candidate.program)
        slowest = max(slowest, clock.monotonic() - begun)
    return found


@contextmanager
def embedded_latency(corpus: Corpus, queries: Sequence[Query], qrels: Qrels) -> Iterator[Latency]:
    """Measured on an embedded engine in a temporary folder."""
    with embedded_trials(corpus, queries, qrels) as evaluator:
        yield latency_by(evaluator)
