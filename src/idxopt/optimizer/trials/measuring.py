"""What a built program costs on the engine that it is on: latency of queries, bytes on disk, rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from idxopt.builds.clock import Clock
from idxopt.evaluation.judgments import Query

WARM_UP = 5
"""Queries asked before the clock runs: connections, caches, files read for the first time."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of a query from the text to the fused ranking, asked one after the other, as the client sees them.

    `n`: queries timed.
    """

    p50_ms: float
    p95_ms: float
    n: int


@dataclass(frozen=True, slots=True)
class Measured:
    """`bytes`: on disk, as the engine reports them, over all views."""

    latency: Latency
    bytes: int
    rows: int
    views: int


def latency_of(queries: Sequence[Query], ask: Callable[[str], object], clock: Clock, *, repeats: int = 1) -> Latency:
    """Asks every query `repeats` times; each counts with its fastest time, since what delays a repeat is no cost of
    the program.
    """
    for query in queries[:WARM_UP]:
        ask(query.text)
    best = np.full(len(queries), np.inf)
    for _ in range(repeats):
        for place, query in enumerate(queries):
            before = clock.monotonic()
            ask(query.text)
            best[place] = min(best[place], clock.monotonic() - before)
    p50, p95 = np.percentile(best * 1_000.0, [50, 95])
    return Latency(float(p50), float(p95), len(queries))
