"""Two evaluators beside each other: every trial's metrics on both, and how far they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from idxopt.errors import EvaluationError
from idxopt.evaluation.metrics import Metric
from idxopt.optimizer.ports import METRICS, NDCG, Evaluator
from idxopt.program.canonical import program_hash
from idxopt.program.schema import Program

TOLERANCE = 0.001
"""Most that the mean of nDCG@10 may differ between engines."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Means of one metric on both sides. `moved`: queries whose values differ by more than rounding."""

    embedded: float
    live: float
    moved: int

    @property
    def difference(self) -> float:
        return self.live - self.embedded


@dataclass(frozen=True, slots=True)
class TrialPair:
    """One program on both engines."""

    hash: str
    rows: tuple[int, int]
    metrics: Mapping[Metric, Pair]


@dataclass(frozen=True, slots=True)
class Agreement:
    """All trials, in the order asked; `n` queries behind every mean."""

    n: int
    trials: tuple[TrialPair, ...]

    @property
    def largest(self) -> float:
        """The largest difference of nDCG@10, without its sign."""
        return max((abs(trial.metrics[NDCG].difference) for trial in self.trials), default=0.0)

    @property
    def agrees(self) -> bool:
        return self.largest <= TOLERANCE


def compare_engines(embedded: Evaluator, live: Evaluator, programs: Sequence[Program]) -> Agreement:
    """Scores every program on both.

    Raises EvaluationError where the two have other queries, and what scoring raises.
    """
    if [query.id for query in embedded.queries] != [query.id for query in live.queries]:
        raise EvaluationError("the two evaluators have other queries", remedy="make both from the same judged queries")
    return Agreement(len(embedded.queries), tuple(_pair(embedded, live, program) for program in programs))


def _pair(embedded: Evaluator, live: Evaluator, program: Program) -> TrialPair:
    one, other = embedded.scores(program), live.scores(program)
    metrics = {
        metric: Pair(
            float(one.values[metric].mean()),
            float(other.values[metric].mean()),
            int(np.count_nonzero(np.abs(one.values[metric] - other.values[metric]) > 1e-9)),
        )
        for metric in METRICS
    }
    return TrialPair(program_hash(program), (one.size.rows, other.size.rows), metrics)
